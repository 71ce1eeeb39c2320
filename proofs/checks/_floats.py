"""Theorems measured in floats: the deviation must stay within the derived error bound."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy

from lngeom.carriers import Rounded

from .._theorem import CheckError, Theorem, call
from ._models import DIMENSIONS, Values, accepted, satisfied

ROWS: dict[str, list[float]] = {
    "zero": [0.0, 0.0, 0.0],
    "constant": [14.1, 14.1, 14.1, 14.1],
    "one-hot": [0.0, 0.0, 1.0, 0.0, 0.0],
    "massive": [0.3, -0.2, 3.0e4, 0.1, -0.7, 0.2],
    "denormal": [5e-324, -2e-323, 1e-320],
    "huge": [1e150, -3e150, 2e149],
    "nearly constant": [1000.0, 1000.0000000000001, 999.9999999999999, 1000.0],
    "d = 1": [-2.5],
    "d = 2": [1.0, -3.0],
}
"""Vectors that break careless formulas."""

MEASURES = 30
"""Inputs that are measured, beside the special rows."""

_NUMBERS = (0.0, 1.0, -1.0, 1e-3, 1e4)
_SCALARS = (1e-12, 1e-5, 0.5, 1.0, 3.0, -2.0, 0.0)


def _number(random: Random) -> float:
    """Of order one, of any size from the subnormal to 10⁸, or special."""
    size = random.choice((8.0, 8.0, 10.0 ** random.uniform(-20, 8), 2.0**-1060))
    return random.choice((*_NUMBERS, size * random.uniform(-1, 1), size * random.uniform(-1, 1)))


def _inputs(theorem: Theorem) -> Iterator[tuple[Values, int]]:
    """Special rows for the first vector and plain values for the rest, then random ones; or draws of the sampler."""
    random = Random(theorem.id)  # evidence is the same on every run and machine
    vectors, scalars = theorem.vectors.split(), theorem.scalars.split()
    if theorem.model is not None:
        for _ in range(MEASURES):
            d = random.choice(DIMENSIONS)
            yield theorem.model(random, d), d
        return

    def exact(rows: list[list[float]], numbers: list[float]) -> tuple[Values, int]:
        values: Values = {name: tuple(map(Fraction, row)) for name, row in zip(vectors, rows, strict=True)}
        return values | dict(zip(scalars, map(Fraction, numbers), strict=True)), len(rows[0])

    for row in ROWS.values():
        plain = [[1.0 + k + i % 3 for i in range(len(row))] for k in range(len(vectors) - 1)]
        yield exact([row, *plain], [0.5 + k for k in range(len(scalars))])
    for _ in range(MEASURES):
        d = random.randint(1, 8)
        special = [[row[i % len(row)] for i in range(d)] for row in ROWS.values()]
        rows = [
            random.choice(special) if random.random() < 1 / 3 else [_number(random) for _ in range(d)] for _ in vectors
        ]
        yield exact(rows, [random.choice((*_SCALARS, random.uniform(-100, 100))) for _ in scalars])


def measure(theorem: Theorem) -> int:
    """Measure the claim at special rows and random floats, or at rounded exact models; returns how often."""
    assumed = list(theorem.assumed().values())
    inputs = ((accepted(values), d) for values, d in _inputs(theorem))
    count = sum(violation(theorem, values) for values, d in inputs if satisfied(assumed, values, d))
    if not count:
        raise CheckError(f"{theorem.id}: no floats satisfy the hypotheses with a finite error bound; give `model`")
    return count


def violation(theorem: Theorem, exact: Values) -> int:
    """Measure the claim for one input: 1 if some bound is finite, 0 if none is."""
    carriers = {name: Rounded.of(value) for name, value in exact.items()}
    measured = call(theorem.claim, carriers)
    if not isinstance(measured.term, Rounded):
        measured = measured._replace(term=Rounded.of(measured.term))
    value, error = measured.term.value, measured.term.error
    excess = {"=": abs(value), "!=": numpy.zeros_like(value)}.get(measured.relation, -value)
    wrong = numpy.isfinite(error) & (excess > error)
    if wrong.any():
        k = int(numpy.argmax(wrong))
        msg = (
            f"{theorem.id}: {value[k]!r} {measured.relation} 0 is violated by more than its error bound "
            f"{error[k]:.3e} at {exact}"
        )
        raise CheckError(msg)
    return int(numpy.isfinite(error).any())
