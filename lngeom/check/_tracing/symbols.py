"""The names of a program's vectors and numbers, and the numbers that small ones are."""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, NoReturn

import numpy

from lngeom.carriers import Carrier

from .grounds import FloatGround, Ground

_LARGEST, _FINEST = 4096, 64


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


class Block(NamedTuple):
    """A whole number that a kernel gets: one that it may be for a dimension, and whether counterexamples show it."""

    at: Callable[[int], int]
    shown: bool = True


@dataclass
class Symbols:
    """The names of one run."""

    ground: Ground
    literals: Literals
    refuse: Callable[[str], NoReturn]
    integers: set[int] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    vectors: dict[str, bool] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)
    parts: dict[str, Callable[[int], numpy.ndarray]] = field(default_factory=dict)

    def setting(self, name: str, value: float) -> Carrier:
        """A number that a program is set up with, such as ε: arbitrary and positive if this one is."""
        if value <= 0:
            return self.constant(value)
        name = self.literals.setting(name, value)
        if name in self.vectors or name in self.numbers:
            self.refuse(f"a setting and a parameter are both called {name}")
        return self._assumed(name, Fraction(value))

    def constant(self, value: object) -> Carrier:
        """A number that the program writes, on the carrier."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not math.isfinite(value):
            return self.refuse(f"{value!r:.40} is used as a number")
        exact = Fraction(value)
        if abs(exact.numerator) <= _LARGEST and exact.denominator <= _FINEST:
            if exact.denominator == 1 and exact > 1:
                self.integers.add(int(exact))
            return self.ground.number(exact)
        positive = self._assumed(self.literals.name(abs(float(value))), abs(exact))
        return positive if value > 0 else -positive

    def at(self, name: str) -> Callable[[int], int] | None:
        """What a whole number that a kernel gets may be for a dimension."""
        return self.blocks[name].at if name in self.blocks else None

    def block(self, name: str, at: Callable[[int], int], shown: bool = True, relation: str = ">") -> Carrier:
        """A whole number that a kernel gets: any that stands in this relation to 0, and for a dimension `at` of it."""
        self.blocks[name] = Block(at, shown)
        inner = getattr(self.ground, "inner", self.ground)
        return self._assumed(name, Fraction(at(inner.size if isinstance(inner, FloatGround) else 1)), relation)

    def part(self, name: str, taken: Callable[[numpy.ndarray], numpy.ndarray]) -> Carrier:
        """The indicator vector of a slice, whose complement is 1 − this, so that sums over both add up to the whole."""
        if name in self.vectors:
            self.refuse(f"a slice and a parameter are both called {name}")
        self.parts[name] = lambda d: numpy.isin(numpy.arange(d), taken(numpy.arange(d))).astype(float)
        inner = getattr(self.ground, "inner", self.ground)
        if isinstance(inner, FloatGround):
            inner.values[name] = self.parts[name](inner.size)
        return self.ground.vector(name)

    def _assumed(self, name: str, value: Fraction, relation: str = ">") -> Carrier:
        constant = self.ground.constant(name, value)
        if name not in self.scalars:
            self.scalars.add(name)
            self.ground.assume(constant, relation)
        return constant
