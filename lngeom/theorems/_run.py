"""Who answers the statements of a body: the one that lists them, exact numbers, or floats that know their error."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy

from ..carriers import Array, Carrier, Enclosure, Interval, Rounded
from ..prover import Formula, Recorded, Values, decided, evaluate, term
from ._asserts import unasked
from ._errors import BodyError, CheckError
from ._statement import Asker, Point, Statement, Variant, row
from ._value import Value


class Run(Asker):
    """One execution of a body. Whatever would be true in silence is found when it ends."""

    def execute(self, body: Callable[..., object], atoms: Mapping[str, Carrier]) -> None:
        """Run the body on carriers.

        Raises:
            BodyError: If it asserts nothing, compares what nobody asks for, or goes on where a statement failed.
        """
        try:
            with self.running():
                returned = body(**{name: Value(atom) for name, atom in atoms.items()})
        except AssertionError as error:
            if self.failed is None:
                raise BodyError(f"an assert is false that compares no values: {error}") from error
            raise
        if self.failed is not None:
            raise BodyError("the body goes on where a statement failed") from self.failed
        if returned is not None:
            raise BodyError(f"the body returns {returned}: write `assert` in place of `return`")
        if self.pending:
            left = ", ".join(map(str, self.pending.values()))
            raise BodyError(f"nothing asserts that {left}: assert each statement separately")
        if not self.asked:
            raise BodyError("the body asserts nothing")
        if line := unasked(body.__code__, self.lines):
            raise BodyError("this assert is never reached, or compares no values", line)


@dataclass(frozen=True)
class Condition:
    """A hypothesis: its readable form, its formula, the two sides, why the claim holds without it, and as written."""

    label: str
    formula: Formula
    left: Array
    relation: str
    right: Array
    redundant: str | None = None
    statement: Any = None


class Claim(NamedTuple):
    """What an assert compares, and its formula."""

    statement: Statement
    formula: Formula


@dataclass(frozen=True)
class Wrong:
    """A wrong variant: goals, hypotheses, the counterexample to show, and the comparisons that it claims."""

    label: str
    goals: tuple[Formula, ...]
    hypotheses: dict[str, Condition]
    at: Point | None = None
    statements: tuple[Statement, ...] = ()


class Listing(Run):
    """The hypotheses and assertions of a body, on any carrier; what was recorded has formulas on the prover's terms.

    `labels` names the hypotheses, in order, where the carriers are numbers, which carry no labels.
    """

    def __init__(self, labels: Iterable[str] = ()) -> None:
        super().__init__()
        self.labels = iter(labels)
        self.hypotheses: dict[str, Condition] = {}
        self.claims: list[Claim] = []
        self.variants: dict[str, Variant] = {}

    @property
    def statements(self) -> list[Statement]:
        """What the asserts compare."""
        return [claim.statement for claim in self.claims]

    def decide(self, statement: Statement) -> bool:
        """Every statement is listed, and taken for true until it is proved."""
        self.claims.append(Claim(statement, _formula(statement)))
        return True

    def condition(self, statement: object, label: str | None = None, redundant: str | None = None) -> Condition:
        """A condition as a hypothesis."""
        claim = self.taken(statement)
        left, right = stated_term(claim.left), stated_term(claim.right)
        return Condition(label or str(claim), _formula(claim), left, claim.relation, right, redundant, claim)

    def assume(self, condition: object, label: str | None, redundant: str | None) -> None:
        """A hypothesis under its readable form."""
        if self.claims:
            raise BodyError("a hypothesis comes after an assert, to which it does not apply: assume it before")
        hypothesis = self.condition(condition, next(self.labels, label), redundant)
        if hypothesis.label in self.hypotheses:
            raise BodyError(f"{hypothesis.label!r} is assumed twice")
        self.hypotheses[hypothesis.label] = hypothesis

    def wrong(self, variant: Variant) -> None:
        """A wrong variant, to be read when the body is done: its hypotheses may follow."""
        if variant.label in self.variants:
            raise BodyError(f"there are two wrong variants {variant.label!r}")
        if variant.statement is None and not (variant.instead or variant.given):
            raise BodyError(f"the wrong variant {variant.label!r} changes neither the statement nor a hypothesis")
        self.variants[variant.label] = variant

    def wrongs(self) -> dict[str, Wrong]:
        """The wrong variants, each with all its hypotheses."""
        return {label: self.variant(label) for label in self.variants}

    def variant(self, label: str) -> Wrong:
        """A wrong variant with all its hypotheses."""
        variant, claims = self.variants[label], self.statements
        with self.running():
            if variant.statement is not None:
                claims = [self.taken(variant.statement())]
            hypotheses = {condition.label: condition for condition in self._changed(variant)}
        if self.pending:
            raise BodyError(f"a wrong variant compares what it does not state: {next(iter(self.pending.values()))}")
        return Wrong(label, tuple(map(_formula, claims)), hypotheses, variant.at, tuple(claims))

    def _changed(self, variant: Variant) -> list[Condition]:
        instead = variant.instead
        unknown = sorted(set(instead) - set(self.hypotheses))
        if unknown:
            raise BodyError(f"the wrong variant {variant.label!r} replaces {unknown[0]!r}, which is not assumed")
        if variant.given is not None:
            labelled = [given if isinstance(given, tuple) else (None, given) for given in variant.given()]
            return [self.condition(statement, label) for label, statement in labelled]
        return [self.condition(instead[name]()) if name in instead else old for name, old in self.hypotheses.items()]


def stated_term(value: Array) -> Array:
    """The prover's term of a side."""
    return value.term if isinstance(value, Recorded) else value


