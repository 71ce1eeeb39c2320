"""Exact models: rational vectors and scalars that satisfy hypotheses, or all of them but one."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from lngeom.kernel import Formula, holds

DIMENSIONS = (1, 2, 3, 4, 5, 6)

Values = dict[str, Any]


def _mixed(random: Random, d: int) -> list[int]:
    return [random.randint(-3, 3) for _ in range(d)]


def _coordinate(random: Random, d: int) -> list[int]:
    return [int(i == k) for k in [random.randrange(d)] for i in range(d)]


def _alternating(random: Random, d: int) -> list[int]:
    return [(-1) ** i * (i < d - d % 2) for i in range(d)]


def _repeated(random: Random, d: int) -> list[int]:
    few = [random.randint(-2, 2) for _ in range(2)]
    return [random.choice(few) for _ in range(d)]


def _constant(random: Random, d: int) -> list[int]:
    return [random.randint(-2, 2)] * d


def _with_zeros(random: Random, d: int) -> list[int]:
    return [random.choice((0, 0, 1, 2, -1)) for _ in range(d)]


def _nonzero(random: Random, d: int) -> list[int]:
    return [random.choice((-2, -1, 1, 2, 3)) for _ in range(d)]


def _massive(random: Random, d: int) -> list[int]:
    return [1000 if i == 0 else random.randint(-1, 1) for i in range(d)]


PATTERNS: tuple[Callable[[Random, int], list[int]], ...] = (
    _mixed,
    _mixed,
    _coordinate,
    _alternating,
    _repeated,
    _constant,
    _with_zeros,
    _nonzero,
    _massive,
)
SCALARS = tuple(Fraction(*pair) for pair in ((-2, 1), (-1, 1), (-1, 2), (0, 1), (1, 3), (1, 2), (1, 1), (2, 1), (3, 1)))


def draw_vector(random: Random, d: int) -> tuple[Fraction, ...]:
    """Vector of small fractions: all signs, zeros, equal components, one-hot, constant and massive ones."""
    scale = random.choice((Fraction(1), Fraction(1), Fraction(1, 2), Fraction(2, 3)))
    return tuple(scale * value for value in random.choice(PATTERNS)(random, d))


def draw_scalar(random: Random) -> Fraction:
    """Small fraction of any sign, or 0."""
    return random.choice(SCALARS)


def draw(vectors: Sequence[str], scalars: Sequence[str], random: Random, d: int) -> Values:
    """Independent values for all names."""
    values: Values = {name: draw_vector(random, d) for name in vectors}
    return accepted(values | {name: draw_scalar(random) for name in scalars})


def accepted(values: Values) -> Values:
    """The values with ``eps`` not below 0: the library takes no other."""
    return values | {"eps": abs(values["eps"])} if "eps" in values else values


def search(
    sample: Callable[[Random, int], Values],
    wanted: Callable[[Values, int], bool],
    *,
    seed: str,
    tries: int,
    dimensions: Sequence[int] = DIMENSIONS,
) -> Iterator[tuple[int, Values]]:
    """Samples in all dimensions, small ones first and each equally often, that are wanted."""
    random = Random(seed)
    for attempt in range(tries):
        d = dimensions[attempt % len(dimensions)]
        values = sample(random, d)
        if wanted(values, d):
            yield d, values


def satisfied(formulas: Sequence[Formula], values: Values, d: int) -> bool:
    """Whether all formulas are certainly true."""
    return all(holds(formula, values, d) is True for formula in formulas)


def refuted(formula: Formula, values: Values, d: int) -> bool:
    """Whether the formula is certainly false."""
    return holds(formula, values, d) is False
