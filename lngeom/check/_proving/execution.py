"""The code as it runs: held against the rounding of the traced operations, and at points where it is no definition."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from lngeom import prover
from lngeom.files import Json
from lngeom.prover import Formula
from lngeom.rounding import rounded

from .._tracing.grounds import FloatGround
from .._tracing.roles import GATES
from .._tracing.trace import Refusal
from .candidates import Candidate
from .path import Path, is_taken

_TRIALS = tuple((d, "bfloat16" if d in (3, 65) else "float32") for d in (1, 2, 3, 8, 65, 64, 2))
_ROWS = 2
_HIDDEN, _UNDERFLOW = 0.1, 2.0**-30
Point = dict[str, Fraction | np.ndarray]
"""Rational numbers, and vectors of numbers that floats hold exactly, by name."""

_TRIES, _EXACT = 12, 64
"""Points of each dimension, and the largest one at which fractions take no longer than floats."""


def drawn(path: Path, d: int, rng: np.random.Generator, scale: float = 1.0) -> dict[str, np.ndarray]:
    """Values by name: numbers of every format, arrays (n, d) where rows differ.

    Settings, such as ε, are `scale` times their own values.
    """
    literals = path.program.literals
    factors = {name: 1.0 if literals.is_constant(name) else scale for name in literals.values}
    values = {name: np.asarray(value * factors[name]) for name, value in literals.values.items()}
    for name, by_row in path.trace.symbols.vectors.items():
        if name == "x" or name in path.trace.calls.computed:
            continue
        signs = 1 if "var" in name else np.where(rng.random(d) < 0.3, -1, 1)
        values[name] = signs * rng.integers(72, 250, d) / 128
        if by_row:
            values[name] = rng.integers(-250, 250, d) / 64
    values |= path.program.front.held
    return values | {name: np.asarray(rng.integers(72, 250) / 128) for name in sorted(path.trace.symbols.numbers)}


def tells(value: np.ndarray, error: np.ndarray) -> bool:
    """Whether an execution says anything: rounding can hide a tenth of the largest component at most, somewhere.

    The bound of an output of exactly 0 is underflow, far below 2⁻³⁰ in float32 and bfloat16; one rounding of the
    numbers near 1 that are drawn is far above it.
    """
    return bool((error < _HIDDEN * (abs(value).max() + _UNDERFLOW)).any())


def differs(path: Path, definition: Candidate, sizes: Callable[[int], bool]) -> str | None:
    """Where the code that runs is further from the definition than the traced operations may be; None if nowhere.

    It runs in the dimensions in `sizes`. Rows and parameters are numbers of the format: only rounding may differ.
    """
    rng, told = np.random.default_rng(11), 0
    for scale, (d, dtype) in itertools.product(path.scales, list(_trials(path, sizes))):
        spread = rng.normal(size=(_ROWS, d)) * rng.uniform(0.3, 3, (_ROWS, 1)) + rng.normal(size=(_ROWS, 1))
        rows = rounded(spread, dtype).astype(float)
        values = drawn(path, d, rng, scale)
        by_row = [name for name in values if path.trace.symbols.vectors.get(name)]
        several = values | {name: np.tile(values[name], (_ROWS, 1)) for name in by_row} | {"x": rows}
        try:
            got, maps = path.program.run(several, d, dtype, path.axes)
        except Exception as error:
            if any(is_taken(trace, d) for trace, _ in path.raised):  # the trace refuses this dimension as well
                continue
            if dtype == path.dtype:
                return f"{type(error).__name__} at d = {d} in {dtype}: {' '.join(str(error).split())[:100]}"
            continue
        several |= dict(zip(path.trace.calls.maps, maps, strict=True))
        try:
            alone = [{n: v[k] if np.ndim(v) == 2 else v for n, v in several.items()} for k in range(_ROWS)]
            bounds = [_bound(path, definition, values, d, dtype) for values in alone]
        except Refusal:  # another branch, or another format's path
            continue
        for k, (value, error) in enumerate(bounds):
            off = abs(got[k] - value)
            if not (off <= error).all():
                i = int(np.argmax(off - error))
                return f"at d = {d} in {dtype} it gives {got[k, i]:.6g} for {value[i]:.6g} ± {error[i]:.2g}"
            told += tells(value, error)
    return None if told else "no execution tells"


def _trials(path: Path, sizes: Callable[[int], bool]) -> Iterator[tuple[int, str]]:
    formats = path.program.front.formats
    if path.program.size is not None:
        yield from ((path.program.size, dtype) for dtype in ("float32", "bfloat16", "float32") if dtype in formats)
        return
    varied = path.trace.symbols.integers or path.trace.decisions.sizes
    more = [(d, "float32") for d, _ in path.sizes()] if varied else []
    yield from (trial for trial in [*_TRIALS, *more] if sizes(trial[0]) and trial[1] in formats)


def _bound(
    path: Path, definition: Candidate, values: dict[str, np.ndarray], d: int, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """The definition's value for one row, and a bound on the error of the traced operations in a format."""
    ground = FloatGround(values, d, error=True)
    _, output = path.again(ground, dtype)
    exact = definition.value(ground)
    return np.broadcast_to(exact.value, (d,)), np.broadcast_to(output.value.error + exact.error, (d,))


