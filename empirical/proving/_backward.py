"""Backward passes: what a kernel gives for its derivatives is the derivative of its own forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lngeom import kernel
from lngeom.kernel import Formula, ProofError, Proved, Recorded, Table
from lngeom.tracing import FEATURE, Arr, DualGround, FloatGround, Ground, RecordedGround, Trace, given

from ._path import Path

_ALONG, _COTANGENT = "t", "v"


@dataclass(frozen=True)
class Derivative:
    """What is known of one derivative of a kernel.

    Attributes:
        name: The parameter by which it is.
        status: ``proved``, ``refuted`` or ``not traced``.
        text: For which rows, or the reason.
        certificate: S(dx·t) = S(v·Df(x)·t), for all x, v and t.
    """

    name: str
    status: str
    text: str
    certificate: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"d/d{self.name} {self.status}" + (f", {self.text}" if self.text else "")


def derivatives(path: Path) -> list[Derivative]:
    """The derivatives that the backward pass of a program gives, each against that of its forward pass.

    For all cotangents v and all t, S(dx·t) = S(v·Df(x)·t), which determines dx. A derivative by a parameter is a sum
    over rows: what is summed obeys the identity for one arbitrary row, and all axes that number rows are summed once.

    Raises:
        Refusal: The program has no backward pass of its own, or one that is not traced.
    """
    rows = frozenset(label for dim in path.axes for label in dim if label != FEATURE)
    trace, gradients = _gradients(path, Ground())
    undefined = _undefined(path, trace)
    found = []
    for name, gradient in gradients.items():
        if gradient is None:
            continue
        wanted = frozenset() if path.trace.vectors[name] else rows
        axes = path.axes if path.trace.vectors[name] else ((FEATURE,),)
        if (gradient.summed, gradient.axes) != (wanted, axes):
            summed = " and ".join(sorted(gradient.summed)) or "nothing"
            found.append(Derivative(name, "refuted", f"it has the axes {gradient.axes}, summed over {summed}"))
        elif undefined:
            found.append(Derivative(name, "not traced", f"it is not proved that {undefined}"))
        else:
            found.append(_decided(path, name))
    return found


def _undefined(path: Path, trace: Trace) -> str:
    """What has to hold for a backward pass to be defined and is not proved."""
    for value, relation in trace.obligations:
        goal = Formula(kernel.term(value), relation)
        try:
            kernel.prove(goal, *path.facts)
        except ProofError:
            return kernel.formula(goal)
    return ""


def _gradients(path: Path, ground: Ground) -> tuple[Trace, dict[str, Arr | None]]:
    """The derivatives on a carrier, by the names of what they are derivatives by."""
    trace, _ = path.again(ground)
    v = given(trace, _COTANGENT, path.axes, path.dtype)
    pairs = path.program.front.gradients(trace, v)
    if trace.refusals:
        trace.refuse(trace.refusals[0])
    if not path.differentiated:  # the run on terms comes first, and tells what is what
        atoms = {kernel.vector(name): name for name in path.trace.vectors}
        if not all(array.value in atoms for array, _ in pairs):
            trace.refuse("its backward pass is that of a part of it")
        path.differentiated = [atoms[array.value] for array, _ in pairs]
    return trace, dict(zip(path.differentiated, (by for _, by in pairs), strict=True))


def _sides(path: Path, name: str, ground: Ground) -> tuple[Any, Any]:
    """S(dx·t) and S(v·Df(x)·t)."""
    _, gradients = _gradients(path, ground)
    gradient = gradients[name]
    assert gradient is not None
    _, moved = path.again(DualGround(ground, name, _ALONG))
    t, v = ground.vector(_ALONG), ground.vector(_COTANGENT)
    return kernel.dot(gradient.value, t), kernel.dot(v, moved.value.tangent)


def _decided(path: Path, name: str) -> Derivative:
    left, right = _sides(path, name, Ground())
    try:
        theorem = kernel.prove(kernel.equal(left, right), *path.facts)
    except ProofError:
        point = _point(path, name)
        return Derivative(name, "refuted", point) if point else Derivative(name, "not traced", "no proof was found")
    wrong = _executed(path, name)
    if wrong:
        return Derivative(name, "not traced", wrong)
    return Derivative(name, "proved", "", _certificate(path, name, theorem))


def _certificate(path: Path, name: str, theorem: Proved) -> dict[str, Any]:
    raw, table = Table(), Table()
    left, right = _sides(path, name, RecordedGround(raw))
    difference: Recorded = left - right
    conclusion = [table.taken(raw, difference.place), "="]
    hypotheses = sorted(kernel.recorded_formula(one, table) for one in theorem.hypotheses)
    return kernel.certified(f"user.{path.program.name}_by_{name}", theorem, (hypotheses, conclusion), table)


def _values(path: Path, d: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(d)
    for _ in range(3):
        names = [*path.trace.vectors, _ALONG, _COTANGENT]
        yield dict(path.program.literals.values) | {name: rng.integers(-8, 9, d) / 4 + 0.125 for name in names}


def _point(path: Path, name: str) -> str:
    """Where the two sides differ, in floats."""
    for d in (1, 2, 3) if path.program.size is None else (path.program.size,):
        for values in _values(path, d):
            left, right = _sides(path, name, FloatGround(values, d))
            if not np.allclose(left, right, rtol=1e-6, atol=1e-6) and not _executed(path, name):
                shown = ", ".join(f"{key} = {values[key].tolist()}" for key in path.trace.vectors)
                return (
                    f"d = {d}: {shown}: {float(left[0]):.6g} for {float(right[0]):.6g} along t = {values['t'].tolist()}"
                )
    return ""


def _executed(path: Path, name: str) -> str:
    """Where the backward pass that runs is not the one that was traced, in float64; nothing if nowhere."""
    for d in (1, 2, 5) if path.program.size is None else (path.program.size,):
        for values in _values(path, d):
            real = path.program.differentiated(values, d, path.axes, name, _COTANGENT)
            traced = _gradients(path, FloatGround(values, d))[1][name]
            assert traced is not None
            if not np.allclose(real, traced.value, rtol=1e-9, atol=1e-9):
                return (
                    f"the backward pass that runs is not the one that was traced: at d = {d} it gives {real.tolist()}"
                )
    return ""
