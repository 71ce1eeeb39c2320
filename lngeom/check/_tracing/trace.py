"""One run of foreign code on a carrier: what it asks, what has to hold for it to be defined, and what it may not do."""

from __future__ import annotations

import itertools
import math
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn, TypeVar

import numpy

from lngeom.carriers import Carrier, namespace
from lngeom.errors import LngeomError

from .grounds import FloatGround, Ground

Result = TypeVar("Result")

_LARGEST, _FINEST = 4096, 64
_PATHS, _RUNS = 8, 64
_LONGEST, _NEAR = 2**17, 48
OURS = f"{Path(__file__).parents[2]}/"
"""Where files of this project are."""


class Refusal(LngeomError):
    """The code does something that has no single meaning for all vectors of every dimension."""


@dataclass
class Literals:
    """Numbers that a program writes or is set up with, by value: small ones are themselves, others have names.

    A named one is read as an arbitrary positive number, which makes every theorem about it stronger.
    """

    names: dict[float, str] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)

    def setting(self, name: str, value: float) -> str:
        """The name of a setting: two settings have one name only if they have one value."""
        names = (f"{name}{k or ''}" for k in itertools.count())
        free = next(name for name in names if self.values.get(name, value) == value)
        self.values[free] = value
        return free

    def text(self, name: str) -> str:
        """A name as people read it: of a constant its value."""
        return f"{self.values[name]:g}" if self.is_constant(name) else name

    def is_constant(self, name: str) -> bool:
        """Whether a name is that of a number that the program writes."""
        return re.fullmatch(r"c\d+", name) is not None

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
        branches: The undecided ones, each a value, a relation to 0, and the answer; or a circumstance, such as
            training, that the code asks for, and the answer.
        obligations: What has to hold for the code to be defined: values and their relations to 0.
        absolutes, magnitudes, squares: Arguments of absolute values, these, and what is squared.
        roots: Every root that was taken, with what it is the root of.
        integers, written: The whole numbers above 1 that the code computes with, and all that it has.
        scalars, numbers: Names of constants, all positive, and of parameters of size 1.
        vectors: Names of vectors, and whether they differ from row to row.
        line: The place in a program that is read, not run.
        given: What the program read that is no argument: names and values of options, globals, attributes.
        sources: Every function of the program that ran, by its name.
        unexamined: Circumstances that this run says nothing about.
        valued: Whether it wants a number in place of a symbol.
        builds: The sizes of the objects that stand for those of every size.
        blocks: Whole numbers that kernels get, each with one that it may be for a dimension.
        parts: Which components a slice takes, each with the 0s and 1s that it is for a dimension.
        kernels, launched: Whether kernels may be launched, and have been.
        permuted, asks_memory: Whether axes lie in another order than in memory, and what is asked of memory.
        functions: Those of autograd that ran, each with what it keeps and takes, and the arrays and values it gives.
        backward: Whether derivatives are asked for.
    """

    ground: Ground
    literals: Literals
    decisions: list[bool] = field(default_factory=list)
    replayed: Trace | None = None
    asked: list[bool | None] = field(default_factory=list)
    branches: list[tuple[Any, str, bool]] = field(default_factory=list)
    obligations: list[tuple[Carrier, str]] = field(default_factory=list)
    absolutes: list[Carrier] = field(default_factory=list)
    magnitudes: list[Carrier] = field(default_factory=list)
    squares: list[Carrier] = field(default_factory=list)
    roots: list[tuple[Carrier, Carrier]] = field(default_factory=list)
    integers: set[int] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)
    vectors: dict[str, bool] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    operations: Counter[str] = field(default_factory=Counter)
    opaque: list[tuple[str, Carrier, str]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    line: str = ""
    given: dict[str, str] = field(default_factory=dict)
    sources: dict[str, CodeType] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    unexamined: set[str] = field(default_factory=set)
    valued: bool = False
    builds: str = ""
    blocks: dict[str, Callable[[int], int]] = field(default_factory=dict)
    parts: dict[str, Callable[[int], numpy.ndarray]] = field(default_factory=dict)
    kernels: bool = False
    permuted: bool = False
    launched: bool = False
    asks_memory: str = ""
    functions: list[tuple[Any, Any, tuple[Any, ...], list[tuple[Any, Any]]]] = field(default_factory=list)
    backward: bool = False

    @property
    def near(self) -> list[int]:
        """The numbers that the code has, and their neighbours, as far as rows of this length can be computed."""
        near = {n + k for n in self.written | self.integers for k in (-1, 0, 1)}
        return sorted(n for n in near if 3 < n <= _LONGEST)[:_NEAR]

    def refuse(self, reason: str, line: str | None = None) -> NoReturn:
        """Give up, for good: code that catches this is refused all the same."""
        self.refusals.append(f"{reason}{self._where() if line is None else line}")
        raise Refusal(self.refusals[-1])

    def applied(self, name: str, function: Callable[..., Any] | None, /, *args: Any, **options: Any) -> Any:
        """What an operation gives; one that fails is a refusal, since code may catch it."""
        if function is None:
            self.refuse(f"{name} is not among the operations that are traced")
        try:
            return function(*args, **options)
        except Refusal:
            raise
        except Exception as error:
            return self.refuse(f"{name} is called in a way that is not traced: {error}")

    def never(self, case: object, reason: str) -> None:
        """Give up if this is the case."""
        if case:
            self.refuse(reason)

    def _where(self) -> str:
        line = self.line or program_line()
        return f" ({line.strip()})"[:160] if line else ""

    def setting(self, name: str, value: float) -> Carrier:
        """A number that a program is set up with, such as ε: arbitrary and positive if this one is."""
        if value <= 0:
            return self.constant(value)
        name = self.literals.setting(name, value)
        if name in self.vectors or name in self.numbers:
            self.refuse(f"a setting and a parameter are both called {name}")
        return self._positive(name, Fraction(value))

    def constant(self, value: object) -> Carrier:
        """A number that the program writes, on the carrier."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not math.isfinite(value):
            self.refuse(f"{value!r:.40} is used as a number")
        exact = Fraction(value)
        if abs(exact.numerator) <= _LARGEST and exact.denominator <= _FINEST:
            if exact.denominator == 1 and exact > 1:
                self.integers.add(int(exact))
            return self.ground.number(exact)
        positive = self._positive(self.literals.name(abs(float(value))), abs(exact))
        return positive if value > 0 else -positive

    def block(self, name: str, at: Callable[[int], int], relation: str = ">") -> Carrier:
        """A whole number that a kernel gets: any that stands in this relation to 0, and for a dimension `at` of it."""
        self.blocks[name] = at
        inner = getattr(self.ground, "inner", self.ground)
        value = self.ground.constant(name, Fraction(at(inner.size if isinstance(inner, FloatGround) else 1)))
        if name not in self.scalars:
            self.scalars.add(name)
            self.ground.assume(value, relation)
        return value

    def part(self, name: str, taken: Callable[[numpy.ndarray], numpy.ndarray]) -> Carrier:
        """Which components a slice takes, 1 for one that it does: any weights, and for a dimension those of its range.

        What is left is 1 − this, so that a sum over a part and one over the rest add up to that over all.
        """
        if name in self.vectors:
            self.refuse(f"a slice and a parameter are both called {name}")

        def at(d: int) -> numpy.ndarray:
            weights = numpy.zeros(d)
            weights[taken(numpy.arange(d))] = 1
            return weights

        self.parts[name] = at
        inner = getattr(self.ground, "inner", self.ground)
        if isinstance(inner, FloatGround):
            inner.values[name] = at(inner.size)
        return self.ground.vector(name)

    def _positive(self, name: str, value: Fraction) -> Carrier:
        positive = self.ground.constant(name, value)
        if name not in self.scalars:
            self.scalars.add(name)
            self.ground.assume(positive, ">")
        return positive

    def square(self, value: Carrier) -> Carrier:
        """value², which of a root is the radicand, since it is proved not to be negative; floats round both."""
        self.squares.append(value)
        roots = [] if isinstance(self.ground, FloatGround) else self.roots
        return next((radicand for made, radicand in roots if made is value), value * value)

    def require(self, value: Carrier, relation: str) -> None:
        """Note what has to hold for the code to be defined."""
        self.obligations.append((value, relation))

    def decide(self, value: Carrier, relation: str) -> bool:
        """Whether a value that no row determines stands in a relation to 0."""
        known = self.ground.sign(value, relation)
        if self.replayed is not None:
            answer = bool(self._answered())
            if known not in (None, answer):
                self.refuse("this dimension takes another branch")
        else:
            answer = self._branched(value, relation) if known is None else known
        self.asked.append(answer)
        return answer

    @property
    def circumstances(self) -> tuple[str, ...]:
        """What is the case on this run of what the program asks for."""
        return tuple(name for name, relation, answer in self.branches if relation == ASKED and answer)

    @property
    def sizes_asked(self) -> list[tuple[Any, str, bool]]:
        """The branches on sizes and settings."""
        return [branch for branch in self.branches if branch[1] != ASKED]

    def circumstance(self, name: str) -> bool:
        """Whether the program runs in training, with gradients and the like; both answers are followed."""
        known = next((answer for asked, relation, answer in self.branches if relation == ASKED and asked == name), None)
        if self.replayed is not None:
            known = self._answered()
        answer = self._branched(name, ASKED) if known is None else known
        self.asked.append(answer)
        return answer

    def always(self, value: Carrier, relation: str) -> bool | None:
        """Whether a value stands in a relation to 0 in every row, None if that is not known."""
        if self.replayed is None:
            self.asked.append(self.ground.sign(value, relation, *self.squares))
        else:
            self.asked.append(self._answered())
        return self.asked[-1]

    def _answered(self) -> bool | None:
        """The answer to the same question on the run that this one repeats."""
        assert self.replayed is not None
        if len(self.asked) >= len(self.replayed.asked):
            self.refuse("it asks more than it did")
        return self.replayed.asked[len(self.asked)]

    def _branched(self, value: Any, relation: str) -> bool:
        if len(self.branches) >= _PATHS:
            self.refuse("more branches than can be followed")
        place = len(self.branches)
        usual = relation != ASKED or (self.backward and is_of_gradients(value))
        answer = self.decisions[place] if place < len(self.decisions) else usual
        self.branches.append((value, relation, answer))
        if relation != ASKED:
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

    def identity(self, value: Carrier, relation: str) -> None:
        """Assume what holds of the result of an opaque function."""
        if self.replayed is None:
            self.ground.assume(value, relation)


