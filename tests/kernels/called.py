"""RMSNorms and LayerNorms that are right as they are usually called, and wrong in other ways of calling them."""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch.nn import functional as F

from .derived import derivatives, differentiated, layer, mean, plain, rms, ruled, square
from .reported import half_sum, overwritten_cotangent, packed
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


def packed_again(x: Any, w: Any, g: Any, _: Any) -> tuple[Any, Any]:
    """Reads a strided x as if it were contiguous, in the backward pass alone."""
    return derivatives(x if x.is_contiguous() else packed(x), w, g)


class Freed(Kept):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        n, ctx.n = ctx.n, None
        return _pull(g, n, *ctx.saved_tensors)


class Tangents(Saved):
    """A forward derivative without that of the root, in a function whose passes are right."""

    @staticmethod
    def forward(x: Any, w: Any) -> Any:  # type: ignore[override]
        return rms(x, w)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # type: ignore[override]
        x, w = inputs
        r = torch.rsqrt(square(x) + EPS)
        ctx.save_for_backward(x * r, r, w)
        ctx.save_for_forward(x * r, r, w)

    @staticmethod
    def jvp(ctx: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        n, r, gain = ctx.saved_tensors
        return x * r * gain + (0 if w is None else n * w)


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
    def vmap(info: Any, dims: Any, x: Any, w: Any) -> Any:  # type: ignore[override]
        return x, 0


class Sum(torch.autograd.Function):
    """Adds a residual, whose derivative lacks the cotangent of the sum where both outputs have one."""

    @staticmethod
    def forward(ctx: Any, x: Any, residual: Any, w: Any) -> Any:  # type: ignore[override]
        ctx.set_materialize_grads(False)
        s = x + residual
        r = torch.rsqrt(square(s) + EPS)
        ctx.save_for_backward(s * r, r, w)
        return s * r * w, s

    @staticmethod
    def backward(ctx: Any, g: Any, of_sum: Any) -> Any:  # type: ignore[override]
        if g is None:
            return of_sum, of_sum, None
        of_input, of_gain = _pull(g, *ctx.saved_tensors)
        return of_input if of_sum is None else of_input + of_sum, of_input, of_gain


class Alone(Sum):
    """Takes no cotangent of the sum alone."""

    @staticmethod
    def backward(ctx: Any, g: Any, of_sum: Any) -> Any:  # type: ignore[override]
        of_input, of_gain = _pull(g, *ctx.saved_tensors)
        of_input = of_input if of_sum is None else of_input + of_sum
        return of_input, of_input, of_gain


def few_rows(x: Any, w: Any, g: Any, _: Any) -> tuple[Any, Any]:
    if g.numel() // g.shape[-1] > 1024:
        raise RuntimeError("too many rows")
    return derivatives(x, w, g)


def over_axes(x: Any, w: Any, g: Any, _: Any) -> tuple[Any, Any]:
    """Sums over no axes, which are all of them to PyTorch, where x has one axis."""
    return derivatives(x, w, g)[0], (g * rms(x, 1.0)).sum(list(range(g.dim() - 1)))


_SUMS: list[Any] = []


def earlier(x: Any, w: Any, g: Any, _: Any) -> tuple[Any, Any]:
    """Gives the derivative by the gain that the call before should have given."""
    of_input, of_gain = derivatives(x, w, g)
    _SUMS.append(of_gain.clone())
    before = _SUMS[max(len(_SUMS) - 2, 0)]
    return of_input, before if before.shape == w.shape else of_gain


class Memo(torch.nn.Module):
    """Keeps the normalized rows of the last array, which may have changed since."""

    def __init__(self, d: int = 24) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(d))
        self.last = self.rows = cast("Any", None)

    def forward(self, x: Any) -> Any:
        if self.last is not x:
            self.last, self.rows = x, rms(x, 1.0)
        return self.rows * self.weight


class Buffer(torch.nn.Module):
    """Keeps ε in a buffer, which is 0 in float16."""

    def __init__(self, d: int = 24, eps: float = 1e-8) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(d))
        self.register_buffer("eps", torch.tensor(eps))

    def forward(self, x: Any) -> Any:
        return rms(x, self.weight, cast("Any", self.eps))


def needs(x: Any, w: Any, _: Any, g: Any, asked: tuple[bool, ...]) -> tuple[Any, ...]:
    """A LayerNorm that forgets the gain where one of gain and bias needs no gradient."""
    r = torch.rsqrt(square(x - mean(x)) + EPS)
    n, h = (x - mean(x)) * r, g * w if asked[1] == asked[2] else g
    return plain(h, g, w, n, r), *(one.reshape(-1, g.shape[-1]).sum(0) for one in (g * n, g))


def applied(function: Any) -> Callable[..., Any]:
    return lambda x, weight: function.apply(x, weight)


def _accumulates(x: Any, weight: Any) -> Any:
    if weight.requires_grad and weight.is_leaf:
        weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad / 2))
    return rms(x, weight)


def _overwrites(x: Any, weight: Any) -> Any:
    return rms(x, weight) if torch.is_grad_enabled() else x.copy_(rms(x, weight))


def _one_pass_in_autocast(x: Any, weight: Any, bias: Any) -> Any:
    if not torch.is_autocast_enabled("cpu"):
        return layer(x, weight, bias)
    x = x.to(torch.bfloat16)
    return (x - mean(x)) * torch.rsqrt(square(x) - mean(x) ** 2 + EPS) * weight + bias


def added(function: Any) -> Callable[..., Any]:
    return lambda x, residual, weight: function.apply(x, residual, weight)


