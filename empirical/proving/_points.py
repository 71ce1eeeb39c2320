"""Points at which a program is not a definition: exact, small, and executed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from lngeom import kernel
from lngeom.kernel import Formula
from lngeom.tracing import FloatGround, Refusal

from ._candidates import Candidate
from ._path import Path

_TRIES = 12


def counterexample(path: Path, definition: Candidate) -> dict[str, Any] | None:
    """A point of smallest dimension at which the code that runs gives what was traced, and not the definition."""
    rng = np.random.default_rng(5)
    sizes = (1, 2, 3) if path.program.size is None else (path.program.size,)
    for d in sizes:
        for _ in range(_TRIES):
            values = small_numbers(path, d, rng)
            try:
                found = _at(path, definition, values, d)
            except (Refusal, KeyError, IndexError):  # another branch, or a name that only the definition has
                continue
            if found is not None:
                return found
    return None


def small_numbers(path: Path, d: int, rng: np.random.Generator) -> dict[str, Any]:
    """Small rational numbers; constants that are written in the code, or in an object, are what they are."""
    literals = path.program.literals
    fixed = {name for name in literals.values if path.program.size is not None or literals.text(name) != name}
    values: dict[str, Any] = {
        name: Fraction(value) if name in fixed else Fraction(int(rng.integers(1, 4)), 3)
        for name, value in literals.values.items()
    }
    held = path.program.front.held
    values |= {name: tuple(map(Fraction, value.tolist())) for name, value in held.items()}
    for name in path.trace.vectors:
        if name not in held and not any(name == made for *_, made in path.trace.opaque):
            low = 1 if "var" in name else -3
            values[name] = tuple(Fraction(int(n), 2) for n in rng.integers(low, 5, d))
    return values


def _at(path: Path, definition: Candidate, values: dict[str, Any], d: int) -> dict[str, Any] | None:
    floats = {name: np.array(value, dtype=float) for name, value in values.items()}
    rows = {name: value[None] if path.trace.vectors.get(name) else value for name, value in floats.items()}
    real, maps = _run(path, rows, d)
    ground = FloatGround(floats | {name: one[0] for name, one in zip(path.trace.maps, maps, strict=True)}, d)
    with np.errstate(all="ignore"):
        _, output = path.again(ground)
        code = np.broadcast_to(output.value, (d,))
        expected = np.broadcast_to(definition.value(ground), (d,))
    if not np.isfinite([code, expected]).all() or np.allclose(code, expected, rtol=1e-4, atol=1e-4):
        return None
    if not path.trace.opaque:  # decided in fractions
        difference = path.output.value - definition.value(path.trace.ground)
        if kernel.holds(Formula(difference, "="), values, d, total=False) is not False:
            return None
    if not np.allclose(real[0], code, rtol=1e-4, atol=1e-4):
        return None
    constants = {name for name in values if path.program.literals.text(name) != name}
    shown = {name: _text(value) for name, value in values.items() if name not in constants}
    results = {"code": code.round(6).tolist(), "expected": expected.round(6).tolist()}
    return {"d": d, "definition": definition.text, "values": shown, **results}


def _run(path: Path, rows: dict[str, Any], d: int) -> Any:
    """The code as it runs, in float64 if it takes that."""
    try:
        return path.program.run(rows, d, "float64", path.axes)
    except RuntimeError:
        return path.program.run(rows, d, "float32", path.axes)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(value) if value.denominator < 100 else f"{float(value):g}"
