"""Values of a kernel: blocks whose lanes inside of a row are a vector, and whose lanes beyond it are one number."""

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..arrays import PARTS, Arr, filled
from ..reductions import total
from ..sizes import FEATURE, POWERS, Dim, Num
from ..trace import Trace, program_line
from .whole import PROGRAM, Shape, Space, Value, Whole, floor, least, running, symbol, whole

D = symbol(FEATURE)
_SHORT = "offsets of 2³¹ elements and more, which are computed in 32 bits"
_READ = ["lanes beyond the mask read 0"]
_FORMATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Tile(Value):
    """Numbers in a block.

    Attributes:
        inside: Those of the columns of one row, or one number for all.
        columns: What counts the columns, a lane after a turn if there is one; None where all lanes are alike.
        other: The number of each lane beyond the row, None where nothing defines it.
        unread: Whether that is 0 only if lanes beyond the mask of a load without `other` read 0.
        weak: Whether it takes the format of the other operand.
        part: Its summand, if further turns have further parts.
        start: What is added, lane by lane, to the blocks of all turns.
        zero: Whether it is 0 everywhere.
        far: What it is in rows beyond the last one; if nothing is given, the same, since it has no lanes of rows.
    """

    inside: Arr
    shape: Shape = ()
    columns: tuple[str, ...] | None = None
    other: Arr | None = None
    unread: bool = False
    weak: bool = False
    part: "Tile | None" = None
    start: "Tile | None" = None
    zero: bool = False
    far: "Callable[[], Tile] | None" = None

    beyond = property(lambda self: self if self.far is None else self.far())  # what it is in rows beyond the last one
    dtype = property(lambda self: getattr(torch, self.inside.dtype))
    outside = property(lambda self: self.inside if self.columns is None else self.other)
    unfinished = property(lambda self: self.part is not None or self.start is not None)


@dataclass(frozen=True)
class Pointer(Value):
    """Places in the memory of an array, so many elements behind its first."""

    arr: Arr
    offset: Whole

    type = dtype = property(lambda self: self)
    element_ty = property(lambda self: getattr(torch, self.arr.dtype))


@dataclass(frozen=True)
class Window:
    """What ``tl.make_block_ptr`` makes of these arguments."""

    base: Any
    shape: Any
    strides: Any
    offsets: Any
    block_shape: Any
    order: Any = ()

    def __add__(self, steps: Any) -> "Window":
        return replace(self, offsets=tuple(map(operator.add, self.offsets, steps)))


@dataclass(frozen=True)
class Mask(Value):
    """Lanes at which all of these are more than 0."""

    conditions: tuple[Whole, ...]
    shape: Shape

    def __and__(self, other: object) -> Any:
        if not isinstance(other, Mask):
            return self if other is True else NotImplemented
        return Mask(self.conditions + other.conditions, running[-1].broadcast(self.shape, other.shape))

    __rand__ = __and__


