"""Values of a kernel: blocks whose lanes inside of a row are a vector, and whose lanes beyond it are one number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .._arrays import Arr, filled
from .._sizes import FEATURE, Num
from .._trace import Trace
from ._whole import Shape, Space, Whole, symbol, whole

D = symbol(FEATURE)
_SHORT = ("float16", "bfloat16")


@dataclass(frozen=True)
class Tile:
    """Numbers in a block.

    Attributes:
        inside: Those of the columns of one row, or one number for all.
        outside: That of each lane beyond the row, None where nothing defines it.
        columns: What counts the columns, a lane after a turn if there is one; None where all lanes are alike.
        weak: Whether it has the format of what it is combined with.
        part: The block of which this is the sum, if further turns have further parts.
    """

    inside: Arr
    outside: Arr | None
    shape: Shape = ()
    columns: tuple[str, ...] | None = None
    weak: bool = False
    part: Tile | None = None


@dataclass(frozen=True)
class Pointer:
    """Places in the memory of an array, so many elements behind its first."""

    arr: Arr
    offset: Whole


@dataclass(frozen=True)
class Mask:
    """Lanes at which all of these are more than 0."""

    conditions: tuple[Whole, ...]
    shape: Shape


@dataclass(frozen=True)
class Sums:
    """Lane by lane, a number and a block of each turn."""

    start: Tile
    block: Tile


class Blocks:
    """Arithmetic of blocks in a launch."""

    def __init__(self, trace: Trace, space: Space) -> None:
        self.trace, self.space = trace, space

    def alike(self, arr: Arr, shape: Shape = (), *, weak: bool = False) -> Tile:
        """A block of one number."""
        return Tile(arr, arr, shape, weak=weak)

    def valued(self, number: Whole) -> Any:
        """A whole number of sizes on the carrier."""
        trace = self.trace
        known = {FEATURE: trace.ground.d}
        known |= {name: trace.block(name, at) for name, at in trace.blocks.items() if name in number.symbols}
        if number.shape or number.symbols - known.keys():
            trace.refuse(f"{number} is computed with")
        total = trace.constant(0)
        for monomial, count in number.terms:
            term = trace.constant(count)
            for name in monomial:
                term = term * known[name]
            total = total + term
        return total

    def data(self, value: object) -> Tile:
        """A number as data."""
        if isinstance(value, Tile):
            return value
        if isinstance(value, Whole):
            return self.alike(Arr(self.trace, self.valued(value), (), "float32"), weak=True)
        if not isinstance(value, Num) and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.trace.refuse(f"{type(value).__name__} is used as a number")
        return self.alike(filled(self.trace, value, (), "float32"), weak=True)

    def broadcast(self, a: Shape, b: Shape) -> Shape:
        """The shape of two blocks together."""
        size = max(len(a), len(b))
        pairs = zip(("",) * (size - len(a)) + a, ("",) * (size - len(b)) + b, strict=True)
        shape = tuple(one or other if not (one and other) or one == other else "?" for one, other in pairs)
        lanes = [lane for lane in shape if lane]
        if "?" in shape or len(lanes) != len(set(lanes)):
            self.trace.refuse(f"blocks of shape {a} and {b} are combined")
        return shape

    def _columns(self, *tiles: Tile) -> tuple[str, ...] | None:
        """What counts the columns of several blocks."""
        if any(tile.part for tile in tiles):
            self.trace.refuse("the sum of one block is used before all are added")
        known = {tile.columns for tile in tiles if tile.columns}
        if len(known) > 1:
            self.trace.refuse("blocks of other columns are combined")
        return next(iter(known), None)

    def _dtype(self, a: Tile, b: Tile) -> str:
        formats = {tile.inside.dtype for tile in (a, b) if not tile.weak}
        if formats == set(_SHORT):
            return "float32"
        return max(formats or {"float32"}, key=[*_SHORT, "float32", "float64"].index)

    def combined(self, first: object, second: object, how: Callable[[Any, Any], Any]) -> Tile:
        """A binary operation, lane by lane."""
        a, b = self.data(first), self.data(second)
        columns, dtype = self._columns(a, b), self._dtype(a, b)
        divides = how is operator.truediv
        inside = a.inside.divided(b.inside, dtype) if divides else a.inside.combined(b.inside, how, dtype)
        shape, weak = self.broadcast(a.shape, b.shape), a.weak and b.weak
        if columns is None:
            return Tile(inside, inside, shape, weak=weak)
        lost = a.outside is None or b.outside is None or (divides and b.columns)
        return Tile(inside, None if lost else a.outside.combined(b.outside, how, dtype), shape, columns)  # type: ignore

    def applied(self, value: object, how: Callable[[Arr], Arr], *, everywhere: bool = False) -> Tile:
        """A function of each lane; beyond the row it is defined if it is `everywhere`."""
        tile = self.data(value)
        columns, inside = self._columns(tile), how(tile.inside)
        outside = how(tile.outside) if everywhere and tile.outside is not None else None
        return replace(tile, inside=inside, outside=inside if columns is None else outside)

    def chosen(self, columns: tuple[str, ...] | None, shape: Shape, a: object, b: object) -> Tile:
        """The first block inside of the row, the second beyond it."""
        first, second = self.data(a), self.data(b)
        dtype, shape = self._dtype(first, second), self.broadcast(self.broadcast(first.shape, second.shape), shape)
        mark = Tile(first.inside, None, (), columns)
        columns = self._columns(mark, first, second)
        inside = first.inside.cast(dtype)
        outside = inside if columns is None else second.outside and second.outside.cast(dtype)
        return Tile(inside, outside, shape, columns)

    def summed(self, value: object, axis: object, keep: bool) -> Tile:
        """The sum over the columns: that inside of the row, and as often as there are lanes beyond it what is there."""
        start = value.start if isinstance(value, Sums) else None
        tile = value.block if isinstance(value, Sums) else self.data(value)
        columns = self._columns(tile)
        place = 0 if axis is None and len(tile.shape) == 1 else axis
        if columns is None or not isinstance(place, int) or not -len(tile.shape) <= place < len(tile.shape):
            return self.trace.refuse("a sum over something else than the columns of a row")
        place %= len(tile.shape)
        if tile.shape[place] != columns[-1]:
            self.trace.refuse("a sum over rows")
        if tile.outside is None:
            self.trace.refuse("a sum over lanes beyond the row, which nothing defines")
        shape = tuple(lane if k != place else "" for k, lane in enumerate(tile.shape) if k != place or keep)
        if start is None and len(columns) == 2:
            return Tile(tile.inside, None, shape, part=tile)
        total = self.total(tile)
        size = self.valued(self.space.extents[columns[-1]])
        if start is not None:
            total = total.combined(start.inside.like(start.inside.value * size), operator.add)
        return self.alike(total, shape)

    def total(self, tile: Tile) -> Arr:
        """The sum over all lanes, of all turns if there are several."""
        trace, columns, inside = self.trace, tile.columns, tile.inside
        if columns is None or tile.outside is None:
            return trace.refuse("a sum over lanes beyond the row, which nothing defines")
        size = self.space.extents[columns[-1]]
        lanes = self.valued(size) if len(columns) == 1 else self._all(size)
        beyond = tile.outside.like(tile.outside.value * (lanes - trace.ground.d))
        return self.vector(inside).sum(-1).combined(beyond, operator.add)

    def vector(self, arr: Arr) -> Arr:
        """Columns that may all be one number."""
        return arr if arr.axes else arr.combined(arr.filled(1, [(FEATURE,)]), operator.mul)

    def _all(self, size: Whole) -> Any:
        """As many lanes as all blocks have that a row needs."""
        number, at = size.number, self.trace.blocks.get(str(size))

        def lanes(d: int) -> int:
            block = at(d) if at else number or 1
            return -(-d // block) * block

        return self.trace.block(f"all_{size}", lanes)

    def reaches(self, lane: str) -> None:
        """Refuse a lane that may end before the row does."""
        trace, extent = self.trace, self.space.extents[lane]
        known = trace.ground.sign(self.valued(extent.plus(D, -1)), ">=")
        if known is False or (known is None and trace.replayed is None):
            trace.refuse(f"{extent} lanes need not reach the end of a row")

    def lane(self, extent: Whole) -> str:
        """The lane of an axis with so many elements."""
        if extent.number == 1:
            return ""
        number, name = extent.number, f"lane {extent}"
        power = number is not None and number > 0 and number & (number - 1) == 0
        if not power and str(extent) not in self.trace.blocks:
            self.trace.refuse(f"a block of {extent} lanes, which need be no power of 2")
        self.space.extents[name] = extent
        return name

    def whole(self, value: object) -> Whole | None:
        """A number of which addresses are made, None if it is data."""
        if isinstance(value, Whole):
            return value
        return whole(value) if type(value) is int else None
