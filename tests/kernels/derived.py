"""RMSNorm, LayerNorm, and both with a backward pass of their own, which may be wrong."""

from collections.abc import Callable
from typing import Any

import torch

from .rows import EPS

Pull = Callable[..., torch.Tensor | None]


def mean(values: torch.Tensor) -> torch.Tensor:
    return values.mean(-1, keepdim=True)


def square(x: Any) -> Any:
    return mean(x * x)


def rms(x: Any, weight: Any, eps: float = EPS) -> Any:
    return (x.float() * torch.rsqrt(square(x.float()) + eps) * weight).to(x.dtype)


def layer(x: Any, weight: Any, bias: Any, eps: float = EPS) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


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
            y, n, r = torch.atleast_2d(grads[0].float(), n, r)  # a sum over no axes is one over all of them
            axes = tuple(range(n.dim() - 1))
            derivatives = pull(y * gain, y, gain, n, r), of_gain(y, n, axes), of_bias(y, n, axes)
            return tuple(value if value is None else value.to(grads[0].dtype) for value in derivatives)

    return lambda x, weight, bias: Layer.apply(x, weight, bias)


class _Differentiated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rule: Any, norm: Any, *given: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*given)
        ctx.rule = rule
        return norm(*given)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        return None, None, *ctx.rule(*ctx.saved_tensors, cotangents[0], ctx.needs_input_grad[2:])


def differentiated(rule: Callable[..., Any], norm: Callable[..., Any] = rms) -> Callable[..., Any]:
    """A norm; `rule` gives the derivatives from its arguments, the cotangent, and which of them are asked for."""
    if norm is layer:
        return lambda x, weight, bias: _Differentiated.apply(rule, norm, x, weight, bias)
    return lambda x, weight: _Differentiated.apply(rule, norm, x, weight)


def terms(x: Any, weight: Any, cotangent: Any, root: Any = None) -> tuple[Any, Any]:
    """The derivative of an RMSNorm by x, and the terms of the sum over the rows that is its derivative by the gain."""
    x, y = x.float(), cotangent.float()
    r = torch.rsqrt(square(x) + EPS) if root is None else root.float()
    h, n = y * weight.float(), x * r
    return r * (h - n * mean(h * n)), (y * n).reshape(-1, x.shape[-1])


def derivatives(x: Any, weight: Any, cotangent: Any, root: Any = None) -> tuple[Any, Any]:
    of_x, of_gain = terms(x, weight, cotangent, root)
    return of_x.to(weight.dtype), of_gain.sum(0).to(weight.dtype)


def ruled(rule: Callable[..., tuple[Any, Any]], norm: Any = rms) -> Callable[..., Any]:
    """An RMSNorm, of which a rule changes the derivative by x, and the terms of that by the gain."""

    def both(x: Any, weight: Any, cotangent: Any, _: Any) -> tuple[Any, Any]:
        of_x, of_gain = rule(*terms(x, weight, cotangent))
        return of_x.to(x.dtype), of_gain.sum(0).to(x.dtype)

    return differentiated(both, norm)


def asserting(x: Any, weight: Any) -> Any:
    total = x * x
    assert total.div_(x.shape[-1]).shape == x.shape
    return x * torch.rsqrt(total.sum(-1, keepdim=True) + EPS) * weight
