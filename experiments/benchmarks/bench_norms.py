"""LayerNorm and RMSNorm of this library against PyTorch's own on the same tensor, forward and backward, in one run.

    python experiments/benchmarks/bench_norms.py                      # (8192, 4096) float32
    python experiments/benchmarks/bench_norms.py --shape 2048 1024 --threads 1 --dtype bfloat16

Each round times every variant once, in turn, so that other work on the machine meets all of them; the ratio is the
median of those of the rounds. PyTorch's layer_norm is one fused kernel that reads and writes the tensor once; the
definition here is a dozen array operations, each of which reads and writes it, and that is what the ratio shows.
"closed-form gradient" is jacobian_transpose_product, which needs no forward pass, against PyTorch's two passes.
"""

import csv
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from harness import finish, in_turn, parser, ratio  # pyright: ignore[reportMissingImports]

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


def main() -> None:
    made = parser(__doc__, device="cpu", rounds=5, shape=[8192, 4096], dtype="float32", threads=0, compiled=False)
    made.add_argument("--csv", help="write the times of PyTorch's own two kernels, each round of them, here")
    options = made.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    (n, d), dtype, generator = options.shape, getattr(torch, options.dtype), torch.Generator().manual_seed(0)
    x, c = (torch.randn(n, d, generator=generator).to(options.device, dtype) for _ in range(2))
    gain, bias = ((torch.randn(d, generator=generator) * 0.3 + m).to(options.device, dtype) for m in (1, 0))
    pairs = variants(x, gain, bias, c, options.compiled)
    work = {(name, k): partial(finished, partial(pair[k], x)) for name, pair in pairs.items() for k in (0, 1)}
    times = in_turn(work, options.rounds)
    if options.csv:
        shape = (n, d, options.dtype, torch.get_num_threads(), options.device)
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(("norm", "rows", "d", "dtype", "threads", "device", "round", "milliseconds"))
            for name in pairs:
                if "closed" not in name:
                    theirs = enumerate(times[name, 1], 1)
                    lines.writerows((name, *shape, number, round(1e3 * took, 4)) for number, took in theirs)
    peer = f"PyTorch {torch.__version__}"
    finish(options.json, [{"work": name, "peer": peer, **ratio(times[name, 0], times[name, 1])} for name in pairs])


if __name__ == "__main__":
    main()
