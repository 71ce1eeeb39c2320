"""What autograd gives beside the derivatives of the output: of further outputs, of no rows, and in forward mode."""

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import Gradients
from lngeom.sentences import Cause, Statement

from .._calls.derivatives import derivatives, tangent
from .._calls.fused import Fused
from .._trials.claim import Claim
from .._trials.trial import Note, attempt
from .._trials.unexamined import statistic


def further(claim: Claim, x: np.ndarray) -> Iterator[Cause]:
    """What is wrong with d/dx through each further output from which autograd of PyTorch goes back.

    The cotangent of the sum passes unchanged, without rounding; that of a statistic is seen only where it is dropped.
    """
    torch, kernel, x = importlib.import_module("torch"), claim.kernel, claim.stored(x)
    array: Any = kernel.array(x)
    leaf, fused = array.requires_grad_(), kernel.form.target
    output: Any = kernel.whole(leaf)
    outputs = [output, fused.total] if isinstance(fused, Fused) else output if isinstance(output, tuple) else [output]
    for i, values in enumerate(outputs[1:], start=2):
        if not getattr(values, "requires_grad", False):
            continue
        read = np.asarray(kernel.framework.read(values.detach()))
        what = "the sum" if isinstance(fused, Fused) else statistic(claim, x, read) or "no statistic"
        seed = torch.as_tensor(np.random.default_rng(i).integers(-8, 9, values.shape) / 4 + 0.125).to(values)
        gradient = torch.autograd.grad(values, leaf, seed, retain_graph=True, allow_unused=True)[0]
        if gradient is None or not gradient.any():
            yield Cause("cotangent dropped", i, what)
        elif what == "the sum" and not bool((gradient == seed).all()):
            factor = float((gradient * seed).sum() / (seed * seed).sum())
            yield Cause("cotangent changed", i, factor)


def of_no_rows(claim: Claim, x: np.ndarray) -> Iterator[Statement]:
    """Derivatives by parameters that are not 0 in a batch without rows, which a kernel may refuse."""
    with contextlib.suppress(Exception):
        found = derivatives(claim.kernel, x[:0], x[:0])
        yield from (Statement("by so", name, Statement("not 0")) for name, got in found.items() if got.any())


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
