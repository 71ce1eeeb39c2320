"""What a launch reads and writes: which row and which columns an address is, and that a store covers each row once."""

import operator
from dataclasses import replace
from typing import Any

from ..arrays import PARTS, Arr, Memory
from ..layout import checked, distance
from ..sizes import FEATURE
from ..trace import Trace, program_line
from .blocks import Blocks, D, Mask, Pointer, Tile
from .whole import PROGRAM, Space, Whole, product, symbol


class Accesses(Blocks):
    """The loads and stores of one launch."""

    def __init__(self, trace: Trace, grid: Whole, tuned: bool, second: Whole | None = None) -> None:
        super().__init__(trace, Space(grid, second=second))
        self.tuned = tuned
        self.read, self.written = list[Memory](), list[Memory]()
        self.kernel, self.line, self.of_rows = "", program_line(), False
        self.options, self.given = dict[str, str](), dict[str, str]()

    @property
    def order(self) -> dict[str, str]:
        """What decides in which order numbers are summed: the lengths of blocks, by the arguments that have them."""
        names = {size: name for name, size in self.given.items()}
        sizes = (str(extent) for extent in self.space.extents.values())
        return {names.get(size, size): size for size in sizes} | self.options

    def _place(self, pointer: Any, mask: Any, *, parts: bool = False, adds: bool = False) -> tuple[str, ...] | None:
        """What counts the columns of an address, None where it has none; its row and its mask are as they must be.

        What holds `parts` of a sum over rows has rows of its own, one for each program; what each row `adds` to is the
        one that its remainder numbers.
        """
        if not isinstance(pointer, Pointer):
            return self.refuse("what is no address is read or written")
        offset, labels = pointer.offset, pointer.arr.memory.labels
        checked(pointer.arr)
        rows, vector = tuple(label for label in labels if label != FEATURE), FEATURE in labels
        row, column = (Whole(()), offset) if vector and not rows else offset.split(distance(pointer.arr))
        needed, allowed = list[Whole](), list[Whole]()
        if rows and adds:
            rest = self.binary(operator.mod, self.row, product(rows))
            self.never(row != rest, f"element {offset}: not the remainder of a row")
        elif rows:
            count = product(rows)
            way = self.space.covers_rows(row, count)
            self.never(way is None, f"element {offset} of {self.space.grid} programs: not each row once, or not known")
            if parts:
                own = way == "program" and self.row is not None and "program0" in self.row.symbols
                self.never(not own, "parts of a sum over rows, otherwise than one for each program")
            else:
                other = self.row is not None and (self.row, self.labels) != (row, rows)
                self.never(other, f"row {row} of one array beside another row of another")
                self.row, self.labels, self.within = row, rows, count.plus(row, -1)
            (needed if row.symbols & self.space.extents.keys() else allowed).append(count.plus(row, -1))
        self.never(not rows and row.terms, f"element {offset} of an array without rows")
        both = row.symbols & column.symbols & {*self.space.extents, *self.space.loops, *PROGRAM.symbols}
        self.never(both, f"element {offset}: one lane counts rows and columns")
        columns = self.space.columns(column, D) if vector else None
        if vector:
            full = self.space.extents[columns[-1]] == D if columns else False
            (allowed if full else needed).append(D.plus(column, -1))
            self.never(columns is None, f"element {offset}: not all columns of a row, in order")
            if len(columns or ()) == 1:  # a lane without turns may end before the row does
                extent = self.space.extents[columns[-1]]  # type: ignore[index]
                least = [D, *(symbol(name) for name in self.trace.symbols.blocks if name == "pow2d")]  # each ≥ d
                signs = [self.trace.ground.sign(self.valued(extent.plus(size, -1)), ">=") for size in least]
                known = True in signs or signs[0]
                unknown = known is False or (known is None and self.trace.replayed is None)
                self.never(unknown, f"{extent} lanes need not reach the end of a row")
        mask = Mask((), ()) if mask is None or mask is True else mask
        if not isinstance(mask, Mask) or self.broadcast(mask.shape, offset.shape) != offset.shape:
            self.refuse("a mask that is no comparison of lanes with sizes, or of another shape")
        given = set(mask.conditions)
        missing = " and ".join(f"{one} > 0" for one in needed if one not in given)
        self.never(missing, f"an access that is not masked by {missing}")
        self.never(given - {*needed, *allowed}, "a mask that leaves out more than what lies beyond a row")
        return columns

    def load(self, pointer: Any, mask: Any = None, other: Any = None) -> Tile:
        """What lies in memory, for lanes inside of a row, and `other` for the rest."""
        columns, arr = self._place(pointer, mask), pointer.arr
        self.never(arr.memory.undefined, "memory is read that nothing was written into")
        self.never(arr.memory in self.written, "memory is read that the same launch writes, which nothing orders")
        self.never(arr.summed and not (self._parts and self._parts <= arr.summed), "a kernel reads a sum over rows")
        self.read.append(arr.memory)
        inside = Arr(self.trace, arr.value, [(FEATURE,)] if columns else [], arr.dtype, summed=arr.summed)
        outside = self.data(0 if other is None else other)
        self.never(outside.columns or outside.inside.axes or outside.unfinished, "several numbers beyond a row")
        beyond = outside.inside.cast(arr.dtype)
        lanes = Arr(self.trace, beyond.value, beyond.axes, beyond.dtype, summed=arr.summed) if columns else None
        made = Tile(inside, pointer.offset.shape, columns, lanes, unread=other is None and mask is not None)
        if not self.row_lanes & pointer.offset.symbols:
            return made
        return replace(made, far=lambda: replace(made, inside=beyond, other=columns and beyond))

    def store(self, pointer: Any, value: Any, mask: Any = None) -> None:
        """Write each row of an array once, or a sum over rows: each program its part, or all of it."""
        tile, memory = self.data(value), pointer.arr.memory
        rows, summed = set(memory.labels) - {FEATURE}, tile.inside.summed
        columns = self._place(pointer, mask, parts=bool(summed and rows))
        all_rows = summed and self.row is not None and "program0" not in self.row.symbols
        self.never(not rows and not all_rows, "every program writes into the same place")
        self._write(pointer, tile, columns, summed | {PARTS + label for label in rows} if summed else summed)

    def atomic_add(self, pointer: Any, value: Any, mask: Any = None, sem: object = None, scope: object = None) -> None:
        """Add each row, or the sum over those of a program, to one row of zeros, or to one of several."""
        tile, memory = self.data(value), pointer.arr.memory
        row = self.row.symbols if self.row is not None else set()
        others = row & (self.space.extents.keys() | self.space.loops.keys() - set(self.space.turning))
        each = not set(self.space.turning) - row - pointer.offset.symbols and (tile.inside.summed or not others)
        self.never(not ("program0" in row and each), "an atomic sum of something else than each row, once")
        self.never(not memory.zero, "an atomic sum into something else than zeros")
        self.never(self.tuned, "an autotuned kernel, which runs several times, adds to what it wrote")
        self.sums.append(("atomic_add", program_line()))
        columns = self._place(pointer, mask, adds=True)
        parts = frozenset(PARTS + label for label in memory.labels if label != FEATURE)
        self._write(pointer, tile, columns, parts.union(self.labels), adds=True)

    def _write(
        self, pointer: Any, tile: Tile, columns: tuple[str, ...] | None, summed: frozenset[str], *, adds: bool = False
    ) -> None:
        offset, arr, memory = pointer.offset, pointer.arr, pointer.arr.memory
        again = memory in self.written or (set(self.space.turning) - offset.symbols and not adds)
        self.never(again, "a launch writes into one place twice: again, or by each turn or program of a second axis")
        named = offset.symbols | self.row.symbols if adds and self.row is not None else offset.symbols
        apart = self.space.grid.number == 1 or "program0" in named
        self.never(not apart or self._parts & tile.inside.summed, "every program writes into the same place")
        other = tile.unfinished or tile.columns not in (None, columns) or (columns is None and tile.inside.axes)
        other = other or self.broadcast(tile.shape, offset.shape) != offset.shape
        self.never(other, "what is stored has other columns, or another shape, than where it is stored")
        runs_again = self.tuned and memory in self.read
        self.never(runs_again, "an autotuned kernel, which runs several times, writes into what it reads")
        self.written.append(memory)
        self.of_rows |= not summed
        if memory.name:
            self.trace.report.notes.add(f"it writes into its input {memory.name}")
        inside = self.vector(tile.inside) if columns else tile.inside
        memory.become(self.trace.ground.rounded(inside.value, arr.dtype), summed)
