"""Worked examples: the library's functions run on exact numbers, and statements about them that are certain.

A :class:`WorkedExample` is the blackboard of a counterexample: values are given, quantities are computed by the
functions of :mod:`lngeom` on :class:`~lngeom.carriers.Enclosure`, and each statement is decided by intervals that
contain the exact numbers. A premise that is not certainly true and a claim that is not certainly false raise, so
a counterexample that can be shown is a proof. Only the corrected statement may be an equality of irrational
numbers, which no interval decides: there agreement to 30 digits is shown, which is no proof.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple, TypeVar

from lngeom.carriers import Enclosure, Interval, UndecidedError, stands
from lngeom.errors import InputError
from lngeom.prover import decided, text, vector
from lngeom.theorems import CheckError

from .._registry import find

Number = int | Fraction | Interval | Enclosure
Known = TypeVar("Known", bound=Number)
Relation = Literal["=", "≠", "<", "≤", ">", "≥"]

AGREEMENT = Fraction(1, 2**100)
"""Enclosures of two equal irrational numbers overlap and are narrower than this, relative to their size."""


class Line(NamedTuple):
    """A line on the blackboard: its kind, a name or a statement, and the numbers."""

    kind: Literal["let", "find", "given", "claimed", "true"]
    says: str
    numbers: str


@dataclass
class WorkedExample:
    """A worked example, line by line."""

    lines: list[Line] = field(default_factory=list)

    def vector(self, name: str, *values: int | Fraction) -> Enclosure:
        """A given vector."""
        vector = Enclosure([Fraction(value) for value in values])
        self.lines.append(Line("let", name, show(vector)))
        return vector

    def scalar(self, name: str, value: int | Fraction) -> Fraction:
        """A given number."""
        self.lines.append(Line("let", name, show(value)))
        return Fraction(value)

    def find(self, name: str, value: Known) -> Known:
        """A computed vector or number."""
        self.lines.append(Line("find", name, show(value)))
        return value

    def undefined(self, name: str, compute: Callable[[], Number]) -> None:
        """A quantity without a value: it divides by 0, or by an interval that contains 0."""
        try:
            value = compute()
        except UndecidedError:
            self.lines.append(Line("claimed", f"{name} exists", "division by 0"))
            return
        raise CheckError(f"{name} has a value: {show(value)}")

    def given(self, says: str, a: Number, relation: Relation, b: Number = 0) -> None:
        """A premise: certainly true here, in every component (``≠``: in one)."""
        self._state("given", says, a, relation, b)

    def claimed(self, says: str, a: Number, relation: Relation, b: Number = 0) -> None:
        """The claim, or what follows from it: certainly false here."""
        self._state("claimed", says, a, relation, b)

    def true(self, says: str, a: Number, relation: Relation, b: Number = 0) -> None:
        """States the true fact: certainly true, or equal to 30 digits where irrational numbers are compared."""
        self._state("true", says, a, relation, b)

    def _state(
        self, kind: Literal["given", "claimed", "true"], says: str, a: Number, relation: Relation, b: Number
    ) -> None:
        holds = decide(a, relation, b)
        if holds is None and kind == "true" and relation in "=≤≥" and agree(a, b):
            holds = True
        wanted = kind != "claimed"
        if holds is not wanted:
            verdict = "undecided" if holds is None else str(holds).lower()
            raise CheckError(f"{says!r} is {verdict} at {show(a)} {relation} {show(b)}, and not {str(wanted).lower()}")
        # Of vectors only some components may fail: the sign is then crossed out instead of turned round.
        failing = _CROSSED if max(len(numbers(a)), len(numbers(b))) > 1 else _NEGATED
        self.lines.append(Line(kind, says, f"{show(a)} {relation if holds else failing[relation]} {show(b)}"))

    @property
    def refuted(self) -> list[Line]:
        """The claims that fail."""
        return [line for line in self.lines if line.kind == "claimed"]

    @property
    def premises(self) -> list[Line]:
        """The premises, which hold."""
        return [line for line in self.lines if line.kind == "given"]


class Counterexample(NamedTuple):
    """An example that refutes a claim, or shows that it needs one of its hypotheses, or does not follow."""

    name: str
    tell: Callable[[], str]
    build: Callable[[WorkedExample], None]

    @property
    def says(self) -> str:
        """What the example says."""
        return self.tell()

    def work(self) -> WorkedExample:
        """The example on a new :class:`WorkedExample`; one that refutes nothing raises."""
        case = self.show()
        if not case.refuted:
            raise CheckError(f"counterexample {self.name} refutes nothing")
        return case

    def show(self) -> WorkedExample:
        """The example on a new :class:`WorkedExample`, where it need refute nothing: numbers that are worked out."""
        case = WorkedExample()
        self.build(case)
        return case


def counterexample(build: Callable[[WorkedExample], None]) -> Counterexample:
    """The counterexample that a function builds: its name is the function's, what it says the docstring."""
    return Counterexample(build.__name__, lambda: " ".join((build.__doc__ or "").split()), build)


