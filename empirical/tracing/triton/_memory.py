"""What a launch reads and writes: which row and which columns an address is, and that a store covers each row once."""

from __future__ import annotations

from typing import Any

from .._arrays import Arr, Memory
from .._layout import checked, distance
from .._sizes import FEATURE, Dim
from .._trace import Trace
from ._blocks import Blocks, D, Mask, Pointer, Tile
from ._whole import Space, Whole, symbol


class Accesses(Blocks):
    """The loads and stores of one launch."""

    def __init__(self, trace: Trace, grid: Whole, tuned: bool, second: Whole | None = None) -> None:
        super().__init__(trace, Space(grid, second=second))
        self.tuned = tuned
        self.rows: tuple[Whole, Dim] | None = None
        self.read, self.written = list[Memory](), list[Memory]()

    def _place(self, pointer: object, mask: object) -> tuple[str, ...] | None:
        """What counts the columns of an address, None where it has none; its row and its mask are as they must be."""
        if not isinstance(pointer, Pointer):
            return self.refuse("what is no address is read or written")
        offset, labels = pointer.offset, pointer.arr.memory.labels
        checked(pointer.arr)
        rows, vector = tuple(label for label in labels if label != FEATURE), FEATURE in labels
        row, column = offset, Whole(())
        if vector:
            row, column = offset.split(distance(pointer.arr)) if rows else (Whole(()), offset)
        needed, allowed = list[Whole](), list[Whole]()
        if rows:
            count = symbol(*rows)
            way = self.space.covers_rows(row, count)
            self.never(way is None, f"element {offset} of {self.space.grid} programs: not each row once, or not known")
            self.never(self.rows not in (None, (row, rows)), f"row {row} of one array beside another row of another")
            self.rows, self.within = (row, rows), count.plus(row, -1)
            (needed if way == "tile" else allowed).append(self.within)
        self.never(not rows and row.terms, f"element {offset} of an array without rows")
        both = row.symbols & column.symbols & (self.space.extents.keys() | self.space.loops.keys())
        self.never(both, f"element {offset}: one lane counts rows and columns")
        columns = self.space.columns(column, D) if vector else None
        if vector:
            needed.append(D.plus(column, -1))
            self._reaches(*(columns or self.refuse(f"element {offset}: not all columns of a row, in order")))
        self._masked(mask, offset, needed, allowed)
        return columns

    def _masked(self, mask: object, offset: Whole, needed: list[Whole], allowed: list[Whole]) -> None:
        mask = Mask((), ()) if mask is None or mask is True else mask
        if not isinstance(mask, Mask) or self.broadcast(mask.shape, offset.shape) != offset.shape:
            self.refuse("a mask that is no comparison of lanes with sizes, or of another shape")
        given = set(mask.conditions)
        missing = " and ".join(f"{one} > 0" for one in needed if one not in given)
        self.never(missing, f"an access that is not masked by {missing}")
        self.never(given - {*needed, *allowed}, "a mask that leaves out more than what lies beyond a row")

    def _reaches(self, *columns: str) -> None:
        """Refuse a lane without turns that may end before the row does."""
        extent = self.space.extents[columns[-1]]
        known = len(columns) > 1 or self.trace.ground.sign(self.valued(extent.plus(D, -1)), ">=")
        unknown = known is None and self.trace.replayed is None
        self.never(known is False or unknown, f"{extent} lanes need not reach the end of a row")

    def load(self, pointer: Any, mask: Any = None, other: Any = None) -> Tile:
        """What lies in memory, for lanes inside of a row, and `other` for the rest."""
        columns, arr = self._place(pointer, mask), pointer.arr
        self.never(arr.memory.undefined, "memory is read that nothing was written into")
        self.never(arr.memory in self.written, "memory is read that the same launch writes, which nothing orders")
        self.never(arr.summed, "a kernel reads a sum over rows")
        self.read.append(arr.memory)
        inside = Arr(self.trace, arr.value, [(FEATURE,)] if columns else [], arr.dtype)
        if columns is None:
            return Tile(inside, pointer.offset.shape)
        outside = None if other is None else self.data(other)
        if outside is None:
            return Tile(inside, pointer.offset.shape, columns)
        self.never(outside.columns or outside.inside.axes or outside.unfinished, "several numbers beyond a row")
        return Tile(inside, pointer.offset.shape, columns, outside.inside.cast(arr.dtype))

    def store(self, pointer: Any, value: Any, mask: Any = None) -> None:
        """Write each row of an array, once."""
        columns, tile = self._place(pointer, mask), self.data(value)
        offset, arr, memory = pointer.offset, pointer.arr, pointer.arr.memory
        self.never(not set(memory.labels) - {FEATURE}, "every program writes into the same place")
        again = memory in self.written or set(self.space.turning) - offset.symbols
        self.never(again, "a launch writes into one place twice: again, or by each turn or program of a second axis")
        other = tile.unfinished or tile.columns not in (None, columns) or (columns is None and tile.inside.axes)
        other = other or self.broadcast(tile.shape, offset.shape) != offset.shape
        self.never(other, "what is stored has other columns, or another shape, than where it is stored")
        runs_again = self.tuned and memory in self.read
        self.never(runs_again, "an autotuned kernel, which runs several times, writes into what it reads")
        self.written.append(memory)
        if memory.name:
            self.trace.notes.add(f"it writes into its input {memory.name}")
        inside = self.vector(tile.inside) if columns else tile.inside
        memory.become(self.trace.ground.rounded(inside.value, arr.dtype))
