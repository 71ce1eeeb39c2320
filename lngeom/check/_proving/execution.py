"""The real code, held against the rounding of the operations that were traced."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from lngeom.rounding import rounded

from .._tracing.grounds import FloatGround
from .._tracing.trace import Refusal
from .candidates import Candidate
from .path import Path, is_taken

_TRIALS = tuple((d, "bfloat16" if d in (3, 65) else "float32") for d in (1, 2, 3, 8, 65, 64, 2))
_ROWS = 2
_HIDDEN, _UNDERFLOW = 0.1, 2.0**-30


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
            if any(is_taken(trace, d) for trace in path.raised):
                continue
            if dtype == path.dtype:
                return f"{type(error).__name__} at d = {d} in {dtype}: {' '.join(str(error).split())[:100]}"
            continue
        several |= dict(zip(path.trace.calls.maps, maps, strict=True))
        try:
            alone = [
                {name: value[k] if np.ndim(value) == 2 else value for name, value in several.items()}
                for k in range(_ROWS)
            ]
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
