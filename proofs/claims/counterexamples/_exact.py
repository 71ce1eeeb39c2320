"""Exact linear algebra on small matrices: what the counterexamples need beside the functions of the library."""

from collections.abc import Callable
from fractions import Fraction

from lngeom.carriers import Enclosure
from lngeom.errors import InputError
from lngeom.prover import dot, norm

Operator = Callable[[Enclosure], Enclosure]


def basis(d: int) -> list[Enclosure]:
    """The coordinate vectors of R^d."""
    return [Enclosure([Fraction(i == k) for i in range(d)]) for k in range(d)]


def exact(vector: Enclosure) -> list[Fraction]:
    """The components of an exactly known vector."""
    if not vector.is_exact:
        raise InputError(f"{vector!r} is not exactly known: choose an example without irrational roots")
    return [entry.lower for entry in vector]


def rank(operator: Operator, d: int) -> int:
    """Rank of a linear operator on R^d whose matrix is rational, by elimination."""
    rows, found = [exact(operator(e)) for e in basis(d)], 0
    for column in range(d):
        if pivot := next((row for row in rows if row[column]), None):
            rows = [[a - row[column] / pivot[column] * b for a, b in zip(row, pivot, strict=True)] for row in rows]
            found += 1
    return found


def cosine(x: Enclosure, y: Enclosure) -> Enclosure:
    """Cosine of the angle between two vectors."""
    return dot(x, y) / (norm(x) * norm(y))
