"""Small models, many at once: floats choose at which of them the exact search looks first, and decide nothing."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy

from ..prover import Formula, Term, Values, term
from ._body import VECTORS
from ._models import Plan

SMALL = (1, 2, 3)
"""Dimensions in which small models are tried; nearly all that is false of norms is false in one of them."""

LONG = (32, 128, 1024)
"""Dimensions in which all components of a vector but the first are equal: bounds on one of many fail there."""

_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, -2.0, 3.0)
"""Components, simplest first; floats hold them exactly."""

_SIZES = (*_NUMBERS, 2.0**-7, 2.0**7)
"""Scalars: ε is small or large, too."""

_MANY, _FEW, _LIKELY, _FINAL = 4096, 512, 40, 6
"""Models of a dimension, of a long one, and those that are looked at exactly, before and after they are bettered."""

POPULATION, ROUNDS, WIDER, _TINY = 384, 48, (5, 8, 13), 2.0**-40
"""Models of one dimension that are bettered, how often, in which dimensions beside the small ones, and the least part
of the size of its summands that makes a sum positive."""

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

    def relative(self, formula: Formula) -> numpy.ndarray:
        """By how much a formula is true in its worst component, as a part of the sizes of its summands; or below 0."""
        parts = [float(c) * self._monomial(monomial) for monomial, c in term(formula.term)]
        size = sum(map(abs, parts), start=numpy.zeros((1, 1)))
        value = sum(parts, start=numpy.zeros((1, 1))) / numpy.where(size > 0, size, 1.0)
        off = abs(value)
        true = {"=": _TINY - off, "!=": off - _TINY, ">": value - _TINY, ">=": value + _TINY}
        return numpy.broadcast_to(true[formula.relation].min(axis=-1), self.undefined.shape)

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
    drawn = _columns(plan, d)
    batch = _batch(plan, drawn, d)
    chosen = ~numpy.logical_and.reduce([batch.holds(goal) for goal in goals])
    if not total:
        chosen = chosen & ~batch.undefined
    for formula in given:
        chosen = chosen & batch.holds(formula)
    if dropped is not None:
        chosen = chosen & ~batch.holds(dropped)
    for place in numpy.flatnonzero(chosen)[:_LIKELY]:
        yield from _exact(plan, drawn, place, d)


def undefined(plan: Plan, d: int, given: Iterable[Formula], goals: Iterable[Formula]) -> Iterator[Values]:
    """Models that seem to satisfy `given`, at which it or a goal divides by 0; simplest first."""
    if set(plan.kinds) <= set(plan.defined):
        return
    drawn = _columns(plan, d)
    batch = _batch(plan, drawn, d)
    _ = [batch.holds(goal) for goal in goals]
    chosen = numpy.logical_and.reduce([batch.holds(formula) for formula in given] or [~batch.undefined | True])
    for place in numpy.flatnonzero(chosen & batch.undefined)[:_FINAL]:
        yield from _exact(plan, drawn, place, d)


def tight(plan: Plan, d: int, given: Sequence[Formula], goals: Sequence[Formula]) -> Iterator[Values]:
    """Models at which a goal seems to fail: many are bettered step by step, by how nearly they are counterexamples."""
    if set(plan.kinds) <= set(plan.defined):
        return
    choice = numpy.random.default_rng(d)
    drawn = {name: numpy.resize(values, (POPULATION, values.shape[1])) for name, values in _columns(plan, d).items()}
    drawn = _changed(plan, drawn, choice)
    fault, left = _judged(plan, drawn, d, given, goals)
    for _ in range(ROUNDS):
        trial = _changed(plan, drawn, choice)
        other, less = _judged(plan, trial, d, given, goals)
        better = (other < fault) | ((other == fault) & (less < left))
        drawn = {name: numpy.where(better[:, None], trial[name], values) for name, values in drawn.items()}
        fault, left = numpy.where(better, other, fault), numpy.where(better, less, left)
    worst = numpy.argsort(left + fault, kind="stable")
    places = [place for place in worst[:_FINAL] if fault[place] == 0 and left[place] < 0]
    for most in (1, 4, 16, 1000, 10**6):
        for place in places:
            yield from _exact(plan, drawn, place, d, most)


def _judged(
    plan: Plan, drawn: Columns, d: int, given: Sequence[Formula], goals: Sequence[Formula]
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Of each model how far it is from satisfying all that is given, and how far from failing a goal."""
    with numpy.errstate(all="ignore"):
        batch = _batch(plan, drawn, d)
        left = numpy.minimum.reduce([batch.relative(goal) for goal in goals])
        fault = sum((numpy.maximum(-batch.relative(f), 0.0) for f in given), start=numpy.zeros(len(left)))
    bad = batch.undefined | ~numpy.isfinite(left) | ~numpy.isfinite(fault)
    return numpy.where(bad, numpy.inf, fault), numpy.where(bad, numpy.inf, left)


