"""What a launch reads and writes: which row and which columns an address is, and that a store covers each row once."""

from __future__ import annotations

from .._arrays import Arr, Memory
from .._layout import checked, distance
from .._sizes import FEATURE, Dim
from .._trace import Trace
from ._blocks import Blocks, D, Mask, Pointer, Tile
from ._whole import Space, Whole, symbol

_SHORT = "offsets of 2³¹ elements and more, which are computed in 32 bits"


class Accesses:
    """The loads and stores of one launch."""

    def __init__(self, trace: Trace, space: Space, blocks: Blocks, tuned: bool) -> None:
        self.trace, self.space, self.blocks, self.tuned = trace, space, blocks, tuned
        self.row: Whole | None = None
        self.labels: Dim = ()
        self.loaded: list[Memory] = []
        self.stored: list[Memory] = []

    def _place(self, pointer: Pointer, mask: object) -> tuple[str, ...] | None:
        """What counts the columns of an address, None where it has none; its row and its mask are as they must be."""
        trace, labels = self.trace, pointer.arr.memory.labels
        checked(pointer.arr)
        if pointer.offset.short:
            trace.unexamined.add(_SHORT)
        rows, vector = tuple(label for label in labels if label != FEATURE), FEATURE in labels
        row, column = pointer.offset, Whole(())
        if vector:
            row, column = pointer.offset.split(distance(pointer.arr)) if rows else (Whole(()), pointer.offset)
        needed, allowed = list[Whole](), list[Whole]()
        if rows:
            count = symbol(*rows)
            way = self.space.covers_rows(row, count)
            if way is None:
                trace.refuse(f"element {pointer.offset} of {self.space.grid} programs: not each row once, or not known")
            if self.row is not None and (self.row != row or self.labels != rows):
                trace.refuse(f"row {row} of one array beside row {self.row} of another")
            self.row, self.labels = row, rows
            (needed if way == "tile" else allowed).append(count.plus(row, -1))
        elif row.terms:
            trace.refuse(f"element {pointer.offset} of an array without rows")
        if row.symbols & column.symbols & (self.space.extents.keys() | self.space.loops.keys()):
            trace.refuse(f"element {pointer.offset}: one lane counts rows and columns")
        columns = self.space.columns(column, D) if vector else None
        if vector and columns is None:
            trace.refuse(f"element {pointer.offset}: not all columns of a row, in order")
        if columns:
            needed.append(D.plus(column, -1))
            if len(columns) == 1:
                self.blocks.reaches(columns[0])
        shape = pointer.offset.shape
        if isinstance(mask, Mask) and self.blocks.broadcast(mask.shape, shape) != shape:
            trace.refuse("a mask of another shape than where it is used")
        self._masked(mask, needed, allowed)
        return columns

    def _masked(self, mask: object, needed: list[Whole], allowed: list[Whole]) -> None:
        if mask is not None and mask is not True and not isinstance(mask, Mask):
            self.trace.refuse("a mask that is no comparison of lanes with sizes")
        given = set(mask.conditions if isinstance(mask, Mask) else ())
        if missing := [f"{one} > 0" for one in needed if one not in given]:
            self.trace.refuse(f"an access that is not masked by {' and '.join(missing)}")
        if given - {*needed, *allowed}:
            self.trace.refuse("a mask that leaves out more than what lies beyond a row")

    def load(self, pointer: Pointer, mask: object, other: object) -> Tile:
        """What lies in memory, for lanes inside of a row, and `other` for the rest."""
        arr, trace = pointer.arr, self.trace
        columns = self._place(pointer, mask)
        if arr.memory.undefined:
            trace.refuse("memory is read that nothing was written into")
        if arr.memory in self.stored:
            trace.refuse("memory is read that the same launch writes")
        if arr.summed:
            trace.refuse("a kernel reads a sum over rows")
        self.loaded.append(arr.memory)
        inside = Arr(trace, arr.value, [(FEATURE,)] if columns else [], arr.dtype)
        if columns is None:
            return Tile(inside, inside, pointer.offset.shape)
        outside = None if other is None else self.blocks.data(other)
        if outside is not None and (outside.columns or outside.inside.axes or outside.part):
            trace.refuse("lanes beyond a row get several numbers")
        return Tile(inside, outside and outside.inside.cast(arr.dtype), pointer.offset.shape, columns)

    def store(self, pointer: Pointer, value: object, mask: object) -> None:
        """Write each row of an array, once."""
        arr, trace, tile = pointer.arr, self.trace, self.blocks.data(value)
        columns, memory = self._place(pointer, mask), pointer.arr.memory
        if not [label for label in memory.labels if label != FEATURE]:
            trace.refuse("every program writes into the same place")
        if memory in self.stored or set(self.space.turning) - pointer.offset.symbols:
            trace.refuse("a launch writes into one place twice, or in a loop of any number of turns")
        if tile.part or tile.columns not in (None, columns) or (columns is None and tile.inside.axes):
            trace.refuse("what is stored has other columns than where it is stored")
        if self.blocks.broadcast(tile.shape, pointer.offset.shape) != pointer.offset.shape:
            trace.refuse("what is stored has another shape than where it is stored")
        if self.tuned and memory in self.loaded:
            trace.refuse("an autotuned kernel, which runs several times, writes into what it reads")
        self.stored.append(memory)
        if memory.name:
            trace.notes.add(f"it writes into its input {memory.name}")
        inside = self.blocks.vector(tile.inside) if columns else tile.inside
        memory.become(trace.ground.rounded(inside.value, arr.dtype))
