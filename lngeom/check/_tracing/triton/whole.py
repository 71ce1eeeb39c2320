"""Whole numbers of a launch: polynomials in sizes, strides, program ids, lanes and turns of loops."""

import functools
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Monomial = tuple[str, ...]
Shape = tuple[str, ...]
"""The lane that each axis of a block runs over; empty for an axis of size 1."""
running: list[Any] = []
"""The launches that are followed; the last one says what its values mean together."""


def _operator(how: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return lambda a, b: running[-1].binary(how, a, b), lambda a, b: running[-1].binary(how, b, a)


class Value:
    """What a kernel computes with; Python finds no other operation of it than these."""

    __add__, __radd__ = _operator(operator.add)
    __sub__, __rsub__ = _operator(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul)
    __truediv__, __rtruediv__ = _operator(operator.truediv)
    __floordiv__, __rfloordiv__ = _operator(operator.floordiv)
    __mod__, __rmod__ = _operator(operator.mod)
    __iter__ = None

    def __neg__(self) -> Any:
        return 0 - self

    def __bool__(self) -> bool:
        number = self.number if isinstance(self, Whole) and not self.shape else None
        return bool(number) if number is not None else running[-1].trace.refuse("a branch on data")

    def __getitem__(self, parts: object) -> Any:
        return running[-1].axes(self, parts)

    def to(self, dtype: object) -> Any:
        """The same in another format."""
        return running[-1].cast(self, dtype)


def _collected(terms: Iterable[tuple[Monomial, int]]) -> tuple[tuple[Monomial, int], ...]:
    counts = Counter[Monomial]()
    for monomial, count in terms:
        counts[monomial] += count
    return tuple(sorted((monomial, count) for monomial, count in counts.items() if count))


@dataclass(frozen=True)
class Whole(Value):
    """A polynomial in sorted monomials; its shape; whether it has 64 bits."""

    terms: tuple[tuple[Monomial, int], ...]
    shape: Shape = field(default=(), compare=False)
    wide: bool = field(default=False, compare=False)

    def plus(self, other: "Whole", factor: int = 1) -> "Whole":
        """The sum with a multiple of another one."""
        terms = _collected((*self.terms, *((monomial, factor * n) for monomial, n in other.terms)))
        return Whole(terms, (), self.wide or other.wide)

    def times(self, other: "Whole") -> "Whole":
        """The product."""
        terms = _collected((tuple(sorted(a + b)), m * n) for a, m in self.terms for b, n in other.terms)
        return Whole(terms, (), self.wide or other.wide)

    def split(self, factor: Monomial) -> "tuple[Whole, Whole]":
        """Quotient and rest of the division by a monomial."""
        parts = [(Counter(monomial), n) for monomial, n in self.terms]
        left = ((part - Counter(factor), n) for part, n in parts if part >= Counter(factor))
        divided = Whole(_collected((tuple(sorted(rest.elements())), n) for rest, n in left))
        return divided, Whole(self.plus(divided.times(symbol(*factor)), -1).terms)

    symbols = property(lambda self: {name for monomial, _ in self.terms for name in monomial})
    number = property(lambda self: None if self.symbols else dict(self.terms).get((), 0))

    def __str__(self) -> str:
        return " + ".join("·".join([*([str(n)] if n != 1 or not m else []), *m]) for m, n in self.terms) or "0"


def whole(number: int) -> Whole:
    """A whole number."""
    return Whole(_collected([((), number)]))


def symbol(*names: str) -> Whole:
    """A product of names."""
    return Whole(((tuple(sorted(names)), 1),))


def product(labels: Monomial) -> Whole:
    """A product of sizes; labels n2, n3, … are these numbers."""
    numbers = [whole(int(label[1:])) if re.fullmatch(r"n\d+", label) else symbol(label) for label in labels]
    return functools.reduce(Whole.times, numbers, whole(1))


PROGRAM, SECOND = symbol("program0"), "program1"


def _made(name: str, how: Callable[[int, int], int], a: Whole, b: Whole) -> Whole:
    """The result of two numbers, or else of a name of letters that no other one has."""
    if a.number is not None and b.number is not None:
        return whole(how(a.number, b.number))
    text = f"{name} {a} over {b} end".replace("·", " by ").replace("+", "plus").replace("-", "minus ")
    return symbol("_".join(text.split()))


def quotient(a: Whole, b: Whole) -> Whole:
    """⌈a/b⌉, by a name that says so."""
    return whole(1) if a == b else a if b.number == 1 else _made("ceil", lambda m, n: -(-m // n), a, b)


def floor(a: Whole, b: Whole) -> Whole:
    """⌊a/b⌋, by a name that says so."""
    return a if b.number == 1 else _made("floor", operator.floordiv, a, b)


def least(a: Whole, b: Whole) -> Whole:
    """min(a, b), by a name that says so."""
    return _made("least", min, *sorted((a, b), key=str))


@dataclass
class Space:
    """How many programs there are, the length of each lane, start, stop and step of each turn, and those one is in.

    The `second` programs of a second axis are turns as well.
    """

    grid: Whole
    extents: dict[str, Whole] = field(default_factory=dict)
    loops: dict[str, tuple[Whole, Whole, Whole]] = field(default_factory=dict)
    turning: list[str] = field(default_factory=list)
    second: Whole | None = None

    def __post_init__(self) -> None:
        if self.second is not None:
            self.loops[SECOND], self.turning = (whole(0), self.second, whole(1)), [SECOND]

    def covers_rows(self, row: Whole, count: Whole) -> str | None:
        """How each of `count` rows is counted once, one by one or in tiles with a mask; None if not.

        A ``program`` has one of them, ``every`` one has all, in turns; or they have a ``stride`` or a ``share``. Along
        two axes, programs are numbered one after the other.
        """
        first, grid = PROGRAM, self.grid
        if self.second is not None and SECOND in row.symbols:
            first, grid = PROGRAM.times(self.second).plus(symbol(SECOND)), self.grid.times(self.second)
        lanes = row.symbols & self.extents.keys()
        turns = row.symbols & self.loops.keys() - {SECOND}
        if len(lanes) > 1 or len(turns) > 1:
            return None
        size = self.extents[min(lanes)] if lanes else whole(1)
        start = row.plus(symbol(min(lanes)), -1) if lanes else row
        if not turns:
            return "program" if start == first.times(size) and grid == quotient(count, size) else None
        bounds, turn = self.loops[min(turns)], symbol(min(turns))
        share, rest = bounds[0].split(first.terms[0][0])
        fair = not (lanes or rest.terms) and (quotient(count, grid) == share or quotient(count, share) == grid)
        own = first.times(share)
        ways = {
            "stride": (first.times(size), count, grid.times(size)),
            "every": (whole(0), count, size),
            "share": (own, least(own.plus(share), count) if fair else whole(0), whole(1)),
        }
        found = (way for way, known in ways.items() if bounds == known and start == known[0].plus(turn.times(known[2])))
        return next(found, None)

    def columns(self, column: Whole, d: Whole) -> tuple[str, ...] | None:
        """The lane, after the turn if there is one, by which columns 0, 1, ... are counted; None if they are not."""
        lanes = [name for name in self.extents if name in column.symbols]
        turns = [name for name in (*self.loops, "program0") if name in column.symbols]
        if len(lanes) != 1 or len(turns) > 1:
            return None
        size = self.extents[lanes[0]]
        if not turns:
            return (lanes[0],) if column == symbol(lanes[0]) else None
        start, *more = self.loops.get(turns[0], (whole(0), self.grid, whole(1)))
        counted = start.number == 0 and more in ([d, size], [quotient(d, size), whole(1)])
        in_order = column == symbol(turns[0]).times(size).plus(symbol(lanes[0]))
        return (turns[0], lanes[0]) if counted and in_order else None