def _changed(plan: Plan, drawn: Columns, choice: numpy.random.Generator) -> Columns:
    """Each model with about one parameter changed: scaled, moved, tied, turned round, or taken from another model."""
    changed = {}
    for name, values in drawn.items():
        count, width = values.shape
        one = choice.random((count, width)) < choice.choice([0.3, 1.0], (count, 1))
        if plan.kinds[name] in VECTORS[1:]:
            ways = [choice.permutation(values)]
        else:
            scale, step = 2.0 ** choice.integers(-6, 7, (count, 1)), 2.0 ** choice.integers(-8, 2, (count, 1))
            partner = choice.permutation(values)
            ways = [
                values * scale,
                numpy.where(one, values + step * choice.standard_normal((count, width)), values),
                numpy.where(one, values[:, choice.integers(0, width, width)], values),
                numpy.where(one, -values, values),
                numpy.where(one, 0.0, values),
                partner,
                numpy.repeat(partner[:, :1], width, axis=1),
            ]
            if name in plan.centred:
                ways = [way - way.mean(axis=1, keepdims=True) for way in ways]
            negative, positive = plan.relations[name][:1] == "<", plan.relations[name][:1] == ">"
            ways = [-abs(way) if negative else abs(way) if positive else way for way in ways]
        way = numpy.stack(ways)[choice.integers(0, len(ways), count), numpy.arange(count)]
        now = choice.random((count, 1)) < max(0.4, 1 / len(drawn))
        changed[name] = numpy.where(now, way, values)
    return changed


def _batch(plan: Plan, drawn: Columns, d: int) -> Batch:
    """The models with what their hypotheses define: lengths, then values."""
    columns = dict(drawn)
    batch = Batch(columns, d)
    for name, square in plan.spheres.items():
        row, length = columns[name], numpy.sqrt(abs(batch.of(square)))
        whole = (row * row).sum(axis=1, keepdims=True)
        turned = numpy.eye(d)[:1] - 2 * row[:, :1] * row / numpy.where(whole > 0, whole, 1.0)
        columns[name] = numpy.where(abs(whole - length**2) < _NOISE, row, length * turned)
    for name, value in plan.ordered():
        width = d if plan.kinds[name] in VECTORS else 1
        columns[name] = numpy.broadcast_to(batch.of(value), (len(batch.undefined), width))
    return batch


def _exact(plan: Plan, drawn: Columns, place: int, d: int, most: int | None = None) -> Iterator[Values]:
    """One model in exact numbers, with denominators up to `most`."""
    values = {}
    for name, rows in drawn.items():
        row = [Fraction(value) if most is None else Fraction(value).limit_denominator(most) for value in rows[place]]
        if name in plan.centred:
            row[-1] = -sum(row[:-1], Fraction(0))
        values[name] = tuple(row) if plan.kinds[name] in VECTORS else row[0]
    model = plan.completed(values, d)
    if model is not None:
        yield model


def _columns(plan: Plan, d: int) -> Columns:
    """Values of the parameters that nothing defines: all small ones, or many where there are too many."""
    if d in LONG:
        short = _columns(plan, 2)
        last = {name: values[:_FEW, -1:] * (plan.kinds[name] != "basis") for name, values in short.items()}
        return {name: values[:_FEW] if values.shape[1] == 1
                else numpy.concatenate([values[:_FEW], numpy.repeat(last[name], d - 2, axis=1)], axis=1)
                for name, values in short.items()}  # fmt: skip
    free = [name for name in plan.kinds if name not in plan.defined]
    widths = [d if plan.kinds[name] in ("vector", "mask") else 1 for name in free]
    choices = [_choice(plan, name, d) for name, width in zip(free, widths, strict=True) for _ in range(width)]
    places = _places(tuple(map(len, choices)))
    numbers = numpy.stack([numpy.array(choice)[places[:, k]] for k, choice in enumerate(choices)], axis=1)
    columns = dict(zip(free, numpy.split(numbers, numpy.cumsum(widths)[:-1], axis=1), strict=True))
    for name in free:
        if plan.kinds[name] == "basis":
            columns[name] = numpy.eye(d)[columns[name][:, 0].astype(int)]
    for name in plan.centred & set(free):  # the last component takes what the others leave
        others = columns[name][:, :-1]
        columns[name] = numpy.concatenate([others, -others.sum(axis=1, keepdims=True)], axis=1)
    return columns


def _choice(plan: Plan, name: str, d: int) -> list[float]:
    """The numbers that a component may be, or the places of a basis vector's 1."""
    match plan.kinds[name]:
        case "basis":
            return [float(k) for k in range(d)]
        case "mask":
            return [1.0, 0.0]
    return plan.chosen(name, _NUMBERS if plan.kinds[name] == "vector" else _SIZES)


@functools.cache
def _places(sizes: tuple[int, ...]) -> numpy.ndarray:
    """Which of its numbers each component takes, simplest first: all choices, or many where there are too many."""
    if math.prod(sizes) <= _MANY:
        places = numpy.indices(sizes).reshape(len(sizes), -1).T
    else:
        places = numpy.random.default_rng(0).geometric(0.4, (_MANY, len(sizes))) - 1
        places = numpy.unique(places[(places < sizes).all(axis=1)], axis=0)
    return places[numpy.argsort(places.sum(axis=1), kind="stable")]
