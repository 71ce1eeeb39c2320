"""What autograd gives beside the derivatives of the output: of further outputs, of no rows, and in forward mode."""

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import FORMATS, Gradients
from lngeom.sentences import Cause, Statement

from .._calls.derivatives import derivatives, tangent
from .._calls.fused import Fused
from .._trials.claim import Claim
from .._trials.trial import Note, attempt
from .._trials.unexamined import statistic

_MANY, _WIDEST = 20_000, 128
"""Rows over which a sum of ones in bfloat16 stops, in blocks too, and the most components that they have."""


def further(claim: Claim, x: np.ndarray) -> Iterator[Statement]:
    """What is wrong with derivatives through each further output from which autograd of PyTorch goes back.

    The cotangent of the sum passes unchanged, without rounding; that of a statistic is seen only where it is dropped.
    Through two outputs together derivatives are the sum of those through each.
    """
    torch, kernel, x, fused = importlib.import_module("torch"), claim.kernel, claim.stored(x), claim.kernel.form.target
    given: dict[str, Any] = {"x": kernel.array(x), **(kernel.at(x.shape[-1]).leaves or kernel.arrays(x.shape[-1]))}
    leaves = [leaf.requires_grad_() for leaf in given.values()]
    output: Any = kernel.whole(leaves[0], {name: leaf for name, leaf in given.items() if name != "x"})

    def pulled(*of: tuple[Any, Any]) -> list[Any]:
        through, seeds = zip(*of, strict=True)
        found = torch.autograd.grad(through, leaves, seeds, retain_graph=True, allow_unused=True)
        return [0 * leaf if one is None else one for one, leaf in zip(found, leaves, strict=True)]

    outputs = [output, fused.total] if isinstance(fused, Fused) else output if isinstance(output, tuple) else [output]
    for i, values in enumerate(outputs[1:], start=2):
        if not getattr(values, "requires_grad", False):
            continue
        read = np.asarray(kernel.framework.read(values.detach()))
        what = "the sum" if isinstance(fused, Fused) else statistic(claim, x, read) or "no statistic"
        rng, two = np.random.default_rng(i), (outputs[0], values)
        own, other = ((one, torch.as_tensor(rng.integers(-8, 9, one.shape) / 4 + 0.125).to(one)) for one in two)
        each = (own,), (other,), (own, other)
        ways = attempt(Statement("cotangent alone", i, what), lambda each=each: [pulled(*way) for way in each])
        if isinstance(ways, Note):
            yield ways
            continue
        gradient, seed, near = ways[1][0], other[1], 2.0 ** (-claim.arithmetic.storage.bits / 2)
        off = (abs(both - one - more) > near * abs(both).max() for one, more, both in zip(*ways, strict=True))
        if not gradient.any():
            yield Cause("cotangent dropped", i, what)
        elif what == "the sum" and not bool((gradient == seed).all()):
            factor = float((gradient * seed).sum() / (seed * seed).sum())
            yield Cause("cotangent changed", i, factor)
        elif wrong := [f"d/d{name}" for name, one in zip(given, off, strict=True) if one.any()]:
            yield Cause("cotangents together", " and ".join(wrong), i)


def of_no_rows(claim: Claim, x: np.ndarray) -> Iterator[Statement]:
    """Derivatives by parameters that are not 0 in a batch without rows, which a kernel may refuse."""
    with contextlib.suppress(Exception):
        found = derivatives(claim.kernel, x[:0], x[:0])
        yield from (Statement("by so", name, Statement("not 0")) for name, got in found.items() if got.any())


def of_infinite(claim: Claim, x: np.ndarray) -> Iterator[Statement]:
    """An infinite cotangent in one row that is lost there, so that a scaled loss looks finite, or reaches others."""
    seed, with_infinity = np.ones_like(x), np.ones_like(x)
    with_infinity[0, 0] = np.inf
    if not (claim.proof.derivatives and claim.proof.proves_backward):
        with contextlib.suppress(Exception):
            usual, got = (derivatives(claim.kernel, claim.stored(x), each)["x"] for each in (seed, with_infinity))
            near = 2.0 ** (-claim.arithmetic.storage.bits / 2) * abs(usual).max()
            if np.isfinite(got[0]).all():
                yield Statement("infinite lost")
            elif not (abs(got - usual)[1:] <= near).all():
                yield Statement("infinite elsewhere")


def _has_own(node: Any) -> bool:
    """Whether a backward pass that a program defines is in the graph of autograd below this node."""
    own = isinstance(node, importlib.import_module("torch").autograd.function.BackwardCFunction)
    return own or any(_has_own(one) for one, _ in getattr(node, "next_functions", ()))


def of_many_rows(claim: Claim, x: np.ndarray) -> Iterator[Statement]:
    """Sums over rows of which a backward pass of the program's own lacks half the digits of a half format.

    Their terms have one sign, so that a sum in 16 bits stops; that of PyTorch's own layer_norm on CPUs does too.
    """
    array, d = claim.kernel.array(x), 4 if claim.kernel.several else claim.kernel.d
    output: Any = claim.kernel.call(array.requires_grad_())  # pyright: ignore[reportAttributeAccessIssue]
    if d > _WIDEST or claim.kernel.form.interpreted or not _has_own(output.grad_fn):
        return
    half = claim if FORMATS[claim.kernel.dtype].bits < 24 else claim.like(dtype="bfloat16")
    rows = half.stored(np.sort(abs(np.random.default_rng(5).normal(size=(_MANY, d))), axis=-1))
    both = attempt("", lambda: [derivatives(one.kernel, rows, rows, ()) for one in (half, claim.like(dtype="float32"))])
    low, full = both if isinstance(both, list) else ({}, {})
    for name, right in full.items():
        near = 2.0 ** (-half.arithmetic.storage.bits / 2) * abs(right).max()
        if name != "x" and not (abs(low[name] - right) <= near).all():
            yield Statement("by many", name, _MANY, half.kernel.dtype)


def along(claim: Claim, x: np.ndarray) -> Iterator[Statement]:
    """A forward-mode derivative that differs within half the digits: no bounds are derived for its algorithms.

    The Jacobian before the gain is symmetric, so that it is a transposed one.
    """
    x, base = claim.stored(x), claim.base(x.shape[-1])
    moved = claim.stored(np.random.default_rng(3).normal(size=x.shape))
    got = attempt("", lambda: tangent(claim.kernel, x, moved))
    if isinstance(got, Note):  # a function with a backward pass of its own need not have one
        return
    low, high = Gradients.of(x, replace(base, gain=None, bias=None), claim.arithmetic).of_input(moved)
    right = (low + high) / 2 * (1 if base.gain is None else base.gain)
    if not (abs(got - right) <= 2.0 ** (-claim.arithmetic.storage.bits / 2) * abs(right).max()).all():
        yield Statement("tangent")


BESIDE = further, of_no_rows, of_infinite, along, of_many_rows
"""What is looked at where derivatives of the output are right."""
