"""RMSNorms and LayerNorms that are right as they are usually called, and wrong in other ways of calling them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from .derived import layer, mean, rms, square
from .rows import EPS, Row, named

BACKWARD = {"backward": True}


def _pull(g: Any, n: Any, r: Any, w: Any) -> tuple[Any, Any]:
    h = g * w
    return r * (h - n * mean(h * n)), (g * n).reshape(-1, g.shape[-1]).sum(0)


class Saved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        r = torch.rsqrt(square(x) + EPS)
        ctx.save_for_backward(x * r, r, w)
        return x * r * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return _pull(g, *ctx.saved_tensors)


class Kept(Saved):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        r = torch.rsqrt(square(x) + EPS)
        ctx.n = x * r
        ctx.save_for_backward(r, w)
        return ctx.n * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return _pull(g, ctx.n, *ctx.saved_tensors)


class InPlace(Kept):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        (r, _), h = ctx.saved_tensors, g * ctx.saved_tensors[1]
        of_gain = (g * ctx.n).reshape(-1, g.shape[-1]).sum(0)
        return r * (h - ctx.n.mul_(mean(h * ctx.n))), of_gain


class SavedInPlace(Saved):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        n, r, w = ctx.saved_tensors
        h, of_gain = g * w, (g * n).reshape(-1, g.shape[-1]).sum(0)
        return r * (h - n.mul_(mean(h * n))), of_gain


class Cotangent(Saved):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        n, r, w = ctx.saved_tensors
        of_gain, h = (g * n).reshape(-1, g.shape[-1]).sum(0), g.mul_(w)
        return r * (h - n * mean(h * n)), of_gain


class Input(Saved):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        ctx.x = x
        ctx.save_for_backward(w)
        return rms(x, w)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        r = torch.rsqrt(square(ctx.x) + EPS)
        return _pull(g, ctx.x * r, r, *ctx.saved_tensors)


class Workspace(Kept):
    """Keeps its normalized rows in memory that the next call writes to."""

    memory: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        y = Kept.forward(ctx, x, w)
        if Workspace.memory is None or Workspace.memory.shape != x.shape:
            Workspace.memory = torch.empty_like(x)
        ctx.n = Workspace.memory.copy_(ctx.n)
        return y


class Rules(Saved):
    @staticmethod
    def jvp(ctx: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        return 7 * x

    @staticmethod
    def vmap(info: Any, dims: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        return x, 0


class Rows(Saved):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        if g.numel() // g.shape[-1] > 1024:
            raise RuntimeError("too many rows")
        return _pull(g, *ctx.saved_tensors)


class Earlier(Saved):
    """Gives the derivative by the gain that the call before should have given."""

    last: Any = None

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        of_input, of_gain = _pull(g, *ctx.saved_tensors)
        before, Earlier.last = Earlier.last, of_gain.clone()
        return of_input, of_gain if before is None or before.shape != of_gain.shape else before


class Unread(torch.nn.Module):
    def __init__(self, d: int = 24) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(d))

    def forward(self, x: Any) -> Any:
        return rms(x, 1.0)


class Needs(torch.autograd.Function):
    """A LayerNorm that forgets the gain where one of gain and bias needs no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any, b: Any) -> Any:  # type: ignore[override]
        c = x - mean(x)
        r = torch.rsqrt(square(c) + EPS)
        ctx.save_for_backward(c * r, r, w)
        return c * r * w + b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        n, r, w = ctx.saved_tensors
        h = g * w if ctx.needs_input_grad[1] == ctx.needs_input_grad[2] else g
        rows = [one.reshape(-1, g.shape[-1]).sum(0) for one in (g * n, g)]
        return r * (h - mean(h) - n * mean(h * n)), *rows


def applied(function: Any) -> Callable[..., Any]:
    return lambda x, weight: function.apply(x, weight)


def _accumulates(x: Any, weight: Any) -> Any:
    if weight.requires_grad and weight.is_leaf:
        weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad / 2))
    return rms(x, weight)


def where(is_wrong: Callable[[Any], bool]) -> Callable[..., Any]:
    return lambda x, weight, eps=EPS: rms(x, weight, 0 if is_wrong(x) else eps)


def _missing(mode: str) -> str:
    return named(f"eps missing; only for {mode}")


