"""One run of foreign code on a carrier: what it asks, what has to hold for it to be defined, and what it may not do."""

from __future__ import annotations

import math
import re
import struct
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

from lngeom.carriers import Array, Carrier, namespace
from lngeom.errors import LngeomError

from ._grounds import Ground

Result = TypeVar("Result")

_LARGEST, _FINEST = 4096, 64
_PATHS = 8
_HERE = str(Path(__file__).parents[2])


class Refusal(LngeomError):
    """The code does something that has no single meaning for all vectors of every dimension."""


@dataclass
class Literals:
    """Numbers that a program writes or is set up with, by value: small ones are themselves, others have names.

    A named one is read as an arbitrary positive number, which makes every theorem about it stronger.
    """

    names: dict[float, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    shift: float = 2.0**-21

    @property
    def constants(self) -> set[float]:
        """The numbers that the program writes."""
        return {value for name, value in self.values.items() if self.text(name) != name}

    @property
    def numbers(self) -> dict[str, float]:
        """The number that stands for each of them in code."""
        return {name: number for number, name in self.names.items()}

    def add(self, name: str, value: float) -> float:
        """A number of its own for a setting, which no other constant of the program has by chance."""
        name = name if name not in self.values else f"{name}{len(self.values)}"
        unusual = value * (1 + self.shift * (1 + len(self.values)))
        self.values[name] = value
        single = struct.unpack("f", struct.pack("f", unusual))[0]  # as frameworks write it that know no float64
        self.names |= {unusual: name, single: name}
        return unusual

    def text(self, name: str) -> str:
        """A name as people read it: of a constant its value."""
        return f"{self.values[name]:g}" if re.fullmatch(r"c\d+", name) else name

    def name(self, value: float) -> str:
        """The name of a number."""
        if value not in self.names:
            name = f"c{1 + sum(taken.startswith('c') for taken in self.values)}"
            self.names[value], self.values[name] = name, value
        return self.names[value]


@dataclass
class Trace:
    """The record of one run.

    Attributes:
        ground: The carrier, with what is assumed.
        decisions, asked: Answers to branches on sizes that the carrier leaves open, and all answers given.
        replayed: The run on terms that this one repeats on another carrier.
        branches: The undecided ones, each a value, a relation to 0, and the answer.
        obligations: What has to hold for the code to be defined: values and their relations to 0.
        absolutes, squares: Arguments of absolute values, and what is squared.
        integers: The whole numbers above 1 that the code writes.
        scalars, numbers: Names of constants, all positive, and of parameters of size 1.
        vectors: Names of vectors, and whether they differ from row to row.
    """

    ground: Ground
    literals: Literals
    decisions: list[bool] = field(default_factory=list)
    replayed: Trace | None = None
    asked: list[bool] = field(default_factory=list)
    branches: list[tuple[Array, str, bool]] = field(default_factory=list)
    obligations: list[tuple[Carrier, str]] = field(default_factory=list)
    absolutes: list[Carrier] = field(default_factory=list)
    squares: list[Carrier] = field(default_factory=list)
    integers: set[int] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)
    vectors: dict[str, bool] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    operations: Counter[str] = field(default_factory=Counter)
    opaque: list[tuple[str, Carrier, str]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)

    def refuse(self, reason: str) -> NoReturn:
        """Give up, for good: code that catches this is refused all the same."""
        self.refusals.append(f"{reason}{_line()}")
        raise Refusal(self.refusals[-1])

    def constant(self, value: object) -> Carrier:
        """A number that the program writes, on the carrier."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not math.isfinite(value):
            self.refuse(f"{value!r:.40} is used as a number")
        exact = Fraction(value)
        if abs(exact.numerator) <= _LARGEST and exact.denominator <= _FINEST:
            if exact.denominator == 1 and exact > 1:
                self.integers.add(int(exact))
            return self.ground.number(exact)
        name = self.literals.name(abs(float(value)))
        positive = self.ground.constant(name, abs(exact))
        if name not in self.scalars:
            self.scalars.add(name)
            self.ground.assume(positive, ">")
        return positive if value > 0 else -positive

    def require(self, value: Carrier, relation: str) -> None:
        """Note what has to hold for the code to be defined."""
        self.obligations.append((value, relation))

    def decide(self, value: Carrier, relation: str) -> bool:
        """Whether a value that no row determines stands in a relation to 0."""
        known = self.ground.sign(value, relation)
        if self.replayed is not None:
            answer = self.replayed.asked[len(self.asked)]
            if known not in (None, answer):
                self.refuse("this dimension takes another branch")
        else:
            answer = self._branched(value, relation) if known is None else known
        self.asked.append(answer)
        return answer

    def _branched(self, value: Carrier, relation: str) -> bool:
        if len(self.branches) >= _PATHS:
            self.refuse("more branches on sizes than can be followed")
        place = len(self.branches)
        answer = self.decisions[place] if place < len(self.decisions) else True
        self.branches.append((value, relation, answer))
        self.ground.assume(value, relation if answer else _NEGATED[relation])
        return answer

    @property
    def maps(self) -> list[str]:
        """The outputs of maps with weights of their own, in order."""
        kinds = {name: function for function, _, name in self.opaque}
        return [name for name in self.called if kinds[name].startswith("linear")]

    def is_computed(self, name: str) -> bool:
        """Whether a vector is the result of a known function."""
        return any(name == made and not function.startswith("linear") for function, _, made in self.opaque)

    def call(self, function: str, value: Carrier) -> Carrier:
        """An opaque function of each component: an arbitrary vector, the same for the same argument."""
        if self.replayed is not None:
            name = self.replayed.called[len(self.called)]
        else:
            same = [name for known, argument, name in self.opaque if known == function and argument == value]
            name = same[0] if same else f"{function.partition(' ')[0]}{len(self.opaque) + 1}"
            self.opaque.append((function, value, name))
            self.vectors[name] = True
        self.called.append(name)
        return self.ground.applied(function, value, name)


_NEGATED = {"=": "!=", "!=": "=", ">": "<=", ">=": "<"}


def runs(start: Callable[[list[bool]], Trace], program: Callable[[Trace], Result]) -> Iterator[tuple[Trace, Result]]:
    """The program on each path through its branches on sizes."""
    waiting: list[list[bool]] = [[]]
    while waiting:
        trace = start(decisions := waiting.pop())
        result = program(trace)
        yield trace, result
        taken = [answer for _, _, answer in trace.branches]
        waiting += [[*taken[:k], False] for k in range(len(decisions), len(taken))]


def _line() -> str:
    """The line of the program that is being run."""
    for frame in reversed(traceback.extract_stack()):
        foreign = not frame.filename.startswith(_HERE) or "/tests/" in frame.filename
        if foreign and not re.search(r"/(torch|numpy|jax)/", frame.filename) and not frame.filename.startswith("<"):
            return f" ({Path(frame.filename).name}:{frame.lineno}: {frame.line or ''})"[:160]
    return ""


def root(trace: Trace, value: Carrier, relation: str = ">=") -> Carrier:
    """√value, with the obligation that there is one."""
    trace.require(value, relation)
    return value**0.5 if isinstance(value, int | float) else namespace(value).sqrt(value)
