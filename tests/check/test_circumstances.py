"""Backward passes that are wrong only in one of the ways in which they are called."""

import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.kernels.derived import derivatives, differentiated, layer, mean, rms, square
from tests.kernels.rows import EPS, Row, expected, named

Rows = Any


def only(wrong: Callable[..., Any]) -> Any:
    """An RMSNorm whose derivative by x is doubled where something holds of x, gain and cotangent."""

    def rule(x: Rows, weight: Rows, y: Rows, asked: Rows) -> Rows:
        of_x, of_gain = derivatives(x, weight, y)
        return of_x * (2 if wrong(x, weight, y) else 1), of_gain

    return differentiated(rule)


def passed(change: Callable[..., Rows]) -> Any:
    """An RMSNorm whose cotangent is changed first."""
    return differentiated(lambda x, weight, y, asked: derivatives(x, weight, change(x, weight, y)))


def shared(x: Rows, weight: Rows, bias: Rows, y: Rows, asked: Rows) -> Rows:
    root = torch.rsqrt(mean((x - mean(x)) ** 2) + EPS)
    n, h, rows = (x - mean(x)) * root, y * weight, (-1, x.shape[-1])
    of_gain = (y * n).reshape(rows).sum(0) * (1 + (weight.data_ptr() == bias.data_ptr()))
    return root * (h - mean(h) - n * mean(h * n)), of_gain, y.reshape(rows).sum(0)


def made(forward: Callable[..., Rows], backward: Callable[..., Rows]) -> Callable[..., Rows]:
    """What a function of autograd with these passes computes."""
    passes = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (torch.autograd.Function,), passes).apply


def noting(note: Callable[..., Any], holds: Callable[..., bool]) -> Any:
    """An RMSNorm whose derivative by x is 0 where what its forward pass notes of x and a copy holds no longer."""

    def forward(ctx: Any, x: Rows, weight: Rows) -> Rows:
        copy = x.clone()
        ctx.noted = note(x, copy)
        ctx.save_for_backward(copy, weight)
        return rms(x, weight)

    def backward(ctx: Any, y: Rows) -> Rows:
        of_x, of_gain = derivatives(*ctx.saved_tensors, cotangent=y)
        return (of_x if holds(ctx.noted, ctx.saved_tensors[0]) else 0 * of_x), of_gain

    return lambda x, weight: made(forward, backward)(x, weight)


def kept() -> Any:
    """An RMSNorm that keeps what it saves on a stack of its own, where a trace leaves something behind."""
    tape: list[Any] = []

    def forward(ctx: Any, x: Rows, weight: Rows) -> Rows:
        if x.requires_grad or weight.requires_grad:
            tape.append((x.detach(), weight.detach()))
        return rms(x, weight)

    apply = made(forward, lambda ctx, y: derivatives(*tape.pop(), cotangent=y))
    return lambda x, weight: apply(x, weight)


LAST = [0.0]


def remembered(ctx: Any, x: Rows, weight: Rows, eps: float) -> Rows:
    ctx.save_for_backward(x, weight)
    LAST[0] = eps
    return rms(x, weight, eps)


def of_last(ctx: Any, y: Rows) -> Rows:
    x, weight = ctx.saved_tensors
    return *derivatives(x, weight, y, torch.rsqrt(square(x) + LAST[0])), None


def of_fixed(ctx: Any, y: Rows) -> Rows:
    return *derivatives(ctx.saved_tensors[0], ctx.saved_tensors[1], y), None


def shaped(ctx: Any, x: Rows, weight: Rows, axes: Any) -> Rows:
    root = torch.rsqrt((x * x).mean(axes, keepdim=True) + EPS)
    ctx.save_for_backward(x * root, root, weight)
    return x * root * weight


def of_last_axis(ctx: Any, y: Rows) -> Rows:
    n, root, weight = ctx.saved_tensors
    return root * (y * weight - n * mean(y * weight * n)), (y * n).reshape(-1, *weight.shape).sum(0), None


def main(add: Callable[..., Any]) -> Any:
    """An RMSNorm that keeps the derivative by the gain in its main_grad, where there is one."""

    def rule(x: Rows, weight: Rows, y: Rows, asked: Rows) -> Rows:
        of_x, of_gain = derivatives(x, weight, y)
        return of_x, add(weight, of_gain) if hasattr(weight, "main_grad") else of_gain

    return differentiated(rule)


def fused(weight: Rows, of_gain: Rows) -> Rows:
    """As Megatron does it, with a placeholder."""
    weight.main_grad.add_(of_gain)
    weight.grad_added_to_main_grad = True
    return torch.full_like(of_gain, 7.0)


class Closed(torch.nn.RMSNorm):
    def __init__(self, d: int) -> None:
        super().__init__(d, EPS)
        self.listed, self.applied = [self.weight], lambda x: rms(x, self.weight)

    def forward(self, x: Rows) -> Rows:
        return self.applied(x)


