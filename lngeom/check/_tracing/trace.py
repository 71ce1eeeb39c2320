"""One run of foreign code on a carrier, with what it asks and needs; what has no single meaning is refused."""

import itertools
import linecache
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any, NoReturn, TypeVar

from lngeom.carriers import Carrier, namespace
from lngeom.errors import LngeomError

from .decisions import Decisions
from .grounds import FloatGround, Ground, Opaque
from .symbols import Literals, Symbols

Result = TypeVar("Result")

_RUNS, _LONGEST, _NEAR = 64, 2**17, 48
OURS = f"{Path(__file__).parents[2]}/"
"""Where files of this project are."""


class Refusal(LngeomError):
    """The code does something that has no single meaning for all vectors of every dimension.

    Attributes:
        lasting: Whether it changed what outlives the run, so that no further run is one of the same program.
        valued: Whether it wants a number in place of a symbol.
    """

    def __init__(self, text: str, *, lasting: bool = False, valued: bool = False) -> None:
        super().__init__(text)
        self.lasting, self.valued = lasting, valued


@dataclass
class Report:
    """What a verdict says of a run beside the formula.

    Attributes:
        given: What the program read that is no argument: names and values of options, globals, attributes.
        written: The whole numbers in these functions and in what they read.
        conditions: What has to hold of memory that nobody writes, and where.
        builds: The sizes of the objects that stand for those of every size.
    """

    notes: set[str] = field(default_factory=set)
    given: dict[str, str] = field(default_factory=dict)
    sources: dict[str, CodeType] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)
    unexamined: set[str] = field(default_factory=set)
    conditions: set[str] = field(default_factory=set)
    builds: str = ""


@dataclass
class Values:
    """The operations of a run, with the values on which theorems are needed.

    Attributes:
        obligations: What has to hold for the code to be defined: values and their relations to 0.
        squares: What is squared.
        absolutes, roots, lengths: Arguments, absolute values and places; roots and radicands; lengths and vectors.
    """

    ground: Ground
    operations: Counter[str] = field(default_factory=Counter)
    obligations: list[tuple[Carrier, str]] = field(default_factory=list)
    squares: list[Carrier] = field(default_factory=list)
    absolutes: list[tuple[Carrier, Carrier, str]] = field(default_factory=list)
    roots: list[tuple[Carrier, Carrier]] = field(default_factory=list)
    lengths: list[tuple[Carrier, Carrier]] = field(default_factory=list)

    def square(self, value: Carrier) -> Carrier:
        """value²; of a root it is the radicand, which is proved not to be negative, but floats round both."""
        self.squares.append(value)
        roots = [] if isinstance(self.ground, FloatGround) else self.roots  # the bound has to count both roundings
        return next((radicand for made, radicand in roots if made is value), value * value)

    def root(self, value: Carrier, relation: str = ">=") -> Carrier:
        """√value, with the obligation that there is one."""
        self.obligations.append((value, relation))
        made = value**0.5 if isinstance(value, int | float) else namespace(value).sqrt(value)
        self.roots.append((made, value))
        return made