class Blocks:
    """Arithmetic of blocks in a launch."""

    def __init__(self, trace: Trace, space: Space) -> None:
        self.trace, self.refuse, self.never, self.space = trace, trace.refuse, trace.never, space
        self.row: Whole | None = None
        self.labels: Dim = ()
        self.terms: list[dict[str, list[Any]]] = []
        self.ended: tuple[str, dict[str, list[Any]]] = "", {}
        self.within: Whole | None = None
        self.formats, self.sums = set[str](), list[tuple[str, str]]()

    def whole(self, value: object) -> Whole | None:
        """A number for addresses, None if it is data."""
        return value if isinstance(value, Whole) else whole(value) if type(value) is int else None

    def size(self, value: object, what: str) -> Whole:
        """A whole number."""
        known = self.whole(value)
        return self.refuse(f"{what} of something else than whole numbers") if known is None else known

    def valued(self, number: Whole) -> Any:
        """A whole number of sizes on the carrier."""
        names, ground = self.trace.symbols, self.trace.ground
        known = {FEATURE: ground.d}
        known |= {name: names.block(name, *block) for name, block in names.blocks.items() if name in number.symbols}
        self.never(number.shape or number.symbols - known.keys(), f"{number} is computed with")
        total = names.constant(0)
        for monomial, count in number.terms:
            total = total + functools.reduce(operator.mul, map(known.__getitem__, monomial), names.constant(count))
        return total

    def data(self, value: object) -> Tile:
        """A number as data."""
        if isinstance(value, Tile):
            return value
        if isinstance(value, Whole):
            return Tile(Arr(self.trace, self.valued(value), (), "float32"), weak=True)
        plain = isinstance(value, Num) or type(value) in (int, float)
        self.never(not plain, f"{type(value).__name__} is used as a number")
        return Tile(filled(self.trace, value, (), "float32"), weak=True, zero=not isinstance(value, Num) and value == 0)

    def broadcast(self, a: Shape, b: Shape) -> Shape:
        """The shape of two blocks together."""
        size = max(len(a), len(b))
        pairs = zip(("",) * (size - len(a)) + a, ("",) * (size - len(b)) + b, strict=True)
        shape = tuple(one or other if not (one and other) or one == other else "?" for one, other in pairs)
        lanes = [lane for lane in shape if lane]
        self.never("?" in shape or len(lanes) != len(set(lanes)), f"blocks of shape {a} and {b} are combined")
        return shape

    def binary(self, how: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """An operation of a kernel: on addresses, on whole numbers, or on data."""
        left, right = self.whole(a), self.whole(b)
        if isinstance(a, Pointer):
            self.never(right is None or how is not operator.add, "an address that is no sum of whole numbers")
            return Pointer(a.arr, self.binary(how, a.offset, right))
        if left is None or right is None or how is operator.truediv:
            self.never(how in (operator.floordiv, operator.mod), "data is divided without remainder")
            return self.combined(a, b, how)
        if how in (operator.floordiv, operator.mod):
            positive = right.number is None or right.number > 0
            self.never(not positive or (left.number or 0) < 0, f"{left} is divided by {right} without remainder")
            made = whole(0) if left == PROGRAM and right == self.space.grid else floor(left, right)
            made = made if how is operator.floordiv else left.plus(made.times(right), -1)
            return replace(made, shape=self.broadcast(left.shape, right.shape), wide=left.wide)
        if how is operator.mul and left.symbols and right.symbols and not (left.wide or right.wide):
            self.trace.report.unexamined.add(_SHORT)
        made = left.times(right) if how is operator.mul else left.plus(right, 1 if how is operator.add else -1)
        return replace(made, shape=self.broadcast(left.shape, right.shape))

    def _columns(self, *tiles: Tile) -> tuple[str, ...] | None:
        """What counts the columns of several blocks."""
        self.never(any(tile.unfinished for tile in tiles), "the sum of one block is used before all are added")
        known = {tile.columns for tile in tiles if tile.columns}
        self.never(len(known) > 1, "blocks of other columns are combined")
        return next(iter(known), None)

    def _dtype(self, a: Tile, b: Tile) -> str:
        formats = {tile.inside.dtype for tile in (a, b) if not tile.weak}
        return "float32" if formats == set(_FORMATS[:2]) else max(formats or {"float32"}, key=_FORMATS.index)

    def combined(self, first: object, second: object, how: Callable[[Any, Any], Any]) -> Tile:
        """A binary operation on data, lane by lane; beyond the row a quotient of columns is not defined."""
        a, b = self.data(first), self.data(second)
        columns, dtype = self._columns(a, b), self._dtype(a, b)
        divides = how is operator.truediv
        inside = a.inside.divided(b.inside, dtype) if divides else a.inside.combined(b.inside, how, dtype)
        lost = columns is None or a.outside is None or b.outside is None or (divides and b.columns)
        other = None if lost else a.outside.combined(b.outside, how, dtype)  # type: ignore[union-attr]
        shape, weak = self.broadcast(a.shape, b.shape), a.weak and b.weak and columns is None
        far = (lambda: self.combined(a.beyond, b.beyond, how)) if a.far or b.far else None
        return Tile(inside, shape, columns, other, a.unread or b.unread, weak, far=far)

    def applied(self, value: object, how: Callable[[Arr], Arr], *, everywhere: bool = False) -> Tile:
        """A function of each lane; beyond the row it is defined if it is `everywhere`."""
        tile = self.data(value)
        self._columns(tile)
        other = how(tile.other) if everywhere and tile.other else None
        far = tile.far and (lambda: self.applied(tile.beyond, how, everywhere=everywhere))
        return replace(tile, inside=how(tile.inside), other=other, zero=tile.zero and everywhere, far=far)

    def cast(self, value: Any, dtype: Any) -> Any:
        """The same numbers in another format."""
        name = str(dtype).removeprefix("torch.")
        if isinstance(value, Whole) and name in ("int32", "int64"):
            return replace(value, wide=name == "int64")
        self.never(name not in _FORMATS, "a cast to something else than a format of floats")
        if name in _FORMATS[:2] and name not in self.formats:
            self.trace.report.unexamined.add(f"what a cast to {name}, which no array has, rounds off or makes infinite")
        return replace(self.applied(value, lambda x: x.cast(name), everywhere=True), weak=False)

    def compared(self, how: str, a: Any, b: Any) -> Any:
        """A comparison: of formats, of numbers of Python, of whole numbers."""
        a, b = (x.number if isinstance(x, Whole) and not x.shape and x.number is not None else x for x in (a, b))
        numbers = all(type(one) in (int, float) for one in (a, b))
        formats = how in ("eq", "ne") and type(a) is type(b) and isinstance(a, torch.dtype | str)
        if numbers or formats or (how in ("is_", "is_not") and b is None):
            return getattr(operator, how)(a, b)
        self.never(how not in ("lt", "le", "gt", "ge"), "data is compared")
        left, right = (self.size(one, "a comparison") for one in ((a, b) if how in ("lt", "le") else (b, a)))
        gap, shape = right.plus(left, -1).plus(whole(int(how in ("le", "ge")))), self.broadcast(left.shape, right.shape)
        rest = self.space.grid.plus(PROGRAM, -1)  # there are more programs than the number of this one
        if not shape and gap in (rest, whole(1).plus(rest, -1)):
            return gap == rest
        return Mask((gap,), shape) if shape else self.trace.decisions.decide(self.valued(gap), ">")

    def axes(self, value: Any, parts: object) -> Any:
        """A block with axes of size 1 beside its own."""
        old = list(getattr(value, "shape", ("?",)))
        given = parts if isinstance(parts, tuple) else (parts,)
        new = ["" if part is None else old.pop(0) if part == slice(None) and old else "?" for part in given]
        self.never(old or "?" in new or getattr(value, "unfinished", False), "a part of a block is taken")
        return self._shaped(value, tuple(new))

    def broadcast_to(self, value: Any, *sizes: Any) -> Any:
        """A block with lanes along axes of size 1."""
        value, lanes = value if isinstance(value, Whole) else self.data(value), self._lanes(*sizes)
        other = self.broadcast(value.shape, lanes) != lanes
        self.never(other, f"a block of shape {value.shape} becomes one of {lanes}")
        return self._shaped(value, lanes)

    def _shaped(self, value: Any, shape: Shape) -> Any:
        far = getattr(value, "far", None)
        return replace(value, shape=shape, **({"far": lambda: self._shaped(far(), shape)} if far else {}))

    def arange(self, start: Any, end: Any) -> Whole:
        """The numbers of lanes."""
        self.never(type(start) is not int or start, "lanes that begin later")
        lane = self._lane(end)
        return replace(symbol(lane) if lane else whole(0), shape=(lane,))

    def full(self, shape: Any, value: Any, dtype: Any) -> Tile:
        """A block of one number."""
        one = self.cast(self.data(value), dtype)
        self.never(one.columns or one.shape or one.unfinished, "a block of a block")
        return replace(one, shape=self.broadcast((), self._lanes(shape)))

    def _lanes(self, *sizes: Any) -> Shape:
        return tuple(map(self._lane, sizes[0] if isinstance(sizes[0], tuple | list) else sizes))

    def _lane(self, size: object) -> str:
        """The lane of an axis with so many elements."""
        extent = self.size(size, "a block")
        number, name = extent.number, f"lane {extent}"
        power = number is not None and number > 0 and number & (number - 1) == 0
        if extent == D:
            self.trace.report.unexamined.add(POWERS)
        unknown = not power and extent != D and str(extent) not in self.trace.symbols.blocks
        self.never(unknown, f"a block of {extent} lanes, which need be no power of 2")
        self.space.extents |= {} if number == 1 else {name: extent}
        return "" if number == 1 else name

    def where(self, condition: Any, first: Any, second: Any) -> Tile:
        """The first block inside of a row, or in the rows that there are, and the second one beyond."""
        self.never(not isinstance(condition, Mask), "a choice by data")
        limits = [one for one in condition.conditions if one != self.within]  # the row that is followed is one
        rows, a, b = len(limits) < len(condition.conditions), self.data(first), self.data(second)
        shape = self.broadcast(self.broadcast(a.shape, b.shape), condition.shape)
        if rows and not limits:
            self._columns(a, b)
            return replace(a, shape=shape, zero=False, far=lambda: b.beyond)
        self.never(len(limits) != 1, "a choice by several masks, or by none of columns")
        counted = self.space.columns(D.plus(limits[0], -1), D)  # of the column that d exceeds
        self.never(counted is None, "a choice of lanes")
        columns, dtype = self._columns(Tile(a.inside, (), counted), a, b), self._dtype(a, b)
        other = None if b.outside is None else b.outside.cast(dtype)
        alone = Mask((limits[0],), condition.shape)
        far = (lambda: self.where(alone, (b if rows else a).beyond, b.beyond)) if a.far or b.far or rows else None
        return Tile(a.inside.cast(dtype), shape, columns, other, b.unread, far=far)

    def sum(self, value: Any, axis: Any = None, keep_dims: bool = False) -> Tile:
        """The sum over the columns: inside the row, and over the lanes beyond it."""
        tile = self.data(value)
        start, tile = tile.start, replace(tile, start=None)
        columns, axes, kept = self._columns(tile) or ("no lane",), len(tile.shape), ("",) * bool(keep_dims)
        place = tile.shape.index(columns[-1]) if columns[-1] in tile.shape else axes
        alone = axis is None and not any(tile.shape[:place] + tile.shape[place + 1 :])
        at = axis % axes if type(axis) is int and -axes <= axis < axes else place if alone else axes
        lane, shape = "".join(tile.shape[at : at + 1]), tile.shape[:at] + kept + tile.shape[at + 1 :]
        far = tile.far and (lambda: self.sum(tile.beyond, axis, keep_dims))
        if lane in self.row_lanes:
            return self._over_rows([tile], shape)
        if start is None and axes > 1 and type(axis) is int and at < axes and not lane:
            return replace(tile, shape=shape, far=far)
        self.never(at != place or at == axes, "a sum over something else than the columns of a row")
        none = columns[-1] in self.space.extents and self.space.extents[columns[-1]] == D
        self.never(tile.outside is None and not none, "a sum over lanes beyond the row, which nothing defines")
        self.trace.report.conditions.update(_READ[: tile.unread])
        shape = kept * axes if alone else shape
        if start is None and len(columns) == 2:
            return Tile(tile.inside, shape, part=tile)
        total = self._total(tile)
        if start is not None:
            lanes = self.valued(self.space.extents[columns[-1]])
            total = total.combined(start.inside.like(start.inside.value * lanes), operator.add)
        return Tile(total, shape, far=far)

    def _total(self, tile: Tile) -> Arr:
        """The sum over all lanes, of all turns if there are several."""
        *turns, lane = tile.columns or ("",)
        size = self.space.extents[lane]
        names = self.trace.symbols
        at = names.at(str(size)) or (lambda _: size.number or 1)
        # All turns together have as many lanes as the blocks that d needs.
        lanes = names.block(f"all_{size}", lambda d: -(-d // at(d)) * at(d), False) if turns else self.valued(size)
        inside = total(self.vector(tile.inside), -1)
        if size == D and not turns:
            return inside
        return inside.combined(tile.outside.like(tile.outside.value * (lanes - self.trace.ground.d)), operator.add)

    def vector(self, arr: Arr) -> Arr:
        """Columns that may all be one number."""
        return arr if arr.axes else arr.combined(arr.filled(1, [(FEATURE,)]), operator.mul)

    def turns(self, *bounds: Any, num_stages: int = 0) -> Iterator[Whole]:
        """The body of a loop once, on an arbitrary turn."""
        given = [self.size(bound, "a range") for bound in bounds]
        self.never(any(bound.shape for bound in given), "a range of blocks")
        start, stop, step = [*([whole(0)] if len(given) == 1 else []), *given, whole(1)][:3]
        turn = f"turn{len(self.space.loops)}"
        self.space.loops[turn] = start, stop, step
        self.space.turning.append(turn)
        self.terms.append({})
        yield start.plus(symbol(turn).times(step))
        self.ended = self.space.turning.pop(), self.terms.pop()

    def stepped(self, value: Any, step: Any) -> Any:
        """An address or a whole number to which each turn before has added a step."""
        if isinstance(value, Window):
            return value + [self.stepped(0, one) for one in step]
        self.never(not isinstance(value, Pointer | Whole | int), "data is read in the loop that adds to it")
        return self.binary(operator.add, value, self.size(step, "a step").times(symbol(self.space.turning[-1])))

    def hinted(self, value: Any, *_: object) -> Any:
        """What the compiler is told of a value."""
        self.trace.report.unexamined.add("whether hints to Triton's compiler are true")
        return value

    def least(self, *values: Any) -> Any:
        """The smaller one of two whole numbers."""
        if all(type(value) in (int, float) for value in values):
            return min(values)
        a, b = (self.size(value, "a minimum") for value in values)
        self.never(a.shape or b.shape, "the minimum of blocks")
        return replace(least(a, b), wide=a.wide or b.wide)

    row_lanes = property(lambda self: self.row.symbols & self.space.extents.keys() if self.row is not None else set())

    def _over_rows(self, terms: list[Tile], shape: Shape | None = None) -> Tile:
        """The sum over the rows of one program, kept as its summand: over an axis of lanes, or over turns.

        Rows beyond the last one add nothing to it.
        """
        tile, parts = functools.reduce(lambda a, b: self.combined(a, b, operator.add), terms), self._parts
        self.never(tile.unfinished, "a sum over rows of what is not all added")
        whole_rows, lanes = tile.inside.summed and not parts <= tile.inside.summed, self.row_lanes
        self.never(lanes - set(tile.shape) and not whole_rows, "a sum over turns of what each row adds once")
        if lanes and not whole_rows:
            self.trace.report.conditions.update(_READ[: tile.beyond.unread])
            nothing = self.trace.decisions.always(tile.beyond.inside.value, "=", *self.trace.values.squares)
            self.never(not nothing, "a sum over rows beyond the last one, which need not be 0")
        summed = tile.inside.summed - parts or frozenset(self.labels)
        inside, other = (
            one and Arr(self.trace, one.value, one.axes, one.dtype, summed=summed) for one in (tile.inside, tile.other)
        )
        return replace(tile, inside=inside, other=other, shape=tile.shape if shape is None else shape, far=None)

    _parts = property(lambda self: frozenset(PARTS + label for label in self.labels))

    def after_turns(self, name: str, start: object) -> object:
        """A number, or a block of numbers, and what all turns of the last loop have added to it."""
        turn, terms = self.ended[0], self.ended[1][name]
        first = self.data(start)
        tiles = [term for term in terms if isinstance(term, Tile)]
        if self.row is not None and turn in self.row.symbols:
            each = not set(self.space.turning) - self.row.symbols and len(tiles) == len(terms)
            self.never(not (each and first.zero), "a sum over rows that does not begin with 0, or of something else")
            total, (begin, _, step) = self._over_rows(tiles), self.space.loops[turn]
            self.sums.append((f"{begin} {step}", program_line()))
            shape = self.broadcast(first.shape, total.shape)
            self.never(shape != first.shape, "a sum over rows of another shape")
            return self.cast(replace(total, shape=shape), getattr(torch, first.inside.dtype))
        parts = [tile if tile.part is None else tile.part for tile in tiles]
        of_row = len(tiles) == len(terms) and all((part.columns or ("",))[0] == turn for part in parts)
        known = of_row and not first.columns and not first.unfinished and not isinstance(start, Whole)
        self.never(not known, "a sum over turns of something else than the blocks of a row")
        if all(tile.part is not None for tile in tiles):
            for tile, part in zip(tiles, parts, strict=True):
                first = self.combined(first, Tile(self._total(part), tile.shape), operator.add)
            return first
        block = functools.reduce(lambda a, b: self.combined(a, b, operator.add), tiles)
        self.never(self.broadcast(first.shape, block.shape) != first.shape, "a block is added to one of another shape")
        return replace(block, shape=first.shape, start=first)