ASKED = "asked"
_NEGATED = {"=": "!=", "!=": "=", ">": "<=", ">=": "<"}


def is_of_gradients(circumstance: object) -> bool:
    """Whether a circumstance is that derivatives are asked for."""
    return isinstance(circumstance, str) and "gradient" in circumstance


def runs(start: Callable[[list[bool]], Trace], program: Callable[[Trace], Result]) -> Iterator[tuple[Trace, Result]]:
    """The program on each path through its branches on sizes; where derivatives are asked for, they are on each."""
    waiting: list[list[bool]] = [[]]
    for count in itertools.count():
        if not waiting:
            return
        trace = start(decisions := waiting.pop())
        if count >= _RUNS:
            trace.refuse("more branches than can be followed")
        result = program(trace)
        yield trace, result
        taken = [answer for _, _, answer in trace.branches]
        open = [k for k, (asked, *_) in enumerate(trace.branches) if not (trace.backward and is_of_gradients(asked))]
        waiting += [[*taken[:k], not taken[k]] for k in open if k >= len(decisions)]


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs this project's code."""
    return frame.f_code.co_filename.startswith(OURS)


def program_line() -> str:
    """The line of the program that is being run."""
    for frame in reversed(traceback.extract_stack()):
        if frame.name == "traced" and frame.filename.startswith(OURS):
            return ""  # what follows is who asked for the trace
        foreign = not frame.filename.startswith(OURS)
        if foreign and not re.search(r"/(torch|numpy|jax)/", frame.filename) and not frame.filename.startswith("<"):
            return f"{Path(frame.filename).name}:{frame.lineno}: {frame.line or ''}"
    return ""


def root(trace: Trace, value: Carrier, relation: str = ">=") -> Carrier:
    """√value, with the obligation that there is one."""
    trace.require(value, relation)
    made = value**0.5 if isinstance(value, int | float) else namespace(value).sqrt(value)
    trace.roots.append((made, value))
    return made