def of_wrong(name: str) -> Counterexample:
    """The counterexample to a wrong variant of a theorem, ``ID/LABEL``, and what the theorem says there."""
    id, _, label = name.partition("/")

    def build(case: WorkedExample) -> None:
        from lngeom.theorems.checks import refute_wrong  # loads Hypothesis

        theorem = find(id)
        if label not in theorem.wrongs:
            raise InputError(f"{id} has no wrong variant {label!r}, but {'; '.join(theorem.wrongs)}")
        wrong, values = theorem.wrongs[label], refute_wrong(theorem, label).values
        for given in wrong.at or values:
            told, value = text(vector(given)).replace("\u20d7", ""), values[given]  # without the arrow of a vector
            _ = case.vector(told, *value) if isinstance(value, tuple) else case.scalar(told, value)
        carriers = {name: Enclosure(v if isinstance(v, tuple) else [v]) for name, v in values.items()}
        listing = theorem.listed(lambda name, _: carriers[name], theorem.hypotheses)
        variant = listing.variant(label)
        for says, premise in zip(wrong.hypotheses, variant.hypotheses.values(), strict=True):
            case.given(says, premise.left, _RELATIONS[premise.relation], premise.right)
        for claim in variant.statements:
            if decide(claim.left, _RELATIONS[claim.relation], claim.right) is False:
                case.claimed(label, claim.left, _RELATIONS[claim.relation], claim.right)
        if wrong.hypotheses.keys() == theorem.hypotheses.keys():
            for k, claim in enumerate(listing.statements):
                case.true("" if k else theorem.statement, claim.left, _RELATIONS[claim.relation], claim.right)

    return Counterexample(name, lambda: f"{find(id).title}; but not: {label}.", build)


_RELATIONS: dict[str, Relation] = {"==": "=", "!=": "≠", "<": "<", "<=": "≤", ">": ">", ">=": "≥"}


def numbers(value: Number) -> list[Interval]:
    """The components of a vector or a number as intervals."""
    if isinstance(value, Enclosure):
        return list(value)
    return [value if isinstance(value, Interval) else Interval(Fraction(value))]


def _pairs(a: Number, b: Number) -> list[tuple[Interval, Interval]]:
    left, right = numbers(a), numbers(b)
    length = max(len(left), len(right))
    return list(zip(*(side * length if len(side) == 1 else side for side in (left, right)), strict=True))


_SIGNS: dict[Relation, str] = {"=": "=", "<": ">", "≤": ">=", ">": ">", "≥": ">="}
"""The relation to 0 of the difference of the sides, the one said to be larger first."""
_NEGATED: dict[Relation, Relation] = {"=": "≠", "≠": "=", "<": "≥", "≤": ">", ">": "≤", "≥": "<"}
_CROSSED = _NEGATED | {"<": "≮", "≤": "≰", ">": "≯", "≥": "≱"}


def decide(a: Number, relation: Relation, b: Number) -> bool | None:
    """Whether a REL b, for numbers or in every component (``≠``: in one of them); None if not certain."""
    if relation == "≠":
        equal = decide(a, "=", b)
        return None if equal is None else not equal
    larger, smaller = (b, a) if relation in ("<", "≤") else (a, b)
    return decided([p - q for p, q in _pairs(larger, smaller)], _SIGNS[relation])


def agree(a: Number, b: Number) -> bool:
    """Whether narrow enclosures overlap in every component, as they must where the numbers are equal."""
    return all(
        stands(p - q, "=") is not False and (p - q).width <= AGREEMENT * max(p.magnitude, q.magnitude, Fraction(1))
        for p, q in _pairs(a, b)
    )


def show(value: Number) -> str:
    """A number or vector for readers: short fractions as they are, all else to eight digits."""
    parts = [_show(part) for part in numbers(value)]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _show(value: Interval) -> str:
    p, q = value.midpoint.numerator, value.midpoint.denominator
    short = value.is_point and (q == 1 or max(abs(p), q) < 1000)
    text = str(value.lower) if short else f"{p / q:.8g}"
    return text.replace("-", "−")
