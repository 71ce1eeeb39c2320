import copy
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModel

from lngeom.empirical.judge import Prediction, shift, shifts
from lngeom.empirical.judge.shifts import DEPENDENCE, INVARIANCE, THEOREMS, computed_in
from lngeom.empirical.models import sites_of

from ..conftest import VOCABULARY, centred, loaded, tiny_config, tiny_model, uncentred

DTYPES = [torch.float32, torch.bfloat16]
TOKENS = np.random.default_rng(0).integers(3, VOCABULARY, (2, 32))


def judged(model: Any) -> Prediction:
    """The verdict on a model, whose table of norms was made before it was changed, if it was."""
    [prediction] = shift(loaded(model), TOKENS)
    return prediction


def reading_the_stream(block: nn.Module, weight: float) -> None:
    """A branch of the block that reads the stream before any norm."""

    def hook(_: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        first = output[0] if isinstance(output, tuple) else output
        moved = first + weight * torch.tanh(args[0])
        return (moved, *output[1:]) if isinstance(output, tuple) else moved

    block.register_forward_hook(hook)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("law", "architecture"),
    [*product([INVARIANCE], ["gpt2", "gpt_neo", "gpt_neox", "gptj", "opt"]),
     *product([DEPENDENCE], ["llama", "gemma", "qwen3"])],
)  # fmt: skip
def test_layer_norms_forget_it_and_rms_norms_do_not(law: str, architecture: str, dtype: torch.dtype) -> None:
    verdict = judged(tiny_model(architecture).to(dtype))
    assert (verdict.prediction, verdict.theorem, verdict.verdict, verdict.vectors) == (law, THEOREMS[law], "holds", 16)
    assert verdict.measured is not None
    assert verdict.bound is not None
    assert verdict.bound < 0.5
    assert (verdict.measured <= verdict.bound) == (law == INVARIANCE)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("path", ["h.0.ln_1", "h.1.ln_2", "ln_f"])
def test_a_single_rms_norm_among_layer_norms_is_reported(path: str, dtype: torch.dtype) -> None:
    model = tiny_model("gpt2").to(dtype)
    uncentred(model.get_submodule(path))
    assert judged(model).verdict == "violated"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weight", [1.0, 1e-2, 1e-4])
def test_a_branch_that_reads_the_stream_before_its_norm_is_reported(weight: float, dtype: torch.dtype) -> None:
    model = tiny_model("gpt2").to(dtype)
    reading_the_stream(model.h[0], weight)
    assert judged(model).verdict == "violated"


def test_an_effect_below_the_rounding_of_float32_is_none() -> None:
    model = tiny_model("gpt2")
    reading_the_stream(model.h[0], 1e-12)
    amplified, plain = judged(model), judged(tiny_model("gpt2"))
    assert amplified.verdict == plain.verdict == "holds"
    assert amplified.measured is not None
    assert plain.measured is not None
    assert amplified.measured > 8 * plain.measured  # float64 sees it


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_network_that_is_said_to_have_rms_norms_and_has_layer_norms_is_reported(dtype: torch.dtype) -> None:
    model = tiny_model("llama").to(dtype)
    for site in sites_of(model):
        centred(model.get_submodule(site.path))
    prediction = judged(model)
    assert (prediction.prediction, prediction.verdict) == (DEPENDENCE, "violated")


def test_nothing_is_decided_where_nothing_can_be(monkeypatch) -> None:
    silent = tiny_model("gpt2")
    nn.init.zeros_(silent.ln_f.weight)
    assert judged(silent).reason.startswith("a shift along a random direction changes the output no more")

    lost = tiny_model("gpt2")
    nn.init.constant_(lost.wte.weight, math.nan)
    assert judged(lost).reason == "stream or output is not finite"

    empty = tiny_model("llama")
    nn.init.zeros_(empty.embed_tokens.weight)
    assert judged(empty).reason == "stream or output is not finite"

    away = tiny_model("gpt2")
    away.h[1].mlp.to("meta")
    assert judged(away).reason == "some layers are not in the memory of a device"

    config = tiny_config("llama")
    config.num_hidden_layers = 0
    assert judged(AutoModel.from_config(config)).reason == "its list of blocks is empty"

    def too_large(*_: object) -> Tensor:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(shifts, "_outputs", too_large)
    prediction = judged(tiny_model("gpt2"))
    assert (prediction.verdict, prediction.reason) == ("undecided", "a layer in float64 does not fit on the device")


@pytest.mark.parametrize(("moved", "verdicts"), [(0.0, ("undecided", "undecided")), (1.0, ("violated", "holds"))])
def test_rounding_as_large_as_the_effect_decides_nothing(moved: float, verdicts: tuple[str, str]) -> None:
    wide = torch.tensor([0.0, moved, 1.0], dtype=torch.float64)[:, None, None].expand(3, 4, 8)
    assert tuple(shifts._judged(law, wide + 0.3, wide).verdict for law in (INVARIANCE, DEPENDENCE)) == verdicts


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64], ids=str)
@pytest.mark.parametrize("architecture", ["gpt2", "opt", "llama"])
def test_layers_compute_as_in_a_converted_copy(architecture: str, dtype: torch.dtype) -> None:
    model = tiny_model(architecture).to(dtype)
    ids = torch.from_numpy(TOKENS)
    converted = copy.deepcopy(model).to(torch.float64)
    with torch.no_grad():
        expected = converted(input_ids=ids, use_cache=False).last_hidden_state
        with computed_in(model, torch.float64):
            output = model(input_ids=ids, use_cache=False).last_hidden_state
    assert output.dtype == torch.float64
    assert torch.equal(output, expected)


def held(model: nn.Module) -> list[object]:
    """The very parameters of a model, and its hooks."""
    hooks = [hook for each in model.modules() for hook in (*each._forward_hooks, *each._forward_pre_hooks)]
    return [*((name, id(value)) for name, value in model.named_parameters()), *hooks]


def test_the_model_is_left_as_it_was() -> None:
    model = tiny_model("gpt2").to(torch.bfloat16)
    kept, before = list(model.parameters()), held(model)
    judged(model)
    assert held(model) == before

    def broken(_: Tensor) -> Tensor:
        raise RuntimeError("in the middle of a layer")

    model.h[1].ln_2.forward = broken
    with pytest.raises(RuntimeError, match="in the middle"):
        judged(model)
    assert held(model) == before
    assert len(kept) == len(before)  # an id belongs to what lives
