"""Points at which a program is not a definition: exact, small, and executed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lngeom import prover
from lngeom.files import Json
from lngeom.prover import Formula

from .._tracing.grounds import FloatGround
from .._tracing.trace import Refusal
from .candidates import Candidate
from .path import Path

Point = dict[str, Fraction | np.ndarray]
"""Rational numbers, and vectors of numbers that floats hold exactly, by name."""

_TRIES, _EXACT = 12, 64
"""Points of each dimension, and the largest one at which fractions take no longer than floats."""


def counterexample(path: Path, definition: Candidate) -> Json | None:
    """A point of smallest dimension at which the code that runs gives what was traced, and not the definition."""
    rng = np.random.default_rng(5)
    near = path.trace.near if path.trace.decisions.sizes or path.trace.symbols.parts else []
    sizes = (1, 2, 3, *near) if path.program.size is None else (path.program.size,)
    for d in sizes:
        for _ in range(_TRIES):
            values = small_numbers(path, d, rng)
            try:
                point = _at(path, definition, values, d)
            except (Refusal, KeyError, IndexError):  # another branch, or a name that only the definition has
                continue
            if point is not None:
                return point
    return None


def small_numbers(path: Path, d: int, rng: np.random.Generator) -> Point:
    """Small rational numbers; constants of the code, or of an object, keep their values."""
    literals = path.program.literals
    fixed = {name for name in literals.values if path.program.size is not None or literals.is_constant(name)}
    scale = Fraction(rng.choice(path.scales))
    values: Point = {
        name: Fraction(value) if name in fixed else Fraction(int(rng.integers(1, 4)), 3) * scale
        for name, value in literals.values.items()
    }
    values |= {name: Fraction(int(rng.integers(1, 8)), 4) for name in sorted(path.trace.symbols.numbers)}
    values |= {f"mod{n}": Fraction(d % n) for n in path.trace.symbols.integers}
    values |= {name: Fraction(block.at(d)) for name, block in path.trace.symbols.blocks.items()}
    values |= {name: at(d) for name, at in path.trace.symbols.parts.items()}
    held = path.program.front.held
    values |= held
    for name in path.trace.symbols.vectors:
        if name not in held and name not in path.trace.calls.results:
            low = 1 if "var" in name else -3
            values[name] = rng.integers(low, 5, d) / 2
    return values


def exactly(values: Point) -> dict[str, Fraction | tuple[Fraction, ...]]:
    """The same in fractions alone."""
    return {
        name: tuple(map(Fraction, value.tolist())) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def _at(path: Path, definition: Candidate, values: Point, d: int) -> Json | None:
    """The point if the code gives there what was traced, and not the definition: both beyond the bound of rounding.

    The bound is that of the operations in the format of the path, and the code runs in float64 where it can.
    """
    floats = {name: np.array(value, dtype=float) for name, value in values.items()}
    rows = {name: value[None] if path.trace.symbols.vectors.get(name) else value for name, value in floats.items()}
    real, maps = _run(path, rows, d)
    computed = {name: part[0] for name, part in zip(path.trace.calls.maps, maps, strict=True)}
    ground = FloatGround(floats | computed, d, error=True)
    with np.errstate(all="ignore"):
        traced, meant = path.again(ground)[1].value, definition.value(ground)
        code, off = (np.broadcast_to(part, (d,)) for part in (traced.value, traced.error))
        expected = np.broadcast_to(meant.value, (d,))
        if not (abs(code - expected) > off + meant.error).any() or not (abs(real[0] - code) <= off).all():
            return None
    if not path.trace.calls.opaque and d <= _EXACT:  # decided in fractions
        difference = path.output.value - definition.value(path.trace.ground)
        known = exactly(values)
        numbers = {name: value[0] if isinstance(value, tuple) else value for name, value in known.items()}
        if prover.holds(Formula(difference, "="), numbers if path.single else known, d, total=False) is not False:
            return None
    literals = path.program.literals
    constants = (
        {name for name in values if literals.is_constant(name) or name.startswith("mod")}
        | path.trace.symbols.parts.keys()
        | {name for name, block in path.trace.symbols.blocks.items() if not block.shown}
    )
    shown = {name: _text(value) for name, value in exactly(values).items() if name not in constants}
    rounded = {"code": code.round(6).tolist(), "expected": expected.round(6).tolist()}
    return {"d": d, "definition": definition.text, "values": shown, **rounded}


def _run(path: Path, rows: dict[str, np.ndarray], d: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The code as it runs, in float64 if it takes that."""
    try:
        return path.program.run(rows, d, "float64", path.axes)
    except RuntimeError:
        return path.program.run(rows, d, "float32", path.axes)


def _text(value: Fraction | tuple[Fraction, ...]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(value) if value.denominator < 100 else f"{float(value):g}"
