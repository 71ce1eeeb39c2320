"""LayerNorm and RMSNorm of this library against PyTorch's own on the same tensor, forward and backward, in one run.

    python experiments/benchmarks/bench_norms.py                      # (8192, 4096) float32
    python experiments/benchmarks/bench_norms.py --shape 2048 1024 --threads 1 --dtype bfloat16
    python experiments/benchmarks/bench_norms.py --kernels docs/results/cost/kernels.csv --compile 1024 4096 --threads 1

Each round times every variant once, in turn, so that other work on the machine meets all of them; the ratio is the
median of those of the rounds. PyTorch's layer_norm is one fused kernel that reads and writes the tensor once; the
definition here is a dozen array operations, each of which reads and writes it, and that is what the ratio shows.
"closed-form gradient" is jacobian_transpose_product, which needs no forward pass, against PyTorch's two passes.
With `--kernels` PyTorch's own LayerNorm and RMSNorm are timed against each other, forward and with the gradient;
``--device cuda`` times them there. Compiling takes most of the time.
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
from harness import finish, in_turn, parser, ratio  # pyright: ignore[reportMissingImports]

import lngeom as lg

EPS, ELEMENTS = 1e-5, 1 << 21


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
        once = {name: (torch.compile(ours), torch.compile(theirs)) for name, (ours, theirs) in pairs.items()}
        pairs |= {f"{name}, compiled": (once[name][0], theirs) for name, (_, theirs) in pairs.items()}
        pairs |= {f"{name}, both compiled": pair for name, pair in once.items()}
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
            lambda v, centered=name == "layer_norm": lg.derivatives.jacobian_transpose_product(
                v, c.to(v.dtype), gain.to(v.dtype), eps=EPS, centered=centered
            ),
            lambda v, f=theirs: backward(f, v, c.to(v.dtype)),
        )
    return result


def finished(function: Callable[[], object]) -> None:
    """Run a function, and wait until the GPU is done."""
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()


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
    work = {name: partial(finished, partial(norm, x)) for name, norm in norms.items()}
    return work | {
        f"{name} and gradient": partial(finished, partial(backward, norm, x, c)) for name, norm in norms.items()
    }


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
    made = parser(
        __doc__, device="cpu", rounds=5, shape=[8192, 4096], dtype="float32", threads=0, compiled=False, cpu_time=False
    )
    made.add_argument("--kernels", help="time LayerNorm against RMSNorm, and write every round here")
    made.add_argument("--widths", type=int, nargs="+", default=[768, 1024, 2048, 4096, 8192])
    made.add_argument("--compile", type=int, nargs="*", default=[], help="widths at which both are compiled too")
    options = made.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.kernels:
        compare(options)
        return
    (n, d), dtype, generator = options.shape, getattr(torch, options.dtype), torch.Generator().manual_seed(0)
    x, c = (torch.randn(n, d, generator=generator).to(options.device, dtype) for _ in range(2))
    gain, bias = ((torch.randn(d, generator=generator) * 0.3 + m).to(options.device, dtype) for m in (1, 0))
    pairs = variants(x, gain, bias, c, options.compiled)
    work = {(name, k): partial(finished, partial(pair[k], x)) for name, pair in pairs.items() for k in (0, 1)}
    times = in_turn(work, options.rounds)
    peer = f"PyTorch {torch.__version__}"
    finish(options.json, [{"work": name, "peer": peer, **ratio(times[name, 0], times[name, 1])} for name in pairs])


if __name__ == "__main__":
    main()
