"""What is said of a kernel; RMSNorm, and LayerNorm with a backward pass of its own, which may be wrong."""

from collections.abc import Callable
from typing import Any

import torch

EPS = 1e-5
Pull = Callable[..., torch.Tensor | None]


def verdict(finding: Any) -> str:
    """What is said of a kernel, without the lines of its code that a trace quotes, which may say the same."""
    proof = finding.proof
    proved = f"PROVED: {proof.text}" if proof is not None and proof.status == "proved" else ""
    return proved + str(finding).removeprefix(str(proof))


def mean(values: torch.Tensor) -> torch.Tensor:
    return values.mean(-1, keepdim=True)


def square(x: Any) -> Any:
    return mean(x * x)


def rms(x: Any, weight: Any, eps: float = EPS) -> Any:
    return (x.float() * torch.rsqrt(square(x.float()) + eps) * weight).to(x.dtype)


def plain(h: Any, y: Any, g: Any, n: Any, r: Any) -> Any:
    return r * (h - mean(h) - n * mean(h * n))


def kernel(
    pull: Pull, of_gain: Pull = lambda y, n, axes: (y * n).sum(axes), of_bias: Pull = lambda y, n, axes: y.sum(axes)
) -> Any:
    """`pull` of h = g ∘ ȳ, ȳ, g, the normalized n, and r = 1/D; sums of ȳ and n over the axes of rows."""

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
            c = x.float() - mean(x.float())
            r = torch.rsqrt(mean(c * c) + EPS)
            ctx.save_for_backward(c * r, r, gain.float())
            return (c * r * gain.float() + bias.float()).to(x.dtype)

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> Any:
            n, r, gain = ctx.saved_tensors
            y, axes = grads[0].float(), tuple(range(n.dim() - 1))
            derivatives = pull(y * gain, y, gain, n, r), of_gain(y, n, axes), of_bias(y, n, axes)
            return tuple(value if value is None else value.to(grads[0].dtype) for value in derivatives)

    return lambda x, gain, bias: Layer.apply(x, gain, bias)
