"""LayerNorm and RMSNorm of this library against PyTorch's own on the same tensor, forward and backward, in one run.

    python tests/benchmarks/bench_norms.py                      # (8192, 4096) float32
    python tests/benchmarks/bench_norms.py --shape 2048 1024 --threads 1 --dtype bfloat16

Each round times every variant once, in turn, so that other work on the machine meets all of them; the ratio is that
of the best times. PyTorch's layer_norm is one fused kernel that reads and writes the tensor once; the definition here
is a dozen array operations, each of which reads and writes it, and that is what the ratio shows. `error` is the
largest difference from the float64 result over the largest entry of it, in units of the roundoff of the dtype.
"closed-form gradient" is jacobian_transpose_product, which needs no forward pass, against PyTorch's two passes.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import lngeom as lg

EPS = 1e-5


def backward(function: Callable[..., torch.Tensor], x: torch.Tensor, cotangent: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(function(leaf), leaf, cotangent)[0]


def variants(
    x: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor, c: torch.Tensor, compiled: bool
) -> dict[str, Any]:
    shape = x.shape[-1:]
    pairs: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
        "layer_norm": (
            lambda v: lg.layer_norm(v, gain.to(v.dtype), bias.to(v.dtype), eps=EPS),
            lambda v: F.layer_norm(v, shape, gain.to(v.dtype), bias.to(v.dtype), EPS),
        ),
        "rms_norm": (
            lambda v: lg.rms_norm(v, gain.to(v.dtype), eps=EPS),
            lambda v: F.rms_norm(v, shape, gain.to(v.dtype), EPS),
        ),
    }
    if compiled:
        pairs |= {f"{name}, compiled": (torch.compile(ours), theirs) for name, (ours, theirs) in pairs.items()}
    result: dict[str, Any] = {}
    for name, (ours, theirs) in pairs.items():
        result[name] = ours, theirs
        if "compiled" in name:
            continue
        result[f"{name} and gradient"] = (
            lambda v, f=ours: backward(f, v, c.to(v.dtype)),
            lambda v, f=theirs: backward(f, v, c.to(v.dtype)),
        )
        result[f"{name}, closed-form gradient"] = (
            lambda v, centered=name == "layer_norm": lg.jacobian_transpose_product(
                v, c.to(v.dtype), gain.to(v.dtype), eps=EPS, centered=centered
            ),
            lambda v, f=theirs: backward(f, v, c.to(v.dtype)),
        )
    return result


def timed(function: Callable[..., torch.Tensor], x: torch.Tensor) -> float:
    if x.is_cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    function(x)
    if x.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", type=int, nargs=2, default=(8192, 4096), metavar=("N", "D"))
    parser.add_argument("--dtype", choices=("float32", "float64", "bfloat16", "float16"), default="float32")
    parser.add_argument("--device", default="cpu", help="PyTorch device (default: cpu)")
    parser.add_argument("--threads", type=int, help="threads of PyTorch (default: its own choice)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the ratios to this file")
    parser.add_argument("--compiled", action="store_true", help="the same formulas through torch.compile too")
    parser.add_argument("--csv", help="write the times of PyTorch's own two kernels, each round of them, here")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    n, d = arguments.shape
    dtype = getattr(torch, arguments.dtype)
    generator = torch.Generator().manual_seed(0)
    x, c = (torch.randn(n, d, generator=generator).to(arguments.device, dtype) for _ in range(2))
    gain, bias = ((torch.randn(d, generator=generator) * 0.3 + m).to(arguments.device, dtype) for m in (1, 0))
    table = variants(x, gain, bias, c, arguments.compiled)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in table}
    for _ in range(arguments.rounds + 1):
        for name, (ours, theirs) in table.items():
            times[name].append((timed(ours, x), timed(theirs, x)))
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(("norm", "rows", "d", "dtype", "threads", "device", "round", "milliseconds"))
            for name, measured in times.items():
                if "closed" not in name:
                    for number, (_, theirs) in enumerate(measured[1:], 1):
                        shape = (n, d, arguments.dtype, torch.get_num_threads(), arguments.device)
                        lines.writerow((name, *shape, number, round(1e3 * theirs, 4)))
    print(
        f"PyTorch {torch.__version__}, {arguments.device}, {torch.get_num_threads()} threads, {platform.processor()}, "
        f"({n}, {d}) {arguments.dtype}, best of {arguments.rounds}"
    )
    print(f"{'':34}{'ours ms':>10}{'torch ms':>10}{'ratio':>8}{'our error':>12}{'torch error':>12}")
    results: list[dict[str, Any]] = []
    rows, unit = x[:64], torch.finfo(dtype).eps / 2
    for name, measured in times.items():
        best = [min(column) for column in zip(*measured[1:], strict=True)]  # the first round warms up
        function = variants(rows, gain, bias, c[:64], arguments.compiled)[name]
        exact = function[1](rows.double())
        errors = [float((f(rows).double() - exact).abs().max() / exact.abs().max()) / unit for f in function]
        print(f"{name:34}{1e3 * best[0]:10.1f}{1e3 * best[1]:10.1f}{best[0] / best[1]:8.2f}", end="")
        print(f"{errors[0]:12.1f}{errors[1]:12.1f}")
        ratios = sorted(a / b for a, b in measured[1:])
        results.append({"work": name, "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]})
    if arguments.json:
        about = {"command": " ".join(["python", *sys.argv]), "peer": f"PyTorch {torch.__version__}", "shape": [n, d]}
        arguments.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
