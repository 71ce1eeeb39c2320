"""Whole numbers of a launch: polynomials in sizes, strides, program ids, lanes and turns of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Monomial = tuple[str, ...]
Shape = tuple[str, ...]
"""The lane that each axis of a block runs over; empty for an axis of size 1."""


@dataclass(frozen=True)
class Whole:
    """A polynomial in sorted monomials; its shape; whether it has 64 bits, and whether a product in it had fewer."""

    terms: tuple[tuple[Monomial, int], ...]
    shape: Shape = field(default=(), compare=False)
    wide: bool = field(default=False, compare=False)
    short: bool = field(default=False, compare=False)

    @staticmethod
    def of(terms: Mapping[Monomial, int], *, wide: bool = False, short: bool = False) -> Whole:
        """The polynomial with these coefficients."""
        return Whole(tuple(sorted((m, c) for m, c in terms.items() if c)), (), wide, short)

    def plus(self, other: Whole, factor: int = 1) -> Whole:
        """The sum with a multiple of another one."""
        terms = dict(self.terms)
        for monomial, number in other.terms:
            terms[monomial] = terms.get(monomial, 0) + factor * number
        return Whole.of(terms, wide=self.wide or other.wide, short=self.short or other.short)

    def times(self, other: Whole) -> Whole:
        """The product."""
        terms: dict[Monomial, int] = {}
        for a, m in self.terms:
            for b, n in other.terms:
                monomial = tuple(sorted(a + b))
                terms[monomial] = terms.get(monomial, 0) + m * n
        wide = self.wide or other.wide
        large = bool(self.symbols and other.symbols and not wide)
        return Whole.of(terms, wide=wide, short=self.short or other.short or large)

    def split(self, factor: Monomial) -> tuple[Whole, Whole]:
        """Quotient and rest of the division by a monomial."""
        quotient, rest = dict[Monomial, int](), dict[Monomial, int]()
        for monomial, number in self.terms:
            left = list(monomial)
            if all(name in left and not left.remove(name) for name in factor):
                quotient[tuple(left)] = number
            else:
                rest[monomial] = number
        return Whole.of(quotient), Whole.of(rest)

    @property
    def symbols(self) -> set[str]:
        """The names in it."""
        return {name for monomial, _ in self.terms for name in monomial}

    @property
    def number(self) -> int | None:
        """What it is if nothing is in it."""
        return None if self.symbols else dict(self.terms).get((), 0)

    def __str__(self) -> str:
        parts = ("·".join([*([str(n)] if n != 1 or not m else []), *m]) for m, n in self.terms)
        return " + ".join(parts) or "0"


def whole(number: int) -> Whole:
    """A whole number."""
    return Whole.of({(): number})


def symbol(*names: str) -> Whole:
    """A product of names."""
    return Whole.of({tuple(sorted(names)): 1})


PROGRAM = symbol("program0")


def quotient(a: Whole, b: Whole) -> Whole:
    """⌈a/b⌉, by a name that says so."""
    if a.number is not None and b.number:
        return whole(-(-a.number // b.number))
    return a if b.number == 1 else symbol(f"⌈({a})/({b})⌉")


@dataclass(frozen=True)
class Loop:
    """The range of a loop: in turn k its variable is start + k·step."""

    start: Whole
    stop: Whole
    step: Whole


@dataclass
class Space:
    """How many programs there are, the length of each lane, the range of each turn, and the turns one is in."""

    grid: Whole
    extents: dict[str, Whole] = field(default_factory=dict)
    loops: dict[str, Loop] = field(default_factory=dict)
    turning: list[str] = field(default_factory=list)

    def covers_rows(self, row: Whole, count: Whole) -> str | None:
        """How each of `count` rows is read once: a ``program``, ``tile`` with a mask, ``stride``; None if not."""
        free = row.symbols & (self.extents.keys() | self.loops.keys())
        if row == PROGRAM and self.grid == count:
            return "program"
        if len(free) != 1:
            return None
        (name,) = free
        if name in self.extents:
            size = self.extents[name]
            tile = row == PROGRAM.times(size).plus(symbol(name)) and self.grid == quotient(count, size)
            return "tile" if tile else None
        strided = row == PROGRAM.plus(symbol(name).times(self.grid))
        return "stride" if strided and self.loops[name] == Loop(PROGRAM, count, self.grid) else None

    def columns(self, column: Whole, d: Whole) -> tuple[str, ...] | None:
        """The lane, after the turn if there is one, by which columns 0, 1, ... are counted; None if they are not."""
        lanes = [name for name in self.extents if name in column.symbols]
        turns = [name for name in self.loops if name in column.symbols]
        if len(lanes) != 1 or len(turns) > 1:
            return None
        size = self.extents[lanes[0]]
        if not turns:
            return (lanes[0],) if column == symbol(lanes[0]) else None
        loop, turn = self.loops[turns[0]], symbol(turns[0])
        by_column = loop.stop == d and loop.step == size
        by_block = loop.stop == quotient(d, size) and loop.step.number == 1
        counted = loop.start.number == 0 and (by_column or by_block)
        return (turns[0], lanes[0]) if counted and column == turn.times(size).plus(symbol(lanes[0])) else None
