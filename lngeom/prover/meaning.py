"""The meaning of terms: their value for given vectors and scalars of rational components, exact or enclosed."""

import functools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import add, mul
from typing import Any

from lngeom.carriers import Interval, UndecidedError, ends, stands

from .rules import Formula
from .terms import Term

__all__ = ["decided", "evaluate", "holds"]

Number = Fraction | Interval

Values = Mapping[str, Any]
"""A rational number for each scalar, a sequence of d of them for each vector, by name."""


def evaluate(t: Term, values: Values, dimension: int, *, total: bool = True) -> list[Number]:
    """The d components of a term in one model: exact fractions, or intervals around irrational square roots.

    `values` holds by name a rational number for each scalar of the term and `dimension` of them for each vector. Roots
    of negative numbers are 0; the inverse of 0 is 0 if `total`, as in the rules, and has no value otherwise, as in the
    library. Raises UndecidedError for an inverse that has no value, and for the inverse of an interval around 0;
    KeyError or IndexError where `values` lacks one.
    """
    components = _Meaning(values, dimension, total).of(t)
    return components * (dimension // len(components))


def holds(statement: Formula, values: Values, dimension: int, *, total: bool = True) -> bool | None:
    """Whether a formula is true in every component; None where the enclosure does not decide.

    True and False are certain. The arguments are as for :func:`evaluate`.
    """
    try:
        return decided(evaluate(statement.term, values, dimension, total=total), statement.relation)
    except UndecidedError:
        return None


def decided(values: Sequence[Number], relation: str) -> bool | None:
    """Whether all numbers stand in the relation to 0; None where an enclosure does not decide."""
    decisions = [stands(value, relation) for value in values]
    return False if False in decisions else None if None in decisions else True


def _inverse(value: Number, total: bool) -> Number:
    if not stands(value, "="):
        return 1 / value
    if not total:
        raise UndecidedError("1/0 has no value")
    return Fraction(0)


def _root(value: Number) -> Number:
    low, high = ends(value)
    result = Interval(max(low, Fraction(0)), max(high, Fraction(0))).sqrt()
    return result.lower if result.is_point else result


def _each(operation: Callable[..., Number], a: Sequence[Number], b: Sequence[Number]) -> Sequence[Number]:
    """The operation on vectors, or on a scalar and a vector, component by component."""
    if len(a) == len(b):
        return list(map(operation, a, b))
    return [operation(a[0], value) for value in b] if len(a) == 1 else [operation(value, b[0]) for value in a]


def _fraction(value: Fraction | float) -> Fraction:
    return value if type(value) is Fraction else Fraction(value)


class _Meaning:
    """Evaluation in one model; atoms are evaluated once. Vectors have d values and scalars one."""

    def __init__(self, values: Values, dimension: int, total: bool) -> None:
        self.values = values
        self.d = dimension
        self.total = total
        self.seen: dict[tuple, Sequence[Number]] = {}

    def of(self, t: Term) -> list[Number]:
        parts = [_each(mul, [c], self.monomial(m)) if c != 1 else self.monomial(m) for m, c in t]
        return list(functools.reduce(functools.partial(_each, add), parts)) if parts else [Fraction(0)]

    def monomial(self, monomial: tuple) -> list[Number]:
        columns = [
            self.atom(atom) if exponent == 1 else [value**exponent for value in self.atom(atom)]
            for atom, exponent in monomial
        ]
        return list(functools.reduce(functools.partial(_each, mul), columns)) if columns else [Fraction(1)]

    def atom(self, atom: tuple) -> Sequence[Number]:
        if atom not in self.seen:
            self.seen[atom] = self.compute(atom)
        return self.seen[atom]

    def compute(self, atom: tuple) -> Sequence[Number]:
        match atom[0]:
            case "d":
                return [Fraction(self.d)]
            case "v":
                return [_fraction(self.values[atom[1]][i]) for i in range(self.d)]
            case "s":
                return [_fraction(self.values[atom[1]])]
            case "S":
                return [sum(self.monomial(atom[1]), start=Fraction(0))]
            case "inv":
                return [_inverse(value, self.total) for value in self.of(Term(atom[1]))]
        return [_root(value) for value in self.of(Term(atom[1]))]