def _formula(statement: Statement) -> Formula:
    difference = stated_term(statement.difference())
    return Formula(term(difference) if isinstance(difference, int | Fraction) else difference, statement.sign)


class Failing(Listing):
    """A body whose k-th assert fails, with the error that came of it."""

    def __init__(self, k: int, error: Exception) -> None:
        super().__init__()
        self.k, self.error = k, error

    def decide(self, statement: Statement) -> bool:
        """Every statement before is true."""
        if len(self.claims) == self.k:
            raise self.error
        return super().decide(statement)


class Exact(Run):
    """Exact numbers, and enclosures of irrational ones; an undecided statement counts as true."""

    def __init__(self, values: Values, d: int, goals: list[Formula] | None = None) -> None:
        super().__init__()
        self.values, self.d = values, d
        self.goals = goals
        self.count = 0

    def decide(self, statement: Statement) -> bool:
        """Whether a statement is not certainly false; the library is to compute what the prover's term says."""
        difference = statement.difference()
        numbers = list(difference) if isinstance(difference, Enclosure) else [Fraction(difference)]
        if self.goals is not None and self.count < len(self.goals):
            self._compare(numbers, self.goals[self.count])
        self.count += 1
        return decided(numbers, statement.sign) is not False

    def _compare(self, numbers: list[Fraction] | list[Interval], goal: Formula) -> None:
        meant = evaluate(goal.term, self.values, self.d)
        for k in range(max(len(numbers), len(meant))):
            if decided([numbers[k % len(numbers)] - meant[k % len(meant)]], "=") is False:
                raise CheckError(f"term and library differ in component {k} of the difference of the sides")


class Floats(Run):
    """Floats that know their error: what deviates by more than its bound is false."""

    def __init__(self) -> None:
        super().__init__()
        self.measured = 0
        self.sides: list[tuple[Rounded, Rounded]] = []

    def decide(self, statement: Statement) -> bool:
        """Whether a statement holds within the error bound."""
        left, right = (side if isinstance(side, Rounded) else Rounded.of(side) for side in statement.sides())
        difference = left - right
        self.sides.append((left, right))
        self.measured += bool(numpy.isfinite(difference.error).any())
        return not violated(difference.value, difference.error, statement.sign).any()


def violated(value: numpy.ndarray, error: numpy.ndarray, relation: str) -> numpy.ndarray:
    """In which components a number is further from its relation to 0 than its error allows."""
    excess = {"=": abs(value), "!=": numpy.zeros_like(value)}.get(relation, -value)
    with numpy.errstate(invalid="ignore"):
        return numpy.isfinite(error) & (excess > error)


def numbers_of(values: Values, d: int) -> str:
    """A model as failures print it."""

    def text(value: object) -> str:
        return row(list(map(str, value))) if isinstance(value, tuple | list) else str(value)

    return f"d = {d}: " + ", ".join(f"{name} = {text(value)}" for name, value in values.items())