def counterexample(path: Path, definition: Candidate) -> Json | None:
    """A point of smallest dimension at which the code that runs gives what was traced, and not the definition."""
    # No definition says which function of a gate is meant.
    if any(name.lower() in GATES for name in path.trace.symbols.vectors):
        return None
    rng = np.random.default_rng(5)
    near = path.trace.near if path.trace.decisions.sizes or path.trace.symbols.parts else []
    sizes = (1, 2, 3, *near) if path.program.size is None else (path.program.size,)
    for d in sizes:
        for _ in range(0 if any(is_taken(trace, d) for trace, _ in path.raised) else _TRIES):
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
        if name not in held and name not in path.trace.calls.kinds:
            low = 1 if "var" in name else -3
            values[name] = rng.integers(low, 5, d) / 2
    return values


def exactly(values: Point) -> dict[str, Fraction | tuple[Fraction, ...]]:
    """The same in fractions alone."""
    return {k: tuple(map(Fraction, v.tolist())) if isinstance(v, np.ndarray) else v for k, v in values.items()}


def _at(path: Path, definition: Candidate, values: Point, d: int) -> Json | None:
    """The point if the code gives there what was traced, and not the definition: both beyond the bound of rounding.

    The bound is that of the operations in the format of the path, and the code runs in float64 where it can.
    """
    floats = {name: np.array(value, dtype=float) for name, value in values.items()}
    rows = {name: value[None] if path.trace.symbols.vectors.get(name) else value for name, value in floats.items()}
    try:
        real, maps = path.program.run(rows, d, "float64", path.axes)
    except RuntimeError:  # it takes no float64
        real, maps = path.program.run(rows, d, "float32", path.axes)
    computed = {name: part[0] for name, part in zip(path.trace.calls.maps, maps, strict=True)}
    ground = FloatGround(floats | computed, d, error=True)
    with np.errstate(all="ignore"):
        traced, meant = path.again(ground)[1].value, definition.value(ground)
        code, off = (np.broadcast_to(part, (d,)) for part in (traced.value, traced.error))
        expected = np.broadcast_to(meant.value, (d,))
        if not (abs(code - expected) > off + meant.error).any() or not (abs(real[0] - code) <= off).all():
            return None
    if not path.trace.calls.opaque and d <= _EXACT:  # decided in fractions, which opaque functions do not have
        difference = path.output.value - definition.value(path.trace.ground)
        known = exactly(values)
        numbers = {name: value[0] if isinstance(value, tuple) else value for name, value in known.items()}
        if prover.holds(Formula(difference, "="), numbers if path.single else known, d, total=False) is not False:
            return None
    literals, symbols = path.program.literals, path.trace.symbols
    constants = {name for name in values if literals.is_constant(name) or name.startswith("mod")} | symbols.parts.keys()
    constants |= {name for name, block in symbols.blocks.items() if not block.shown}
    shown = {name: _text(value) for name, value in exactly(values).items() if name not in constants}
    rounded = {"code": code.round(6).tolist(), "expected": expected.round(6).tolist()}
    return {"d": d, "definition": definition.text, "values": shown, **rounded}


def _text(value: Fraction | tuple[Fraction, ...]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))})"
    return str(value) if value.denominator < 100 else f"{float(value):g}"
