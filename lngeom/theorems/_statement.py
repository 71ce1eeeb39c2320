"""Statements, which comparisons make, and who answers them while a body runs."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from ..carriers import Array, Enclosure, Rounded
from ..prover import Recorded, Term, text
from ._asserts import asked_at
from ._errors import BodyError, CheckError

_SIGNS = {"==": "=", "!=": "!=", ">": ">", ">=": ">=", "<": ">", "<=": ">="}
_ASKERS: list[Asker] = []
"""The bodies that are running, innermost last."""


def current(what: str) -> Asker:
    """The run of the body that is executed."""
    if not _ASKERS:
        raise BodyError(f"{what} has a meaning in the body of a theorem only, which `pytest` or `lngeom prove` runs")
    return _ASKERS[-1]


class Statement:
    """A comparison, whose truth the current run decides."""

    __slots__ = ("left", "relation", "right", "run")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, left: Array, relation: str, right: Array) -> None:
        self.left, self.relation, self.right = left, relation, right
        self.run = current("a comparison")
        self.run.made(self)

    def __bool__(self) -> bool:
        if not _ASKERS or self.run is not _ASKERS[-1]:
            raise BodyError("this comparison belongs to a body that is no longer running")
        frame = sys._getframe(1)
        return self.run.answer(self, *asked_at(frame.f_code, frame.f_lasti))

    def __eq__(self, other: object) -> bool:
        raise BodyError("a statement is compared: assert each statement separately")

    def __iter__(self, *_: object) -> NoReturn:
        raise BodyError("a statement is about all components: assert each as it is, without any(), all(), &, | or ~")

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = __iter__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        self.__iter__()

    def __str__(self) -> str:
        sign = {"==": "=", "!=": "≠", ">=": "≥", "<=": "≤"}.get(self.relation, self.relation)
        components = "_i" if self.relation == "!=" and not is_scalar(self.left) else ""
        left, right, apart = shown(self.left), shown(self.right), ""
        if left == right and isinstance(gap := self.difference(), Enclosure) and any(entry.midpoint for entry in gap):
            apart = f", which differ by {max(abs(float(entry.midpoint)) for entry in gap):.3g},"
        return f"{left}{components} {sign} {right}{apart}"

    def sides(self) -> tuple[Array, Array]:
        """Both sides, the one said to be larger first."""
        return (self.right, self.left) if self.relation in ("<", "<=") else (self.left, self.right)

    def difference(self) -> Array:
        """The difference of the two sides, which the relation compares with 0."""
        first, second = self.sides()
        return first - second

    @property
    def sign(self) -> str:
        """The relation of the difference to 0, as the prover has it."""
        return _SIGNS[self.relation]


Models = Callable[[int], object]
"""For a dimension d: values or strategies by name, or one strategy of such a dict."""


Point = Mapping[str, float | Fraction | Sequence[float | Fraction]]
"""Numbers for some of the parameters; the others are 0."""


@dataclass(frozen=True)
class Variant:
    """A wrong variant as a body declares it; see :func:`lngeom.theorems.wrong`."""

    label: str
    statement: Callable[[], object] | None
    instead: Mapping[str, Callable[[], object]]
    given: Callable[[], Sequence[object]] | None
    at: Point | None


class Asker(ABC):
    """Who answers the statements of a body while it runs.

    Attributes:
        lines: Of the asserts that asked for a statement.
    """

    def __init__(self) -> None:
        self.pending: dict[int, Statement] = {}
        self.asked = 0
        self.lines: set[int | None] = set()
        self.failed: BaseException | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Statements belong to this run."""
        _ASKERS.append(self)
        try:
            yield
        finally:
            _ASKERS.pop()

    def made(self, statement: Statement) -> None:
        """A statement has come into being, which someone has to ask for."""
        self.pending[id(statement)] = statement

    def compared(self, left: Array, relation: str, right: Array) -> Statement:
        """The statement that a word such as ``nonzero`` makes."""
        return Statement(getattr(left, "inner", left), relation, right)

    def taken(self, statement: object) -> Statement:
        """The statement, which nobody has to ask for any longer."""
        if not isinstance(statement, Statement):
            raise BodyError(f"{statement!r} does not compare values")
        self.pending.pop(id(statement), None)
        return statement

    def answer(self, statement: Statement, line: int | None, refused: str | None) -> bool:
        """Whether a statement is true, for the assert of a line, or refused to others; a failure is remembered."""
        self.taken(statement)
        self.asked += 1
        self.lines.add(line)
        try:
            if refused and self.failed is None:  # pytest asks again, to tell what is false
                raise BodyError(f"{statement}: {refused}")
            holds = self.decide(statement)
        except BaseException as error:
            self.failed = error
            raise
        if not holds:
            self.failed = CheckError(f"{statement} is false")
        return holds

    @abstractmethod
    def decide(self, statement: Statement) -> bool:
        """Whether a statement is true."""

    def assume(self, condition: object, label: str | None, redundant: str | None) -> None:
        """A hypothesis, which models are made to satisfy."""
        self.pending.pop(id(condition), None)

    def wrong(self, variant: Variant) -> None:  # noqa: B027
        """A wrong variant, which only the run that lists them looks at."""


def is_scalar(carrier: object) -> bool:
    """Whether a carrier is a scalar, or a vector of one number."""
    return len(carrier) == 1 if isinstance(carrier, Enclosure | Rounded) else getattr(carrier, "is_scalar", True)


def shown(value: object) -> str:
    """A carrier as failures print it: decimals of numbers, the text of terms."""
    if isinstance(value, Enclosure):
        numbers = [f"{float(entry.midpoint):.12g}" for entry in value]
    elif isinstance(value, Rounded):
        numbers = [f"{entry:.17g}" for entry in value.value]
    elif isinstance(value, Recorded | Term):
        return text(value.term if isinstance(value, Recorded) else value)
    else:
        return str(value)
    return numbers[0] if len(numbers) == 1 else row(numbers)


_LONGEST = 12
"""Components of a vector that are shown."""


def row(numbers: Sequence[str]) -> str:
    """A vector as failures print it."""
    return f"({', '.join(numbers[:_LONGEST])}{', …' if len(numbers) > _LONGEST else ''})"
