"""PyTorch's own LayerNorm against its RMSNorm, forward and with the gradient, in one run.

    python experiments/benchmarks/bench_norms.py --kernels docs/results/cost/kernels.csv --compile 1024 4096 --threads 1

Each round times every variant once, in turn, so that other work on the machine meets all of them. ``--device cuda``
times them there. Compiling takes most of the time.
"""

import csv
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from harness import in_turn, parser  # pyright: ignore[reportMissingImports]

EPS, ELEMENTS = 1e-5, 1 << 21


def backward(function: Callable[..., torch.Tensor], x: torch.Tensor, cotangent: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(function(leaf), leaf, cotangent)[0]


def kernels(d: int, dtype: torch.dtype, device: str, compiled: bool) -> Mapping[str, Callable[[], object]]:
    """PyTorch's own two norms of so many vectors that each tensor has two million numbers."""
    x, c = (torch.randn(ELEMENTS // d, d, device=device, dtype=dtype) for _ in range(2))
    gain, bias = torch.ones(d, device=device, dtype=dtype), torch.zeros(d, device=device, dtype=dtype)
    norms: dict[str, Any] = {
        "layer_norm": lambda v: F.layer_norm(v, (d,), gain, bias, EPS),
        "rms_norm": lambda v: F.rms_norm(v, (d,), gain, EPS),
    }
    if compiled:
        norms |= {f"{name}, compiled": torch.compile(norm, dynamic=False) for name, norm in norms.items()}
    work: dict[str, Callable[[], object]] = {name: partial(norm, x) for name, norm in norms.items()}
    return work | {f"{name} and gradient": partial(backward, norm, x, c) for name, norm in norms.items()}


def compare(options: Any) -> None:
    """Write the times of both norms, every round of them, and print medians, spread and the rate of moved bytes."""
    device, threads, file = options.device, torch.get_num_threads(), Path(options.kernels)
    file.write_text("norm,rows,d,dtype,threads,device,round,milliseconds\n", encoding="utf-8")
    clock = time.process_time if options.cpu_time else time.perf_counter
    for name, d in [(name, d) for name in ("float32", "bfloat16") for d in options.widths]:
        dtype = getattr(torch, name)
        work, moved = kernels(d, dtype, device, d in options.compile), ELEMENTS * dtype.itemsize
        for norm, times in in_turn(work, options.rounds, clock).items():
            about = (ELEMENTS // d, d, name, threads, device)
            with file.open("a", encoding="utf-8", newline="") as opened:
                rows = [(norm, *about, number, round(1e3 * took, 4)) for number, took in enumerate(times, 1)]
                csv.writer(opened, lineterminator="\n").writerows(rows)
            low, middle, high = min(times), statistics.median(times), max(times)
            # Read x and write y; with the gradient also read x and what came back, and write the gradient.
            rate = (5 if "gradient" in norm else 2) * moved / middle / 1e9
            print(norm, *about, *(f"{1e3 * t:.2f}" for t in (middle, low, high)), f"{rate:.1f} GB/s", flush=True)


def main() -> None:
    made = parser(__doc__, device="cpu", rounds=5, threads=0, cpu_time=False, widths=[768, 1024, 2048, 4096, 8192])
    made.add_argument("--kernels", required=True, help="write every round here")
    made.add_argument("--compile", type=int, nargs="*", default=[], help="widths at which both are compiled too")
    options = made.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    compare(options)


if __name__ == "__main__":
    main()