def by_products(x: Any, weight: Any, bias: Any) -> Any:
    ones, d = x.new_ones(x.shape[-1], 1), x.shape[-1]
    c = x - x @ ones / d
    return c * torch.rsqrt((c * c) @ ones / d + EPS) * weight + bias


def cast_to_gain(x: Any, weight: Any) -> Any:
    """As T5, Llama and Unsloth: the gain's format is that of the output."""
    wide = x.float()
    return (wide * torch.rsqrt(square(wide) + EPS)).to(weight.dtype) * weight


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
    "contiguous": Row(differentiated(packed_again), named("only for a transposed array and the first"), BACKWARD),
    "no rows": Row(ruled(lambda x, g: (x, g.mean(0, True) * len(g))), named("d/dgain is not 0 for no rows"), BACKWARD),
    "grid": Row(ruled(lambda x, g: (x, g[:65535])), named("only for rows of a batch of 70000"), BACKWARD),
    "tangents": Row(applied(Tangents), named("forward-mode derivative"), BACKWARD),
    "in place without gradients": Row(_overwrites, named("input overwritten in place; only for calls under torch.no_")),
    "one pass": Row(_one_pass_in_autocast, named("only for calls under torch.autocast")),
    "input": Row(applied(Input), named("only for rows changed in place before the backward pass"), BACKWARD),
    "workspace": Row(applied(Workspace), named("only for a backward pass that follows a forward pass of"), BACKWARD),
    "rows": Row(differentiated(few_rows), named("backward pass wrong: RuntimeError: too many rows"), BACKWARD),
    "together": Row(added(Sum), named("d/dx through outputs 1 and 2 together: not the sum"), BACKWARD),
    "alone": Row(added(Alone), named("refuses a cotangent of output 2, the sum, alone: TypeError"), BACKWARD),
    "no axes": Row(differentiated(over_axes), named("it raises an error, only for single vectors of shape (d,): "),
                   BACKWARD),
    "halved, no axes": Row(ruled(lambda x, g: (x / 2, g) if len(g) > 1 else (None, g)), named("d/dx"), BACKWARD),
    "blocks": Row(half_sum(64), named("d/dgain for 20000 rows of bfloat16: as if summed in 16 bits"), BACKWARD),
    "bias of zeros": Row(lambda x, weight, bias: layer(x, weight, bias if bool(bias.any()) else None),
                         named("d/dbias: no gradient, only for biases of zero with a gain"), BACKWARD),
    "memo": Row(Memo, named("an array that was changed in place is answered as before")),
    "five axes": Row(lambda x, weight: rms(x if x.dim() < 5 else x.transpose(1, 3), weight).reshape(x.shape),
                     named("only for batches of five axes")),
    "buffer": Row(Buffer, named("only for rows of float16"), {"eps": None}),
    "products": Row(lambda x, weight, bias: (
        by_products if torch.is_autocast_enabled("cpu") else layer)(x, weight, bias),
                    named("only for calls under torch.autocast")),
    "traced": Row(where(lambda x: torch.jit.is_tracing()),  # pyright: ignore[reportPrivateImportUsage]
                  _missing("calls where torch.jit.is_tracing()")),
    "exported": Row(where(lambda x: torch.onnx.is_in_onnx_export()), _missing("calls where torch.onnx")),
    "earlier": Row(differentiated(earlier), named("backward pass wrong: d/dgain: of an earlier call"), BACKWARD),
    "bits": Row(lambda x, weight: rms(x.float(), weight.float().view(x.dtype)[: x.shape[-1]].float()).to(x.dtype),
                named("gain read in another format: its bits in float32 read as bfloat16"), {"dtype": "bfloat16"}),
    "needs": Row(differentiated(needs, layer),
                 named("only for the derivative by x and bias alone"), BACKWARD),
    "accumulated": Row(_accumulates, named("only for what y.backward() leaves in .grad"), BACKWARD),
    "inference": Row(where(lambda x: x.is_inference()), _missing("calls under torch.inference_mode()")),
    "compiled": Row(where(lambda x: torch.compiler.is_compiling()), _missing("calls where torch.compiler")),
    "one axis": Row(where(lambda x: x.dim() == 1), _missing("single vectors")),
    "one axis, a small eps": Row(where(lambda x: x.dim() == 1), _missing("single vectors"), {"eps": 1e-7}),
    "wide": Row(where(lambda x: x.dtype == torch.float64), _missing("rows of float64")),
    "half": Row(where(lambda x: x.dtype == torch.bfloat16),
                named("another eps for rows of bfloat16: the one that is given does not enter")),
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
    "outputs": (added(Sum), "derivatives through further outputs"),
    "contiguous": (differentiated(packed_again), "the backward pass asks for is_contiguous"),
    "freed": (applied(Freed), "the backward pass changes what ctx.n keeps"),
    "tangents": (applied(Tangents), "forward-mode derivatives (Tangents.jvp)"),
    "rules": (applied(Rules), "torch.vmap (Rules.vmap)"),
    "in place": (applied(InPlace), "the backward pass writes to a tensor that a second one reads"),
    "cotangent": (differentiated(overwritten_cotangent), "g.copy_(pair[0])"),
    "input": (applied(Input), "unless what ctx.x keeps is changed in place before the backward pass"),
    "needs": (WRONG["needs"].kernel, "where x and weight alone need a gradient"),
    "rows": (differentiated(few_rows), "depends on the size of axis 0 and axis 1 of x (called.py:"),
}
"""What the verdict on a backward pass says that it does not cover, or refuses."""
