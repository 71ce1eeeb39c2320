"""Exact linear algebra on small matrices: what the counterexamples need beside the functions of the library."""

from collections.abc import Callable
from fractions import Fraction

from lngeom.carriers import Enclosure
from lngeom.errors import InputError
from lngeom.kernel import dot, norm

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
    """Rank of a linear operator on R^d whose matrix is rational."""
    rows = [exact(operator(e)) for e in basis(d)]
    rank_so_far = 0
    for column in range(d):
        pivot = next((row for row in rows[rank_so_far:] if row[column]), None)
        if pivot is None:
            continue
        rows.remove(pivot)
        rows.insert(rank_so_far, pivot)
        for row in rows[rank_so_far + 1 :]:
            factor = row[column] / pivot[column]
            row[:] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
        rank_so_far += 1
    return rank_so_far


def off(normal: Enclosure) -> Operator:
    """The orthogonal projection off a vector."""
    return lambda v: v - dot(v, normal) / dot(normal, normal) * normal


def cosine(x: Enclosure, y: Enclosure) -> Enclosure:
    """Cosine of the angle between two vectors."""
    return dot(x, y) / (norm(x) * norm(y))
