"""Counterexamples: the simplest of the small models, or what Hypothesis finds and shrinks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import Phase, errors, find, settings, strategies as st

from ..prover import Formula, holds, term
from ._body import VECTORS, Models
from ._errors import CheckError
from ._models import ANY_DIMENSION, CHANCE, Plan, fractions, plan_of, satisfied, searching
from ._run import Condition, Values, Wrong, numbers_of
from ._small import LONG, SMALL, WIDER, likely, tight, undefined
from ._statement import Point
from ._theorem import Theorem

TRIES, TRIES_SMALLER, TRIES_REDUNDANT = 2000, 60, 25
"""Models that Hypothesis draws in search of a counterexample; of one in each smaller dimension; and of one that a
reason says there is not."""


@dataclass(frozen=True)
class Refutation:
    """Dimension, vectors and scalars at which a statement is certainly false, or at which the library has no number."""

    dimension: int
    values: Values
    undefined: bool = False

    def __str__(self) -> str:
        shown = numbers_of(self.values, self.dimension)
        return shown + (", where the library divides by 0" if self.undefined else "")


@dataclass(frozen=True)
class Search:
    """The search for a model of a variant's hypotheses at which a goal is false, and the dropped hypothesis too.

    Attributes:
        kinds: Of each parameter.
        given: Models where a counterexample is looked for, beside models drawn freely.
        variant, dropped: The statement to refute, and a hypothesis that must be false.
    """

    kinds: Mapping[str, str]
    variant: Wrong
    given: tuple[Models, ...] = ()
    dropped: Formula | None = None

    def smallest(self, *, total: bool, tries: int) -> Refutation | None:
        """A counterexample; `total` allows one at which the library divides by 0, if there is no other."""
        # Of a claim that is said to hold any counterexample is a fault, so that one look is enough.
        looks = (False, True) if total and tries == TRIES else (total,)
        model = next(filter(None, (self.small(total=look) for look in looks)), None)
        if model is None:
            model = self._drawn(ANY_DIMENSION, tries, total=total)
            # Hypothesis shrinks values, and seldom the dimension.
            below = range(1, model[0] if model else 1)
            smaller = (self._drawn(st.just(d), TRIES_SMALLER, total=total) for d in below)
            model = next(filter(None, smaller), model)
        if model is None and self.dropped is None and tries == TRIES:
            model = self.tight()
        if model is None:
            return None
        d, values = model
        return Refutation(d, values, undefined=not self._refuted(d, values, total=False))

    def _refuted(self, d: int, values: Values, *, total: bool) -> bool:
        """Whether these values are certainly a counterexample."""
        return (
            satisfied(self.variant.hypotheses.values(), values, d)
            and (self.dropped is None or holds(self.dropped, values, d) is False)
            and any(holds(goal, values, d, total=total) is False for goal in self.variant.goals)
        )

    def said(self, at: Point) -> Refutation:
        """The counterexample at a point; what it does not name is 0."""
        d = max((len(value) for value in at.values() if isinstance(value, Sequence)), default=1)
        zeros = {name: (0,) * d if kind in VECTORS else 0 for name, kind in self.kinds.items()}
        values = {name: fractions(value) for name, value in (zeros | dict(at)).items()}
        if values.keys() != self.kinds.keys() or not self._refuted(d, values, total=False):
            raise CheckError(f"{numbers_of(values, d)} is not a counterexample to {self.variant.label!r}: give another")
        return Refutation(d, values)

    def small(self, *, total: bool, dimensions: Sequence[int] = SMALL) -> tuple[int, Values] | None:
        """The first of the small models that is a counterexample."""
        plan = Plan(self.kinds, self.variant.hypotheses.values())
        given = [condition.formula for condition in self.variant.hypotheses.values()]
        for d in dimensions:
            for values in likely(plan, d, given, self.variant.goals, self.dropped, total=total):
                if self._refuted(d, values, total=total):
                    return d, values
        return None

    def tight(self) -> tuple[int, Values] | None:
        """A counterexample among models that are bettered, where nothing is divided by 0."""
        plan = Plan(self.kinds, self.variant.hypotheses.values())
        given = [condition.formula for condition in self.variant.hypotheses.values()]
        for d in (*SMALL, *WIDER):
            for values in tight(plan, d, given, self.variant.goals):
                if self._refuted(d, values, total=False):
                    return d, values
        return self.small(total=False, dimensions=LONG)

    def _drawn(self, dimensions: st.SearchStrategy[int], tries: int, *, total: bool) -> tuple[int, Values] | None:
        plan = Plan(self.kinds, self.variant.hypotheses.values())

        @st.composite
        def models(draw: st.DrawFn) -> tuple[int, Values]:
            d = draw(dimensions)
            if not self.given or draw(CHANCE) >= 7:
                return d, plan.draw(draw, d)
            return d, plan.draw(draw, d, draw(st.sampled_from(self.given)), redrawn=draw(CHANCE) >= 6)

        def wanted(model: tuple[int, Values]) -> bool:
            return self._refuted(*model, total=total)

        phases = (Phase.generate, Phase.shrink)
        try:
            return find(models(), wanted, settings=settings(searching(tries), phases=phases))
        except errors.NoSuchExample:
            return None


def _search(theorem: Theorem, variant: Wrong, models: Models | None = None, dropped: Formula | None = None) -> Search:
    given = tuple(each for each in (models, theorem.models) if each is not None)
    return Search(theorem.kinds, variant, given, dropped)


def smallest_model(theorem: Theorem) -> tuple[int, Values] | None:
    """The first of the small models at which the claim itself is false."""
    return Search(theorem.kinds, Wrong("", tuple(theorem.goals), theorem.conditions)).small(total=True)


def small_models(theorem: Theorem) -> Iterator[tuple[int, Values]]:
    """Small models of the hypotheses, which fixed points and other equations have where chance finds none."""
    assumed, plan = theorem.conditions.values(), plan_of(theorem)
    given = [condition.formula for condition in assumed]
    for d in SMALL:
        for values in likely(plan, d, given, [Formula(term(0), ">")], None, total=False):
            if satisfied(assumed, values, d):
                yield d, values


def undefined_at(theorem: Theorem) -> Refutation | None:
    """A small model of the hypotheses at which an assert divides by 0, and is true where 1/0 is read as 0.

    Or any, where each of them has a hypothesis divide by 0.
    """
    assumed = [*(condition.formula for condition in theorem.hypotheses.values()), *theorem.implied]
    for d in SMALL:
        for values in undefined(plan_of(theorem), d, assumed, theorem.goals):
            divided = any(holds(g, values, d, total=False) is None and holds(g, values, d) for g in theorem.goals)
            if all(holds(formula, values, d) for formula in assumed) and (divided or not _defined(theorem, assumed)):
                return Refutation(d, values, undefined=True)
    return None


def _defined(theorem: Theorem, assumed: list[Formula]) -> bool:
    """Whether the hypotheses have a small model at which none of them divides by 0."""
    return any(all(holds(f, values, d, total=False) for f in assumed) for d, values in small_models(theorem))


def refute_wrong(theorem: Theorem, label: str) -> Refutation:
    """A wrong variant has an exact counterexample, at which nothing is divided by 0: the one that it says, if it does.

    Raises:
        CheckError: If none is found, or if the one that it says is none.
    """
    variant = theorem.wrongs[label]
    search = _search(theorem, variant)
    refutation = search.said(variant.at) if variant.at else search.smallest(total=False, tries=TRIES)
    if refutation is None:
        raise CheckError(f"{theorem.id}: no counterexample to the wrong variant {label!r} in {TRIES} models")
    return refutation


def check_without(theorem: Theorem, label: str) -> Refutation | str:
    """A hypothesis is necessary, by a counterexample without it, or redundant, for the reason given.

    Raises:
        CheckError: If it is neither, or if it is said to be redundant and is not.
    """
    dropped: Condition = theorem.hypotheses[label]
    rest = {name: condition for name, condition in theorem.conditions.items() if name != label}
    search = _search(theorem, Wrong(label, tuple(theorem.goals), rest), theorem.without.get(label), dropped.formula)
    refutation = search.smallest(total=True, tries=TRIES if dropped.redundant is None else TRIES_REDUNDANT)
    if dropped.redundant is not None:
        if refutation is not None:
            raise CheckError(f"{theorem.id}: {label!r} is not redundant: without it the claim is false at {refutation}")
        return dropped.redundant
    if refutation is None:
        raise CheckError(
            f"{theorem.id}: no counterexample without {label!r} (1/0 is 0 for the prover); give models of one, "
            "`without`, or say why it may stay: assume(..., redundant='reason')"
        )
    return refutation
