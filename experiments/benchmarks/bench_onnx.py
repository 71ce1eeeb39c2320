"""A GPT-2 before and after its fold, in eager PyTorch and in ONNX Runtime, in turn, on one thread: CPU time.

    python experiments/benchmarks/bench_onnx.py docs/results/cost/onnx.csv

Every round is written; the ratios of the rounds are printed.
"""

import copy
import csv
import io
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import onnxruntime
import torch
from harness import in_turn, ratio  # pyright: ignore[reportMissingImports]
from transformers import GPT2Config, GPT2LMHeadModel

from lngeom.empirical.folding import fold
from lngeom.empirical.models import RMSNorm


def plain(norm: Any, x: torch.Tensor) -> torch.Tensor:
    """An RMSNorm in the words that ONNX Runtime fuses into one kernel, as it does LayerNorms."""
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + norm.eps) * norm.weight + norm.bias


def session(network: Any, ids: torch.Tensor) -> Callable[[], object]:
    """A pass of a network in ONNX Runtime."""
    file: Any = io.BytesIO()
    chosen, exported, n = onnxruntime.SessionOptions(), copy.deepcopy(network), ids.shape[1]
    for norm in (module for module in exported.modules() if isinstance(module, RMSNorm)):
        object.__setattr__(norm, "forward", partial(plain, norm))
    mask = torch.full((n, n), -math.inf).triu(1)[None, None]  # made by hand, as ONNX has no diff
    forward = exported.forward
    exported.forward = lambda ids: forward(ids, attention_mask=mask, use_cache=False).logits
    torch.onnx.export(exported, (ids,), file, dynamo=False, opset_version=17)
    chosen.intra_op_num_threads = 1
    made = onnxruntime.InferenceSession(file.getvalue(), chosen, providers=["CPUExecutionProvider"])
    return partial(made.run, None, {made.get_inputs()[0].name: ids.numpy()})


def eager(network: Any, ids: torch.Tensor) -> object:
    with torch.inference_mode():
        return network(ids, use_cache=False)


def main() -> None:
    torch.set_num_threads(1)
    config = GPT2Config(n_embd=512, n_layer=4, n_head=8, vocab_size=8192, bos_token_id=0, eos_token_id=0)
    network, ids = GPT2LMHeadModel(config).eval(), torch.arange(1024).reshape(2, 512)
    models: dict[str, Any] = {"GPT-2": network, "GPT-2, folded": fold(network).model}
    work = {name: partial(eager, model, ids) for name, model in models.items()}
    work |= {f"{name}, ONNX Runtime": session(model, ids) for name, model in models.items()}
    times = in_turn(work, 25, time.process_time)
    with Path(sys.argv[1]).open("w", encoding="utf-8", newline="") as file:
        rows = [(name, i, round(1e3 * took, 4)) for name in times for i, took in enumerate(times[name], 1)]
        csv.writer(file, lineterminator="\n").writerows([("network", "round", "milliseconds"), *rows])
    for end in ("", ", ONNX Runtime"):
        print(f"folded{end}", ratio(times[f"GPT-2, folded{end}"], times[f"GPT-2{end}"]))


if __name__ == "__main__":
    main()
