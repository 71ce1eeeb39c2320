"""Worked examples: the library's functions run on exact numbers, and statements about them that are certain.

A :class:`Case` is the blackboard on which a counterexample is worked: values are given, quantities are computed by
the functions of :mod:`lngeom` on :class:`~lngeom._enclosure.Enclosure`, and each statement is decided by intervals
that contain the exact numbers. A statement that is not certainly what it is said to be raises, so a counterexample
that can be shown is a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lngeom._enclosure import Enclosure
from lngeom._interval import Interval, UndecidedError

from .._theorem import CheckError

AGREEMENT = Fraction(1, 2**100)
"""Enclosures of two equal irrational numbers overlap and are narrower than this, relative to their size."""

Relation = str
RELATIONS = ("=", "≠", "<", "≤", ">", "≥")


@dataclass(frozen=True)
class Line:
    """A line on the blackboard: what kind it is, what is named or said, and the numbers.

    Kinds: ``let`` (a value that is given), ``find`` (a number that is computed), ``given`` (a premise, which holds),
    ``claimed`` (what is claimed, which fails) and ``true`` (what holds instead).
    """

    kind: str
    said: str
    numbers: str


@dataclass
class Case:
    """A worked example, line by line."""

    lines: list[Line] = field(default_factory=list)

    def vector(self, name: str, *values: int | Fraction) -> Enclosure:
        """A given vector."""
        vector = Enclosure([Fraction(value) for value in values])
        self.lines.append(Line("let", name, show(vector)))
        return vector

    def scalar(self, name: str, value: int | Fraction) -> Fraction:
        """A given number."""
        self.lines.append(Line("let", name, show(Fraction(value))))
        return Fraction(value)

    def find(self, name: str, value: Any) -> Any:
        """A computed vector or number."""
        self.lines.append(Line("find", name, show(value)))
        return value

    def undefined(self, name: str, compute: Callable[[], Any]) -> None:
        """Note that a quantity has no value, because it divides by 0."""
        try:
            value = compute()
        except UndecidedError:
            self.lines.append(Line("claimed", f"{name} exists", "division by 0"))
            return
        msg = f"{name} has a value: {show(value)}"
        raise CheckError(msg)

    def given(self, said: str, a: Any, relation: Relation, b: Any = 0) -> None:
        """A premise: certainly true here."""
        self._state("given", said, a, relation, b, wanted=True)

    def claimed(self, said: str, a: Any, relation: Relation, b: Any = 0) -> None:
        """The claim, or what follows from it: certainly false here."""
        self._state("claimed", said, a, relation, b, wanted=False)

    def true(self, said: str, a: Any, relation: Relation, b: Any = 0) -> None:
        """What holds instead: certainly true, or equal to 30 digits where irrational numbers are compared."""
        self._state("true", said, a, relation, b, wanted=True)

    def _state(self, kind: str, said: str, a: Any, relation: Relation, b: Any, *, wanted: bool) -> None:
        found = decide(a, relation, b)
        if found is None and kind == "true" and relation == "=":
            found = True if agree(a, b) else None
        sign = relation if found else _crossed(relation, a, b)
        numbers = f"{show(a)} {sign} {show(b)}"
        if found is not wanted:
            verdict = "undecided" if found is None else str(found).lower()
            msg = f"{said!r} is {verdict} at {show(a)} {relation} {show(b)}, and not {str(wanted).lower()}"
            raise CheckError(msg)
        self.lines.append(Line(kind, said, numbers))

    @property
    def refuted(self) -> list[Line]:
        """The claims that fail."""
        return [line for line in self.lines if line.kind == "claimed"]

    @property
    def premises(self) -> list[Line]:
        """The premises, which hold."""
        return [line for line in self.lines if line.kind == "given"]


@dataclass(frozen=True)
class Counterexample:
    """An example that refutes a claim, or shows that it needs one of its hypotheses, or does not follow.

    Attributes
    ----------
    name : str
    says : str
        What it shows, in a sentence.
    build : function of a Case
    """

    name: str
    says: str
    build: Callable[[Case], None]

    def work(self) -> Case:
        """Work the example; raises :class:`CheckError` unless every statement is certain and one
        claimfails.
        """
        case = Case()
        self.build(case)
        if not case.refuted:
            msg = f"counterexample {self.name} refutes nothing"
            raise CheckError(msg)
        return case


def counterexample(build: Callable[[Case], None]) -> Counterexample:
    """Make a counterexample of a function; its name is the function's, what it says the docstring."""
    return Counterexample(build.__name__, " ".join((build.__doc__ or "").split()), build)


def numbers(value: Any) -> list[Interval]:
    """The components of a vector or a number as intervals."""
    if isinstance(value, Enclosure):
        return list(value)
    return [value if isinstance(value, Interval) else Interval(Fraction(value))]


def _pairs(a: Any, b: Any) -> list[tuple[Interval, Interval]]:
    left, right = numbers(a), numbers(b)
    length = max(len(left), len(right))
    stretched = (side * length if len(side) == 1 else side for side in (left, right))
    return list(zip(*stretched, strict=True))


_CERTAIN: dict[Relation, Callable[[Interval, Interval], bool]] = {
    "=": lambda a, b: a.certainly_equal(b),
    "≠": lambda a, b: a.certainly_different(b),
    "<": lambda a, b: a.certainly_less(b),
    "≤": lambda a, b: a.certainly_at_most(b),
    ">": lambda a, b: b.certainly_less(a),
    "≥": lambda a, b: b.certainly_at_most(a),
}
_CROSSED = {"<": "≮", "≤": "≰", ">": "≯", "≥": "≱"}
_NEGATED = {"=": "≠", "≠": "=", "<": "≥", "≤": ">", ">": "≤", "≥": "<"}


def negated(relation: Relation) -> Relation:
    """The opposite relation of two numbers."""
    return _NEGATED[relation]


def _crossed(relation: Relation, a: Any, b: Any) -> str:
    """The sign of a relation that fails: the opposite one, or crossed out where only some components fail."""
    order_of_vectors = relation in _CROSSED and max(len(numbers(a)), len(numbers(b))) > 1
    return _CROSSED[relation] if order_of_vectors else negated(relation)


def decide(a: Any, relation: Relation, b: Any) -> bool | None:
    """Whether a REL b, for numbers or in every component (``≠``: in one of them); None if not certain."""
    pairs = _pairs(a, b)
    every, some = (any, all) if relation == "≠" else (all, any)
    if every(_CERTAIN[relation](p, q) for p, q in pairs):
        return True
    return False if some(_CERTAIN[negated(relation)](p, q) for p, q in pairs) else None


def agree(a: Any, b: Any) -> bool:
    """Whether narrow enclosures overlap in every component, as those of equal numbers do."""
    return all(
        not p.certainly_different(q)
        and p.width + q.width <= AGREEMENT * max(p.magnitude, q.magnitude, Fraction(1))
        for p, q in _pairs(a, b)
    )


def show(value: Any) -> str:
    """A number or vector for readers: short fractions as they are, all else to eight digits."""
    parts = [_show(part) for part in numbers(value)]
    return parts[0] if not isinstance(value, Enclosure) or len(parts) == 1 else f"({', '.join(parts)})"


def _show(value: Interval) -> str:
    p, q = value.midpoint.numerator, value.midpoint.denominator
    short = value.is_point and (q == 1 or max(abs(p), q) < 1000)
    text = str(value.lower) if short else f"{p / q:.8g}"
    return text.replace("-", "−")
