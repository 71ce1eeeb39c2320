"""Worked examples: the library's functions run on exact numbers, and statements about them that are certain.

A :class:`Case` is the blackboard on which a counterexample is worked: values are given, quantities are computed by
the functions of :mod:`lngeom` on :class:`~lngeom.carriers.Enclosure`, and each statement is decided by intervals
that contain the exact numbers. A premise that is not certainly true and a claim that is not certainly false raise, so
a counterexample that can be shown is a proof. Only what is said to hold instead may be an equality of irrational
numbers, which no interval decides: agreement to 30 digits is shown there, and is not a proof.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from lngeom.carriers import Enclosure, Interval, UndecidedError

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
    """A worked example, line by line.

    Attributes:
        lines: list of Line. What has been written so far.

    >>> import lngeom as lg
    >>> case = Case()
    >>> x = case.vector("x", 1, 3)
    >>> mean, variance = lg.moments(x)
    >>> case.claimed("the variance has the divisor d − 1", variance, "=", 2)
    >>> case.true("it has the divisor d", variance, "=", 1)
    >>> [(line.said, line.numbers) for line in case.refuted]
    [('the variance has the divisor d − 1', '1 ≠ 2')]
    """

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
        """Note that a quantity has no value, because it divides by 0, or by what its interval does not tell from 0.

        >>> from lngeom.carriers import Enclosure
        >>> case = Case()
        >>> case.undefined("1/0", lambda: 1 / Enclosure([0]))
        >>> case.lines[0].numbers
        'division by 0'
        """
        try:
            value = compute()
        except UndecidedError:
            self.lines.append(Line("claimed", f"{name} exists", "division by 0"))
            return
        raise CheckError(f"{name} has a value: {show(value)}")

    def given(self, said: str, a: Any, relation: Relation, b: Any = 0) -> None:
        """A premise: certainly true here, in every component (``≠``: in one).

        >>> case = Case()
        >>> case.given("2 is positive", 2, ">")
        >>> case.premises[0].numbers
        '2 > 0'
        """
        self._state("given", said, a, relation, b, wanted=True)

    def claimed(self, said: str, a: Any, relation: Relation, b: Any = 0) -> None:
        """The claim, or what follows from it: certainly false here.

        >>> case = Case()
        >>> case.claimed("1 is 2", 1, "=", 1)
        Traceback (most recent call last):
        proofs._theorem.CheckError: '1 is 2' is true at 1 = 1, and not false
        """
        self._state("claimed", said, a, relation, b, wanted=False)

    def true(self, said: str, a: Any, relation: Relation, b: Any = 0) -> None:
        """What holds instead: certainly true, or equal to 30 digits where irrational numbers are compared.

        >>> from lngeom.kernel import norm
        >>> case = Case()
        >>> x, y = case.vector("x", 1, 1), case.vector("y", -1, 1)
        >>> case.true("the two vectors are equally long", norm(x), "=", norm(y))
        >>> case.lines[-1].numbers
        '1.4142136 = 1.4142136'
        """
        self._state("true", said, a, relation, b, wanted=True)

    def _state(self, kind: str, said: str, a: Any, relation: Relation, b: Any, *, wanted: bool) -> None:
        found = decide(a, relation, b)
        if found is None and kind == "true" and relation == "=":
            found = True if agree(a, b) else None
        sign = relation if found else _crossed(relation, a, b)
        numbers = f"{show(a)} {sign} {show(b)}"
        if found is not wanted:
            verdict = "undecided" if found is None else str(found).lower()
            raise CheckError(f"{said!r} is {verdict} at {show(a)} {relation} {show(b)}, and not {str(wanted).lower()}")
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

    Attributes:
        name
        says: What it shows, in a sentence.
        build: function of a Case

    >>> from proofs.claims import find
    >>> example = find("1-16").counterexample
    >>> print(example.says)
    A norm is never negative, a mean can be: the norm of the mean vector is the absolute value.
    """

    name: str
    says: str
    build: Callable[[Case], None]

    def work(self) -> Case:
        """Work the example on a new :class:`Case`.

        >>> from proofs.claims import find
        >>> print(find("1-16").counterexample.work().refuted[0].numbers)
        1.4142136 ≠ −1.4142136
        """
        case = self.show()
        if not case.refuted:
            raise CheckError(f"counterexample {self.name} refutes nothing")
        return case

    def show(self) -> Case:
        """Work it on a new :class:`Case` where it need refute nothing: numbers that are worked out.

        >>> from proofs.claims import find
        >>> find("1-56").example.show().lines[-1].numbers
        '1000000 > 4096'
        """
        case = Case()
        self.build(case)
        return case


def counterexample(build: Callable[[Case], None]) -> Counterexample:
    """Make a counterexample of a function; its name is the function's, what it says the docstring.

    >>> @counterexample
    ... def minus_one(case: Case) -> None:
    ...     'A square may be 1 without the number being 1.'
    ...     case.given("the square is 1", (-1) ** 2, "=", 1)
    ...     case.claimed("the number is 1", -1, "=", 1)
    >>> minus_one.name, minus_one.work().refuted[0].numbers
    ('minus_one', '−1 ≠ 1')
    """
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
        not p.certainly_different(q) and p.width + q.width <= AGREEMENT * max(p.magnitude, q.magnitude, Fraction(1))
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
