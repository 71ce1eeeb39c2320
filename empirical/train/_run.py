"""The directory of a training run: what it records, when it may be continued, and what it says of itself at its end."""

import platform
from typing import TypedDict

import torch
import transformers
from transformers import GPT2LMHeadModel

import lngeom

from ..runs import Ranks
from ..support import Json
from ._data import TokenData
from ._execution import Execution
from ._model import flops_per_token
from ._recipe import Recipe


def manifest(recipe: Recipe, data: TokenData, execution: Execution, processes: Ranks) -> Json:
    """The record before the first step: all that the numbers depend on, to the last bit."""
    return {
        "recipe": recipe.as_dict(),
        "data": {**data.source, "vocabulary": data.vocabulary, "tokens_sha256": data.digest()},
        "dtype": execution.dtype,
        "compile": execution.compile,
        "micro_sequences": execution.micro_sequences,
        "measurement": {"held_out_tokens": execution.held_out_tokens, "directions": execution.directions},
        "processes": processes.count,
        "device": processes.device.type,
        "threads": torch.get_num_threads(),
        "versions": {
            "lngeom": lngeom.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
    }


PEAK_BFLOAT16 = {"A100": 312e12, "H100 PCIe": 756e12, "H100": 989e12, "H200": 989e12, "L40S": 362e12, "A6000": 155e12}
"""Dense bfloat16 matrix FLOP/s by a part of the device name, from the vendor's data sheets."""


def _peak_flops(device: torch.device) -> float | None:
    """Peak bfloat16 FLOP/s of a GPU, or None where it is not known (any CPU)."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in PEAK_BFLOAT16.items() if part in name), None)


class Summary(TypedDict):
    """The entries of ``summary.json``; speeds are of training, measurement and saving apart."""

    steps: int
    tokens: int
    parameters: int
    unigram_entropy: float
    tokens_per_second: float | None
    flops_per_token: float
    model_flop_utilisation: float | None
    peak_flops: float | None


def summary(model: GPT2LMHeadModel, recipe: Recipe, data: TokenData, processes: Ranks, speed: float | None) -> Summary:
    """The entries of ``summary.json``; `speed` in tokens per second."""
    flops = flops_per_token(model, recipe.sequence_length)
    peak = _peak_flops(processes.device)
    return {
        "steps": recipe.steps,
        "tokens": recipe.steps * recipe.tokens_per_step,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "unigram_entropy": data.unigram_entropy(),
        "tokens_per_second": speed,
        "flops_per_token": flops,
        "model_flop_utilisation": None if peak is None or speed is None else speed * flops / (peak * processes.count),
        "peak_flops": peak,
    }
