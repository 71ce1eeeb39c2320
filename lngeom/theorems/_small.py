"""Small models, many at once: floats choose at which of them the exact search looks first, and decide nothing."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import numpy

from ..prover import Formula, Term, Values, term
from ._models import Plan

SMALL = (1, 2, 3)
"""Dimensions in which small models are tried; nearly all that is false of norms is false in one of them."""

_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 3.0)
"""Components, simplest first; floats hold them exactly."""

_MANY, _LIKELY = 4096, 40
"""Models of one dimension, and those that are looked at exactly."""

_NOISE = 2.0**-30
"""Smaller numbers count as 0: exact values here are larger, and rounding errors are smaller."""

Columns = Mapping[str, numpy.ndarray]
"""Values of many models: an array (models, d) for a vector and (models, 1) for a scalar, by name."""


class Batch:
    """Terms at many models of one dimension, with 1/0 = 0, and at which of them something was divided by 0."""

    def __init__(self, columns: Columns, d: int) -> None:
        self.columns, self.d = columns, d
        self.known: dict[tuple, numpy.ndarray] = {}
        self.undefined = numpy.zeros(len(next(iter(columns.values()))), dtype=bool)

    def of(self, t: Term) -> numpy.ndarray:
        """The components of a term."""
        return sum((float(c) * self._monomial(monomial) for monomial, c in t), start=numpy.zeros((1, 1)))

    def holds(self, formula: Formula) -> numpy.ndarray:
        """At which models a formula seems to be true in every component."""
        value = self.of(term(formula.term))
        true = {"=": abs(value) < _NOISE, "!=": abs(value) >= _NOISE, ">": value >= _NOISE, ">=": value > -_NOISE}
        return numpy.broadcast_to(true[formula.relation].all(axis=-1), self.undefined.shape)

    def _monomial(self, monomial: tuple) -> numpy.ndarray:
        return math.prod((self._atom(atom) ** k for atom, k in monomial), start=numpy.ones((1, 1)))

    def _atom(self, atom: tuple) -> numpy.ndarray:
        if atom not in self.known:
            self.known[atom] = self._value(atom)
        return self.known[atom]

    def _value(self, atom: tuple) -> numpy.ndarray:
        kind, *inside = atom
        if kind == "d":
            return numpy.full((1, 1), float(self.d))
        if kind in ("v", "s"):
            return self.columns[inside[0]]
        if kind == "S":
            return self._monomial(inside[0]).sum(axis=-1, keepdims=True)
        value = self.of(Term(inside[0]))
        zero = abs(value) < _NOISE
        if kind == "sqrt":
            return numpy.sqrt(numpy.where(zero | (value < 0), 0.0, value))
        self.undefined = self.undefined | zero.any(axis=-1)
        return numpy.where(zero, 0.0, 1 / numpy.where(zero, 1.0, value))


def likely(
    plan: Plan, d: int, given: Iterable[Formula], goals: Iterable[Formula], dropped: Formula | None, *, total: bool
) -> Iterator[Values]:
    """Models that seem to satisfy `given`, but not all goals and not `dropped`; simplest first."""
    if set(plan.kinds) <= set(plan.defined):  # nothing to choose
        return
    columns = _columns(plan, d)
    batch = Batch(columns, d)
    for name, value in plan.ordered():
        columns[name] = batch.of(value)
    chosen = ~numpy.logical_and.reduce([batch.holds(goal) for goal in goals])
    if not total:
        chosen = chosen & ~batch.undefined
    for formula in given:
        chosen = chosen & batch.holds(formula)
    if dropped is not None:
        chosen = chosen & ~batch.holds(dropped)
    free = [name for name in plan.kinds if name not in plan.defined]
    for place in numpy.flatnonzero(chosen)[:_LIKELY]:
        rows = {name: tuple(map(Fraction, columns[name][place].tolist())) for name in free}
        model = plan.completed({n: row if plan.kinds[n] == "vector" else row[0] for n, row in rows.items()}, d)
        if model is not None:
            yield model


def _columns(plan: Plan, d: int) -> dict[str, numpy.ndarray]:
    """Values of the parameters that nothing defines: all small ones, or many where there are too many."""
    free = [name for name in plan.kinds if name not in plan.defined]
    widths = [d if plan.kinds[name] == "vector" else 1 for name in free]
    choices = [plan.chosen(name, _NUMBERS) for name, width in zip(free, widths, strict=True) for _ in range(width)]
    places = _places(tuple(map(len, choices)))
    numbers = numpy.stack([numpy.array(choice)[places[:, k]] for k, choice in enumerate(choices)], axis=1)
    ends = numpy.cumsum(widths)[:-1]
    columns = dict(zip(free, numpy.split(numbers, ends, axis=1), strict=True))
    for name in plan.centred & set(free):  # the last component takes what the others leave
        columns[name] = numpy.concatenate(
            [columns[name][:, :-1], -columns[name][:, :-1].sum(axis=1, keepdims=True)], axis=1
        )
    return columns


@functools.cache
def _places(sizes: tuple[int, ...]) -> numpy.ndarray:
    """Which of its numbers each component takes, simplest first: all choices, or many where there are too many."""
    if math.prod(sizes) <= _MANY:
        places = numpy.indices(sizes).reshape(len(sizes), -1).T
    else:
        places = numpy.random.default_rng(0).geometric(0.4, (_MANY, len(sizes))) - 1
        places = numpy.unique(places[(places < sizes).all(axis=1)], axis=0)
    return places[numpy.argsort(places.sum(axis=1), kind="stable")]