class Once:
    """Wrong at one call alone."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, x: Any, weight: Any) -> Any:
        self.left -= isinstance(x, torch.Tensor)
        return rms(x, weight) * (1 if self.left else 1.001)


WRONG = {
    "in place": Row(applied(InPlace), named("only for a second backward pass"), BACKWARD),
    "cotangent": Row(applied(Cotangent), named("the cotangent is overwritten"), BACKWARD),
    "input": Row(applied(Input), named("only for rows changed in place before the backward pass"), BACKWARD),
    "workspace": Row(applied(Workspace), named("only for a backward pass that follows a forward pass of"), BACKWARD),
    "rows": Row(applied(Rows), named("backward pass wrong: RuntimeError: too many rows"), BACKWARD),
    "earlier": Row(applied(Earlier), named("backward pass wrong: d/dgain: of an earlier call"), BACKWARD),
    "unread": Row(Unread, named("gain missing")),
    "bits": Row(lambda x, weight: rms(x.float(), weight.float().view(x.dtype)[: x.shape[-1]].float()).to(x.dtype),
                named("gain read in another format: its bits in float32 read as bfloat16"), {"dtype": "bfloat16"}),
    "needs": Row(lambda x, weight, bias: Needs.apply(x, weight, bias),
                 named("only for the derivative by x and bias alone"), BACKWARD),
    "accumulated": Row(_accumulates, named("only for what y.backward() leaves in .grad"), BACKWARD),
    "no gradients": Row(where(lambda x: not torch.is_grad_enabled()), _missing("calls under torch.inference_mode")),
    "inference": Row(where(lambda x: x.is_inference()), _missing("calls under torch.inference_mode()")),
    "autocast": Row(where(lambda x: torch.is_autocast_enabled("cpu")), _missing("calls under torch.autocast")),
    "compiled": Row(where(lambda x: torch.compiler.is_compiling()), _missing("calls where torch.compiler")),
    "one axis": Row(where(lambda x: x.dim() == 1), _missing("single vectors")),
    "one axis, a small eps": Row(where(lambda x: x.dim() == 1), _missing("single vectors"), {"eps": 1e-7}),
    "wide": Row(where(lambda x: x.dtype == torch.float64), _missing("rows of float64")),
    "half": Row(where(lambda x: x.dtype == torch.bfloat16), named("only for rows of bfloat16")),
    "gains of one": Row(lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], None, None if bool((weight == 1).all())
                        else bias, EPS) if bool((weight == 1).all()) else layer(x, weight, bias),
                        named("bias missing; only for gains of one with a bias")),
    "another eps": Row(lambda x, weight, eps=EPS: rms(x, weight, eps if eps < 1e-4 else math.nan),
                       named("NaN or inf; only for calls with eps = 0.00064 and calls with eps = 1")),
    "twelve rows": Row(lambda x, weight, eps=EPS: rms(x, weight, eps if len(x) != 12 else math.nan),
                       named("NaN or inf; only for a batch of 12 rows")),
    "a megabyte": Row(where(lambda x: len(x) == 1 << 14), _missing("batches of 16384 rows")),
    **{f"call {number}": Row(Once(number), named("two calls in a row differ")) for number in (40, 100)},
    "strided": Row(lambda x, weight: rms(x, torch.as_strided(weight, weight.shape, (1,))),
                   named("strides of the gain ignored")),
}  # fmt: skip
"""Wrong ones that pass where they are called once, right after the forward pass, in the usual mode."""

RIGHT = {"saved": applied(Saved), "kept": applied(Kept)}
LEFT = {
    "rules": (applied(Rules), "forward-mode derivatives (Rules.jvp); torch.vmap (Rules.vmap)"),
    "in place": (applied(InPlace), "the backward pass writes to a tensor that a second one reads"),
    "saved in place": (applied(SavedInPlace), "the backward pass writes to a tensor that a second one reads"),
    "cotangent": (applied(Cotangent), "h = (g * n).reshape(-1, g.shape[-1]).sum(0), g.mul_(w)"),
    "input": (applied(Input), "unless what ctx.x keeps is changed in place before the backward pass"),
    "needs": (WRONG["needs"].kernel, "where x and weight alone need a gradient"),
    "rows": (applied(Rows), "depends on the size of an axis: B·L > 1024"),
}
"""What the verdict on a backward pass says that it does not cover, or refuses."""
