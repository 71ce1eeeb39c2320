"""Hypothesis strategies for the inputs of norm layers, which meet their conditions by construction, without filters.

Exact vectors are tuples of small fractions, float vectors tuples of numbers of one format. Both are made of the same
kinds; in floats these come in units from the smallest subnormal number to the largest. Needs ``hypothesis``.

>>> from lngeom.strategies import float_vectors
>>> from hypothesis import given
>>> import numpy as np, lngeom as lg
>>> @given(float_vectors(8))
... def test_rows_are_centred(x):
...     y = lg.standardize(np.array(x), eps=1e-5)
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from .rounding import FORMATS

__all__ = [
    "centred",
    "dimensions",
    "float_scalars",
    "float_vectors",
    "isometries",
    "masks",
    "one_hot",
    "rational_root",
    "scalars",
    "standard",
    "vectors",
]

Relation = Literal["", ">", ">=", "<", "<=", "!="]
Dtype = Literal["float64", "float32", "bfloat16", "float16"]
Number = Fraction | float
V = TypeVar("V")
N = TypeVar("N", int, float, Fraction)
Vector = tuple[Fraction, ...]
Floats = tuple[float, ...]

_SMALL = st.sampled_from((0, 1, -1, 2, -2, 3, -3))
_STEPS = st.sampled_from((0, 1, -1, 2))
_EXACT_LARGE = 1000


def dimensions(least: int = 1, most: int = 6) -> SearchStrategy[int]:
    """Dimensions d, small ones first when Hypothesis shrinks."""
    return st.integers(least, most)


# ------------------------------------------------------------------------------------------------ exact


def scalars(relation: Relation = "") -> SearchStrategy[Fraction]:
    """Small fractions that stand in `relation` to 0; without one, of any sign or 0."""
    values = [Fraction(*pair) for pair in ((1, 1), (2, 1), (3, 1), (1, 2), (1, 3))]
    signed = [value for size in values for value in (size, -size)]
    return st.sampled_from([value for value in (Fraction(0), *signed) if stands(value, relation)])


def vectors(d: int, relation: Relation = "") -> SearchStrategy[Vector]:
    """Vectors of d small fractions of all kinds, each of them in `relation` to 0.

    A relation comes last: the absolute values of a centred vector are not centred.
    """
    scales = st.sampled_from((Fraction(1), Fraction(1), Fraction(1, 2), Fraction(2, 3)))
    return st.builds(lambda row, scale: _related([scale * v for v in row], relation), _rows(d), scales)


def one_hot(d: int) -> SearchStrategy[Vector]:
    """The coordinate vectors."""
    return st.integers(0, d - 1).map(lambda k: tuple(Fraction(i == k) for i in range(d)))


def masks(d: int) -> SearchStrategy[Vector]:
    """Vectors of zeros and ones."""
    return _lists(st.sampled_from((0, 1)), d).map(lambda values: tuple(map(Fraction, values)))


def centred(d: int) -> SearchStrategy[Vector]:
    """Vectors orthogonal to 1: differences of neighbours around a circle."""
    return vectors(d).map(_around)


def standard(d: int) -> SearchStrategy[Vector]:
    """Vectors of mean 0 and variance 1 of two levels, and images of them.

    k components are √((d − k)/k), the others −√(k/(d − k)). For d = 1, 3, 7 and every other d in which no k makes these
    rational, nothing can be drawn.
    """
    levels = [k for k in range(1, d) if math.isqrt(k * (d - k)) ** 2 == k * (d - k)]
    if not levels:
        return st.nothing()

    def two_levels(k: int) -> Vector:
        high = Fraction(math.isqrt(k * (d - k)), k)
        return (high,) * k + (-1 / high,) * (d - k)

    return st.builds(lambda move, k: move(two_levels(k)), isometries(d, fix_mean=True), st.sampled_from(levels))


def isometries(d: int, *, fix_mean: bool = False) -> SearchStrategy[Callable[[Vector], Vector]]:
    """Linear maps that keep all inner products: permutations, changes of sign, reflections; or those that fix 1."""
    signs = st.just([1] * d) if fix_mean else _lists(st.sampled_from((1, -1)), d)
    mirrors = centred(d) if fix_mean else vectors(d)

    def build(order: list[int], sign: list[int], mirror: Vector | None) -> Callable[[Vector], Vector]:
        def move(x: Vector) -> Vector:
            moved = tuple(sign[i] * x[i] for i in order)
            return moved if mirror is None or not any(mirror) else reflected(moved, mirror)

        return move

    return st.builds(build, st.permutations(range(d)), signs, st.none() | mirrors)


def rational_root(
    x: Sequence[Fraction], relation: Literal[">", ">="] = ">=", *, centered: bool = False
) -> SearchStrategy[Fraction]:
    """Values ε > 0 or ε ≥ 0 for which √(‖x‖²/d + ε), or centered √(σ² + ε), is rational."""
    mean = sum(x, Fraction(0)) / len(x) if centered else 0
    square = sum(((value - mean) ** 2 for value in x), Fraction(0)) / len(x)
    above = math.isqrt(math.floor(square)) + 1
    roots = [Fraction(above), Fraction(above + 1), above + Fraction(1, 2)]
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if relation == ">=" and exact**2 == square:
        roots.insert(0, exact)
    return st.sampled_from([root**2 - square for root in roots])


# ------------------------------------------------------------------------------------------------ floats


def float_scalars(relation: Relation = "", dtype: Dtype = "float64") -> SearchStrategy[float]:
    """Numbers of the format that stand in `relation` to 0: whole, small, of any size."""
    largest = float(FORMATS[dtype].largest)
    plain = st.sampled_from((0.0, 1.0, -1.0, 0.5, 3.0, -2.0, 1e-3, 1e-5, 1e-12, 1e4))
    free = st.floats(-largest, largest)
    return (plain | st.floats(-100, 100) | free).map(lambda value: _related([_rounded(value, dtype)], relation)[0])


def float_vectors(d: int, relation: Relation = "", dtype: Dtype = "float64") -> SearchStrategy[Floats]:
    """Vectors of d numbers of the format, each in `relation` to 0.

    Every kind in units of order one, subnormal, small and so large that squares or sums leave the range. Nearly
    constant vectors differ in the last bit, and beside a massive component the others are lost to rounding.
    """
    format = FORMATS[dtype]
    smallest = Fraction(2) ** (format.low + 1 - format.bits)
    units = [Fraction(1), Fraction(0.1), smallest, format.tiny, Fraction(2) ** (format.high // 2), format.largest / 4]
    rows = _rows(d, 2 ** (format.bits - 1))
    scaled = st.builds(lambda row, unit: [unit * v for v in row], rows, st.sampled_from(units))
    drawn = scaled | _lists(st.floats(-8, 8), d) | _lists(float_scalars("", dtype), d)
    return drawn.map(lambda row: _related([_rounded(value, dtype) for value in row], relation))


# ------------------------------------------------------------------------------------------------ parts


def _lists(entries: SearchStrategy[V], d: int) -> SearchStrategy[list[V]]:
    return st.lists(entries, min_size=d, max_size=d)


def _rows(d: int, large: int = _EXACT_LARGE) -> SearchStrategy[Sequence[int]]:
    """Rows of d integers; `large` is the size of massive components and of nearly constant rows."""
    return st.one_of(
        _lists(_SMALL, d),
        _SMALL.map(lambda value: [value] * d),
        st.integers(0, d - 1).map(lambda k: [int(i == k) for i in range(d)]),
        _lists(st.sampled_from((0, 0, 1, 2, -1)), d),
        st.tuples(_SMALL, _SMALL).flatmap(lambda two: _lists(st.sampled_from(two), d)),
        st.just([(-1) ** i * (i < d - d % 2) for i in range(d)]),
        _lists(_SMALL, d).map(_around),
        _lists(_STEPS, d).map(lambda row: [large, *row[1:]]),
        _lists(_STEPS, d).map(lambda row: [large + value for value in row]),
    )


def _around(x: Sequence[N]) -> tuple[N, ...]:
    return tuple(a - b for a, b in zip(x, (*x[1:], x[0]), strict=True))


def reflected(x: Vector, mirror: Vector) -> Vector:
    """X − 2w(w·x)/(w·w): orthogonal, and fixes every vector orthogonal to w."""
    along = Fraction(2) * sum(a * b for a, b in zip(mirror, x, strict=True)) / sum(a * a for a in mirror)
    return tuple(a - along * b for a, b in zip(x, mirror, strict=True))


def stands(value: Number, relation: str) -> bool:
    return {"": True, ">": value > 0, ">=": value >= 0, "<": value < 0, "<=": value <= 0, "!=": value != 0}[relation]


def _related(values: Sequence[N], relation: Relation) -> tuple[N, ...]:
    """The values with their sign changed, or 1 in place of 0, where the relation asks for it."""
    return tuple(_turned(value, relation) for value in values)


def _turned(value: N, relation: Relation) -> N:
    if stands(value, relation):
        return value
    turned = -value or type(value)(1)
    return turned if stands(turned, relation) else -turned


def _rounded(value: Number, dtype: Dtype) -> float:
    """The nearest number of the format, at most its largest in size."""
    format = FORMATS[dtype]
    near = min(max(Fraction(value), -format.largest), format.largest)
    exponent = math.frexp(near)[1] if near else 0
    unit = Fraction(2) ** (max(exponent - 1, format.low) + 1 - format.bits)
    return float(round(near / unit) * unit)