class Listed(Closed):
    def forward(self, x: Rows) -> Rows:
        return rms(x, self.listed[0])


class Constant(Closed):
    def forward(self, x: Rows) -> Rows:
        root = torch.rsqrt(square(x) + EPS)
        return x * (root if self.training else root.detach()) * self.weight


def short(x: Rows, weight: Rows, y: Rows, asked: Rows) -> Rows:
    of_x, of_gain = derivatives(x, weight, y)
    return of_x * (1 if x.shape[-1] < 2**15 else 2), of_gain


def held(x: Rows, weight: Rows, y: Rows, asked: Rows) -> Rows:
    of_x, of_gain = derivatives(x, weight, y)
    return HELD.setdefault((x.shape, x.dtype), torch.empty_like(of_x)).copy_(of_x), of_gain


HELD = dict[Any, Rows]()
RIGHT = "^ok: .*backward pass within rounding"
TOLD = {
    "cut": Row(passed(lambda x, g, y: y.clamp(-1e4, 1e4)), named("only for cotangents multiplied by 65536")),
    "small": Row(passed(lambda x, g, y: y * (y.abs().amax() > 1e-5)), named("only for cotangents multiplied by 9.09")),
    "infinite": Row(passed(lambda x, g, y: torch.nan_to_num(y)), named("d/dx is finite in a row with an infinite")),
    "reached": Row(passed(lambda x, g, y: y + 0 * y.sum()), named("wrong in rows beside one with an infinite")),
    "expanded": Row(only(lambda x, g, y: y.stride(0) == 0 and y.stride(-1) == 1), named("only for one row of cotang")),
    "offset": Row(only(lambda x, g, y: y.storage_offset()), named("only for cotangents with a storage offset")),
    "aligned": Row(only(lambda x, g, y: x.data_ptr() % 16), named("only for memory that begins one element later")),
    "strided": Row(only(lambda x, g, y: g.stride(0) > 1), named("only for gain and bias that are not contiguous")),
    "shared": Row(differentiated(shared, layer), named("d/dgain multiplied by 2, only for gain and bias that share")),
    "graph": Row(only(lambda *_: torch.is_grad_enabled()), named("only for a backward pass with create_graph=True")),
    "elsewhere": Row(noting(lambda x, copy: copy.data_ptr(), lambda place, copy: place == copy.data_ptr()),
                     r"^bug: .*saved tensors in other memory"),
    "thread": Row(only(lambda *_: threading.current_thread() is not threading.main_thread()),
                  named("only for a backward pass in another thread")),
    "freed": Row(noting(lambda x, copy: weakref.ref(x), lambda known, copy: known() is not None),
                 named("only for a backward pass after x is freed")),
    "last eps": Row(lambda x, weight, eps=EPS: made(remembered, of_last)(x, weight, eps),
                    named("only for a backward pass that follows a forward pass with another eps")),
    "fixed eps": Row(lambda x, weight, eps=EPS: made(remembered, of_fixed)(x, weight, eps),
                     named("only for calls with eps = 1")),
    "main": Row(main(lambda g, of_gain: 0 * g.main_grad.copy_(of_gain)), named("0.5, only for a second batch")),
    "added": Row(main(lambda g, of_gain: 0 * g.main_grad.add_(of_gain)), RIGHT),
    "placeholder": Row(main(fused), RIGHT),
    "held": Row(differentiated(held), named("only for a result that is read after another backward pass")),
    "left": Row(passed(lambda x, g, y: y if g.grad is None else 0 * y), named("first and torch.autograd.grad where")),
    "one token": Row(only(lambda x, g, y: y.dim() == 3 and y.shape[1] == 1), named("for batches of shape (n, 1, d)")),
    "square": Row(only(lambda x, g, y: x.shape == (len(g), len(g))), named("only for as many rows as"), {"d": 24}),
    "gradient": Row(passed(lambda x, g, y: y if g.grad is None else 2 * y), named("only for a second batch")),
    "default": Row(differentiated(lambda x, g, y, _: derivatives(
                       x, g, y, torch.rsqrt(square(x) + EPS).to(torch.get_default_dtype()))),
                   named("only for calls under torch.set_default_dtype")),
    "two axes": Row(lambda x, normalized_shape, weight: made(shaped, of_last_axis)(
                        x, weight, (*range(-len(normalized_shape), 0),)),
                    named("d/dx, only for a normalized_shape of two axes")),
    "copy": Row(Closed, named("a copy of the module (copy.deepcopy) uses the gain and bias of the original")),
    "replaced": Row(Listed, named("gain and bias given with torch.func.functional_call are ignored")),
    "kept": Row(kept(), named("only for a second backward pass")),
    "wide": Row(differentiated(short), named("d/dx, only for a row of 40000 components"), {"d": None}),
    "evaluated": Row(Constant, named("d/dx: term along the output missing, except for training mode")),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_the_circumstance_is_named(name: str) -> None:
    expected(TOLD, name, d=8, backward=True)
