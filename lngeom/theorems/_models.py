"""Models of hypotheses, drawn by Hypothesis and built rather than filtered."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, reject, settings, strategies as st
from hypothesis.strategies import SearchStrategy

from .. import strategies
from ..carriers import Interval, UndecidedError
from ..prover import Formula, S, Term, atoms_of, decided, evaluate, holds, scalar, sqrt, term, vector
from ..rounding import FORMATS
from ._body import VECTORS, Models
from ._run import Condition, Values
from ._theorem import Theorem

Row = tuple[Fraction, ...]

DIMENSIONS = 6
"""The largest dimension of a model."""

ACCEPTED = 8
"""Models of its hypotheses that a theorem has to have among its examples."""

_LARGEST = FORMATS["float64"].largest

# Strategies are made once: to make one costs more than to draw from it.
_CENTRED, _VECTORS, _SCALARS = map(functools.cache, (strategies.centred, strategies.vectors, strategies.scalars))
_OWN = {"basis": functools.cache(strategies.one_hot), "mask": functools.cache(strategies.masks)}


# Beyond these sizes float64 and float32 rows are scaled, though their squares are still in range.
_UNITS = st.sampled_from([Fraction(2) ** k for k in (464, -464, 58, -58)])


@functools.cache
def _FAR(vectors: SearchStrategy[Row]) -> SearchStrategy[Row]:
    return st.tuples(vectors, _UNITS).map(lambda drawn: tuple(drawn[1] * value for value in drawn[0]))


@functools.cache
def _FLOATS(relation: strategies.Relation) -> SearchStrategy[Fraction]:
    return strategies.float_scalars(relation).map(Fraction)


@functools.cache
def _FLOAT_VECTORS(d: int, relation: strategies.Relation) -> SearchStrategy[Row]:
    return strategies.float_vectors(d, relation).map(lambda row: tuple(map(Fraction, row)))


class Plan:
    """How each parameter is drawn by the hypotheses: from a set of numbers, or by a definition."""

    def __init__(self, kinds: Mapping[str, str], hypotheses: Iterable[Condition]) -> None:
        self.atoms = {name: vector(name) if kind in VECTORS else scalar(name) for name, kind in kinds.items()}
        self.kinds = kinds
        self.relations = {name: ">=" if kind == "epsilon" else "" for name, kind in kinds.items()}
        self.centred: set[str] = set()
        self.defined: dict[str, Term] = {}
        self.bounds: dict[Formula, tuple[str, int]] = {}
        self.spheres: dict[str, Term] = {}
        for condition in hypotheses:
            self._read(condition)

    def _read(self, condition: Condition) -> None:
        t, relation = term(condition.formula.term), condition.formula.relation
        for name, atom in self.atoms.items():
            if relation == "=" and self.kinds[name] == "vector" and t == S(atom):
                self.centred.add(name)
            elif relation == "=" and (square := self._sphere(name, t)) is not None:
                self.spheres[name] = square
            elif relation != "=" and len(t) == 1 and t in (atom, -atom):
                # A second relation is left to chance: a number that is not 0 and at least 0 is positive.
                sign_of_atom = {">": "<", ">=": "<="}.get(relation, relation) if t != atom else relation
                self.relations[name] = ">" if {sign_of_atom, self.relations[name]} == {"!=", ">="} else sign_of_atom
            elif relation == "=" and isinstance(condition.left, Term) and condition.left == atom:
                self._define(name, term(condition.right))
            elif relation in (">", ">=") and self.kinds[name] == "scalar":
                for sign in (1, -1):
                    if name not in self._names(t - sign * atom):
                        self.bounds[Formula(t, relation)] = name, sign

    def _sphere(self, name: str, t: Term) -> Term | None:
        """The square of the length that t = 0 gives a vector, without the vector itself."""
        square = S(self.atoms[name] * self.atoms[name])
        length = sqrt(square)
        given = [square - t, square + t, (length - t) * (length - t), (length + t) * (length + t)]
        plain = self.kinds[name] == "vector" and name not in self.spheres
        return next((s for s in given if plain and not self._names(s) & {name, *self.defined}), None)

    def _define(self, name: str, value: Term) -> None:
        """Have a parameter computed from others, none of which is computed from it."""
        reached = self._names(value)
        while extra := {n for other in reached & set(self.defined) for n in self._names(self.defined[other])} - reached:
            reached |= extra
        if name not in reached and name not in self.defined:
            self.defined[name] = value

    def _names(self, value: Term) -> set[str]:
        return {atom[1] for atom in atoms_of([value]) if atom[0] in ("v", "s")} & set(self.kinds)

    def exact(self, name: str, d: int) -> SearchStrategy:
        """Exact numbers for one parameter."""
        if name in self.centred:
            return _CENTRED(d)
        if self.kinds[name] in _OWN:
            return _OWN[self.kinds[name]](d)
        return _VECTORS(d, self.relations[name]) if self.kinds[name] == "vector" else _SCALARS(self.relations[name])

    def far(self, name: str, d: int) -> SearchStrategy:
        """Exact numbers, vectors in a unit so large or small that the library scales them."""
        exact = self.exact(name, d)
        return _FAR(exact) if self.kinds[name] == "vector" else exact

    def floats(self, name: str, d: int) -> SearchStrategy:
        """Floats of any size for one parameter, as the fractions that they are."""
        relation = self.relations[name]
        if self.kinds[name] in _OWN:
            return self.exact(name, d)
        return _FLOAT_VECTORS(d, relation) if self.kinds[name] == "vector" else _FLOATS(relation)

    def chosen(self, name: str, numbers: Iterable[float]) -> list[float]:
        """Those of the numbers that a component may be; of a centred vector any."""
        relation = "" if name in self.centred else self.relations[name]
        return [number for number in numbers if strategies.stands(number, relation)]

    def ordered(self) -> Iterator[tuple[str, Term]]:
        """The defined names, each after the names in its definition."""
        known = set(self.kinds) - set(self.defined)
        while waiting := [name for name in self.defined if name not in known]:
            name = next(candidate for candidate in waiting if self._names(self.defined[candidate]) <= known)
            known.add(name)
            yield name, self.defined[name]

    @property
    def free(self) -> bool:
        """Whether any floats will do: nothing is fixed by an equation."""
        return not (self.defined or self.centred or self.spheres)

    def draw(
        self, draw: st.DrawFn, d: int, models: Models | None = None, kind: str = "exact", redrawn: bool = False
    ) -> Values:
        """Values of all parameters; with `redrawn`, one value that `models` gives is drawn freely instead."""
        given = _drawn(draw, _made(models, d)) if models else {}
        values = {name: _drawn(draw, value) for name, value in given.items()}
        values = {name: fractions(value) for name, value in values.items() if name in self.kinds}
        if redrawn and values:
            values.pop(draw(st.sampled_from(sorted(values))))
        for name in self.kinds:
            if name not in values and name not in self.defined:
                values[name] = draw(getattr(self, kind)(name, d))
        completed = self.completed(values, d)
        return reject() if completed is None else self._within(completed, d)

    def _within(self, values: Values, d: int) -> Values:
        """The values, each scalar reflected at a bound that it is beyond."""
        moved: dict[str, Fraction] = {}
        for bound, (name, sign) in self.bounds.items():
            try:
                seen = evaluate(bound.term, {**values, **moved}, d)
            except UndecidedError:
                continue
            if decided(seen, bound.relation) is False:
                step = -2 * min(value.lower if isinstance(value, Interval) else value for value in seen) or 1
                rational = all(isinstance(value, Fraction) for value in seen)
                there = {**values, **moved}[name] + sign * (step if rational else math.ceil(step))
                moved[name] = max(-_LARGEST, min(there, _LARGEST))
        return (self.completed({**values, **moved}, d, anew=True) if moved else None) or values

    def completed(self, values: Values, d: int, *, anew: bool = False) -> Values | None:
        """The values with the defined ones added, replaced if `anew`; None where one is irrational."""
        known = {name: value for name, value in values.items() if not (anew and name in self.defined)}
        for name, square in self.spheres.items():
            if (point := _on_sphere(known[name], square, known, d)) is None:
                return None
            known[name] = point
        for name, value in self.ordered():
            if name in known:
                continue
            try:
                components = evaluate(value, known, d)
            except UndecidedError:
                return None
            if not all(isinstance(number, Fraction) for number in components):
                return None
            known[name] = tuple(components) if self.kinds[name] in VECTORS else components[0]
        return {name: known[name] for name in self.kinds}


def _on_sphere(row: Row, square: Term, known: Values, d: int) -> Row | None:
    """The row if it has this square, else the first axis or 1, as long as this, reflected by it; None if irrational."""
    wanted, *_ = evaluate(square, known, d)
    total = sum(value * value for value in row)
    if not isinstance(wanted, Fraction) or total == wanted:
        return row if isinstance(wanted, Fraction) else None
    axes = ((Interval(wanted / size).sqrt(), size) for size in (1, d) if wanted >= 0)
    found = next(((length.lower, size) for length, size in axes if length.is_point), None)
    if found is None:
        return None
    base = tuple(found[0] * (k < found[1]) for k in range(d))
    return strategies.reflected(base, row) if total else base


@functools.lru_cache(1024)
def _made(models: Models, d: int) -> object:
    return models(d)


def _drawn(draw: st.DrawFn, value: Any) -> Any:
    return draw(value) if isinstance(value, SearchStrategy) else value


def fractions(value: Any) -> Fraction | Row:
    """Numbers as fractions."""
    return tuple(map(Fraction, value)) if isinstance(value, tuple | list) else Fraction(value)


def satisfied(conditions: Iterable[Condition], values: Values, d: int) -> bool:
    """Whether all hypotheses are certainly true."""
    return all(holds(condition.formula, values, d) is True for condition in conditions)


@functools.lru_cache
def plan_of(theorem: Theorem) -> Plan:
    """How examples of a theorem are drawn."""
    return Plan(theorem.kinds, theorem.conditions.values())


ANY_DIMENSION, CHANCE = strategies.dimensions(1, DIMENSIONS), st.integers(0, 9)


@st.composite
def examples(
    draw: st.DrawFn, theorem: Theorem, dimensions: SearchStrategy[int] = ANY_DIMENSION
) -> tuple[int, Values, Values]:
    """A dimension, an exact model, and a model in floats: an exact one where the hypotheses leave no choice."""
    plan, d = plan_of(theorem), draw(dimensions)
    exact = plan.draw(draw, d, theorem.models)
    if theorem.models is not None or not plan.free:
        return d, exact, exact
    return d, exact, plan.draw(draw, d, kind=draw(st.sampled_from(("floats", "far"))))


def searching(count: int) -> settings:
    """Settings of a check, which counts itself how many examples it accepts: the same in every run."""
    return settings(
        derandomize=True,
        database=None,
        max_examples=count,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        phases=set(Phase) - {Phase.explain},
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