@dataclass
class Calls:
    """The calls of opaque functions."""

    ground: Ground
    symbols: Symbols
    replayed: "Calls | None"
    opaque: list[tuple[Opaque, Carrier, str]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

    kinds = property(lambda self: {name: function for function, _, name in self.opaque})
    maps = property(lambda self: [name for name in self.called if self.kinds[name].is_map])
    computed = property(lambda self: {name for name, function in self.kinds.items() if not function.is_map})

    def call(self, function: Opaque, value: Carrier) -> Carrier:
        """An opaque function of each component: an arbitrary vector, the same for the same argument."""
        if self.replayed is not None:  # floats may agree by chance: the terms said which calls are one
            name = self.replayed.called[len(self.called)]
        else:
            same = [name for known, argument, name in self.opaque if known == function and argument == value]
            name = same[0] if same else f"{function.name}{len(self.opaque) + 1}"
            self.opaque.append((function, value, name))
            self.symbols.vectors[name] = True
        self.called.append(name)
        return self.ground.applied(function, value, name)

    def assume(self, value: Carrier, relation: str) -> None:
        """Assume what holds of the result of an opaque function."""
        if self.replayed is None:
            self.ground.assume(value, relation)


@dataclass
class Kernels:
    """Launches, and what they need to know of memory.

    Attributes:
        reduced: What else sums in an order of its own: over which labels, and where.
        asks_memory: Questions of memory, which only programs that launch kernels may ask.
        functions: Those of autograd that ran, each with what it keeps and takes, and the arrays and values it gives.
        exposed, rules: What they keep that others may change, and what else they define, in words.
    """

    allowed: bool = False
    permuted: bool = False
    asks_memory: list[str] = field(default_factory=list)
    functions: list[tuple[Any, Any, tuple[Any, ...], list[tuple[Any, Any]]]] = field(default_factory=list)
    exposed: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    launches: list[Any] = field(default_factory=list)
    reduced: list[tuple[str, str]] = field(default_factory=list)

    launched = property(lambda self: bool(self.launches))


class Trace:
    """The record of one run; `replayed` is the run on terms that it repeats on another carrier."""

    def __init__(
        self, ground: Ground, literals: Literals, *, planned: Any = (), replayed: Any = None, backward: bool = False
    ) -> None:
        self.ground, self.literals, self.replayed = ground, literals, replayed
        self.refusals: list[Refusal] = []
        self.line = ""
        self.report, self.values, self.kernels = Report(), Values(ground), Kernels()
        self.decisions = Decisions(ground, self.refuse, planned, backward, replayed and replayed.decisions)
        self.symbols = Symbols(ground, literals, self.refuse)
        self.calls = Calls(ground, self.symbols, replayed and replayed.calls)

    @property
    def near(self) -> list[int]:
        """The numbers that the code has, and their neighbours, as far as rows of this length can be computed."""
        near = {n + k for n in self.report.written | self.symbols.integers for k in (-1, 0, 1)}
        return sorted(n for n in near if 3 < n <= _LONGEST)[:_NEAR]

    valued = property(lambda self: any(refusal.valued for refusal in self.refusals))

    def refused(self, text: str, *, lasting: bool = False, valued: bool = False) -> Refusal:
        """Note a refusal: code that catches it is refused all the same."""
        self.refusals.append(Refusal(text, lasting=lasting, valued=valued))
        return self.refusals[-1]

    def refuse(self, reason: str, line: str | None = None, *, valued: bool = False) -> NoReturn:
        """Give up, for good."""
        raise self.refused(f"{reason}{self.place() if line is None else line}", valued=valued)

    def applied(self, name: str, function: Callable[..., Any] | None, /, *args: Any, **options: Any) -> Any:
        """What an operation gives; one that fails is a refusal, since code may catch it."""
        if function is None:
            self.refuse(f"{name} is not among the operations that are traced")
        try:
            return function(*args, **options)
        except Refusal:
            raise
        except Exception:
            return self.refuse(f"{name} is called in a way that is not traced")

    def never(self, case: object, reason: str) -> None:
        """Give up if this is the case."""
        if case:
            self.refuse(reason)

    def place(self) -> str:
        """Where the program is."""
        line = self.line or program_line()
        return f" ({line.strip()})"[:160] if line else ""


def runs(start: Callable[[list[bool]], Trace], program: Callable[[Trace], Result]) -> Iterator[tuple[Trace, Result]]:
    """The program on each path through its branches."""
    waiting: list[list[bool]] = [[]]
    for count in itertools.count():
        if not waiting:
            return
        trace = start(waiting.pop())
        trace.never(count >= _RUNS, "more branches than can be followed")  # each branch doubles the paths
        yield trace, program(trace)
        waiting += trace.decisions.untried


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs this project's code."""
    return frame.f_code.co_filename.startswith(OURS)


def program_line() -> str:
    """The line of the program that is being run."""
    for frame, line in walk_stack(sys._getframe(1)):
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "traced" and is_ours(frame):
            return ""  # what follows is who asked for the trace
        if not is_ours(frame) and not re.search(r"/(torch|numpy|jax)/", file) and not file.startswith("<"):
            return f"{Path(file).name}:{line}: {linecache.getline(file, line).strip()}"
    return ""
