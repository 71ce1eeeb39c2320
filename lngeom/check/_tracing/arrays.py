"""Arrays of one arbitrary row: a carrier's value whose axes have labels in place of sizes."""

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy

from lngeom.carriers import Array, namespace

from .grounds import LARGEST, Opaque
from .parts import ONE, Part, chunks, leading, part_of, rest, strided, trailing
from .sizes import FEATURE, Dim, Num, form, power
from .trace import Trace

Axis: TypeAlias = "int | Sequence[int] | None"

PARTS = "parts "
"""What a label begins with, in the sums of an array, that numbers sums over some of the rows each."""

NO_ROWS = frozenset[str]()
"""What is no sum over rows."""

_SAVED = "the backward pass writes to a tensor that a second one reads: saved, or the cotangent"
_STRIDE = 8
"""The longest step of a slice."""


@dataclass(eq=False)
class Memory:
    """The storage of an array and its views."""

    shared: bool = False
    labels: Dim = ()
    name: str = ""
    undefined: bool = False
    zero: bool = False
    parted: bool = False
    saved: bool = False
    arrays: "list[Arr]" = field(default_factory=list)

    def become(self, value: Array, summed: frozenset[str] = frozenset()) -> None:
        """Hold a kernel's result, in all views."""
        trace = self.arrays[0].trace
        trace.never(self.saved, _SAVED)
        trace.never(self.parted, "memory is written of which a part was taken")  # which would change as well
        self.undefined = self.zero = False
        for arr in self.arrays:
            arr.value, arr.summed = value, summed


class Arr:
    """One arbitrary row of an array, with a label for each axis.

    The value is a vector where an axis has the label of the components, and a scalar elsewhere. Rows differ in value
    and not in form, so that one stands for all; nothing reads another row. A statistic covers all components and no
    rows; a sum over rows keeps its summand and may then only be passed on linearly.
    """

    __slots__ = ("axes", "dtype", "largest_of", "log_of", "memory", "number", "quotient", "summed", "trace", "value")

    def __init__(
        self, trace: Trace, value: Array, axes: Iterable[Dim], dtype: str, *, memory: Any = None, summed: Any = NO_ROWS
    ) -> None:
        self.trace, self.value, self.axes, self.dtype = trace, value, tuple(axes), dtype
        self.memory = memory or Memory(labels=self.labels)
        self.memory.arrays.append(self)
        self.log_of: tuple[Arr, Fraction] | None = None  # this is a multiple of its logarithm
        self.largest_of: Arr | None = None
        self.number: Fraction | None = None
        self.quotient: tuple[Array, tuple[Array, str]] | None = None  # of this, by what must not be 0
        self.summed = summed
        labels = self.labels
        if len(labels) != len(set(labels)):  # an outer product: one row no longer stands for all
            trace.refuse(f"rows or components are combined with one another: shape {form(self.axes)}")

    def __repr__(self) -> str:
        return "an array"

    labels = property(lambda self: tuple(itertools.chain(*self.axes)))
    spread = property(lambda self: self.memory.labels == (FEATURE,) != self.labels and self.axes[-1] == (FEATURE,))

    def size(self, axis: int, number: type[Num] = Num) -> Num | int:
        """How long an axis is."""
        dim = self.axes[axis]
        if part := part_of(dim):
            return part.size(self.trace, number)
        return number(self.trace, self.trace.ground.d if dim == (FEATURE,) else None, dim) if dim else 1

    def _axis(self, axis: Any) -> int:
        n, whole = len(self.axes), isinstance(axis, int | numpy.integer)
        if whole and not isinstance(axis, Num) and -n <= axis < n:
            return int(axis) % n
        return self.trace.refuse(f"axis {axis!r} of an array of {n} axes")

    def places(self, axis: Axis) -> list[int]:
        """The indices of axes, all of them for None."""
        if axis is None:
            return list(range(len(self.axes)))
        return [self._axis(a) for a in (axis if isinstance(axis, tuple | list) else [axis])]

    def like(
        self, value: Array, dtype: str | None = None, *, axes: Iterable[Dim] | None = None, of: Array | None = None
    ) -> "Arr":
        """The result of one operation on this array; `of` is what was summed."""
        dtype = dtype or self.dtype
        value = self.trace.ground.rounded(value, dtype, of)
        return Arr(self.trace, value, self.axes if axes is None else axes, dtype, summed=self.summed)

    def _operand(self, other: object) -> "Arr":
        return other if isinstance(other, Arr) else self.filled(other, ())

    def combined(self, other: object, operation: Callable[[Array, Array], Array], dtype: str | None = None) -> "Arr":
        """A binary operation, with axes broadcast from the right: equal labels, or an axis of size 1."""
        other = self._operand(other)
        axes = []
        for a, b in itertools.zip_longest(reversed(self.axes), reversed(other.axes), fillvalue=()):
            if a and b and a != b:
                self.trace.refuse(f"shapes {form(self.axes)} and {form(other.axes)} do not broadcast")
            axes.append(a or b)
        linear = operation in (operator.add, operator.sub) and self.summed == other.summed
        scaled = operation in (operator.mul, operator.truediv) and not other.summed and not _rows(other)
        scaled |= operation is operator.mul and not self.summed and not _rows(self)
        if (self.summed or other.summed) and not linear and not scaled:
            self.trace.refuse("a sum over rows is used otherwise than linearly")
        square = operation is operator.mul and other.value is self.value  # known not to be negative
        result = self.trace.values.square(self.value) if square else operation(self.value, other.value)
        value = self.trace.ground.rounded(result, dtype or self.dtype)
        made = Arr(self.trace, value, axes[::-1], dtype or self.dtype, summed=self.summed | other.summed)
        if operation in (operator.mul, operator.truediv) and self.log_of and other.number:
            of, factor = self.log_of
            made.log_of = of, factor * other.number if operation is operator.mul else factor / other.number
        elif operation is operator.mul and other.log_of and self.number:
            made.log_of = other.log_of[0], other.log_of[1] * self.number
        return made

    def divided(self, other: object, dtype: str | None = None) -> "Arr":
        """The quotient, which is defined where no divisor is 0."""
        made = self.combined(other, operator.truediv, dtype)
        if isinstance(other, Arr | Num) or not other:
            made.quotient = self.value, (self._operand(other).value, "!=")
            self.trace.values.obligations.append(made.quotient[1])
        return made

    def maximum(self, other: object, *, sign: int = 1) -> "Arr":
        """The larger one, (a + b + |a − b|)/2, or with sign −1 the smaller one."""
        other = self._operand(other)
        if self.largest_of is not None and other.number and sign > 0:
            return self.largest_of.largest_above(other.number, self.axes)
        gap = self.combined(other, operator.sub).absolute()
        return self.combined(other, operator.add).combined(gap if sign > 0 else -gap, operator.add).divided(2)

    def clipped(self, low: object, high: object) -> "Arr":
        """The nearest number between two limits, each of which may be None."""
        above = self if low is None else self.maximum(low)
        return above if high is None else above.maximum(high, sign=-1)

    def absolute(self) -> "Arr":
        """|x|."""
        made = self._alone(abs(self.value))
        self.trace.values.absolutes.append((self.value, made.value, self.trace.place()))
        return made

    def power(self, exponent: Num | float) -> "Arr":
        """A power whose exponent is a multiple of 1/2."""
        return self._alone(power(self.trace, self.value, exponent))

    def root(self) -> "Arr":
        """√x, which is defined where nothing is negative."""
        return self._alone(self.trace.values.root(self.value))

    def logarithm(self) -> "Arr":
        """The logarithm, defined for positive x; its multiples remember x, so that exponentials are powers."""
        self.trace.values.obligations.append((self.value, ">"))
        made = self.applied("log")
        made.log_of = self, Fraction(1)
        return made

    def exponential(self) -> "Arr":
        """The exponential, a power where x is a multiple of a logarithm."""
        made = self.applied("exp")
        if self.log_of is None or (2 * self.log_of[1]).denominator != 1:  # terms have roots, and no other powers
            return made
        of, exponent = self.log_of
        return made.like(self.trace.ground.reached(of.power(float(exponent)).value, made.value))

    def largest_above(self, low: Fraction | int, axes: Iterable[Dim]) -> "Arr":
        """The largest component of absolute values, or `low` where all are smaller: an opaque number."""
        value = self.trace.calls.call(Opaque(LARGEST, float(low)), self.value)
        self.trace.calls.assume(value, ">" if low > 0 else ">=")
        made = self.like(value, axes=axes)
        made.largest_of = self
        return made

    def applied(self, function: str) -> "Arr":
        """A function of each component that nothing looks into."""
        return self._alone(self.trace.calls.call(Opaque(function), self.value))

    def not_summed(self) -> None:
        """Refuse a sum over rows: only linear functions commute with it."""
        self.trace.never(self.summed, "a sum over rows is used otherwise than linearly")

    def _alone(self, value: Array) -> "Arr":
        self.not_summed()
        return self.like(value)

    def __neg__(self) -> "Arr":
        return self.like(-self.value)

    def cast(self, dtype: str) -> "Arr":
        """The same numbers in another format; the same array if it is this one."""
        return self.like(self.value, dtype) if dtype != self.dtype else self

    def filled(self, number: object, axes: Iterable[Dim] | None = None, dtype: str | None = None) -> "Arr":
        """An array of one number."""
        return filled(self.trace, number, self.axes if axes is None else axes, dtype or self.dtype)

    def view(self, axes: Iterable[Dim]) -> "Arr":
        """The same memory with other axes."""
        self.memory.shared = True
        made = Arr(self.trace, self.value, axes, self.dtype, memory=self.memory, summed=self.summed)
        self.trace.kernels.permuted |= made.labels != self.memory.labels and not made.spread
        return made

    def reshaped(self, shape: Sequence[object]) -> "Arr":
        """The same components in the same order; one size may be −1."""
        dims: list[Dim | None] = []
        for size in shape:
            known = size.dim if isinstance(size, Num) else () if size == 1 else None
            if known is None and size != -1:
                self.trace.refuse(f"an axis of the fixed length {size!r} is made, and the proof is for every d")
            dims.append(known)
        self.trace.never(dims.count(None) > 1, "a shape holds two unknown sizes")  # labels could be split in many ways
        flat = self.labels
        if None in dims:
            place = dims.index(None)
            before = sum(len(dim) for dim in dims[:place] if dim)
            after = sum(len(dim) for dim in dims[place + 1 :] if dim)
            dims[place] = flat[before : len(flat) - after]
        axes, left = [dim or () for dim in dims], iter(flat)
        ordered = [tuple(itertools.islice(left, len(dim))) for dim in axes]
        if [sorted(dim) for dim in ordered] == [sorted(dim) for dim in axes]:  # a size has no order
            axes = ordered
        self.trace.never(tuple(itertools.chain(*axes)) != flat, f"the shape {form(self.axes)} becomes {form(axes)}")
        return self.view(axes)

    def transposed(self, order: Sequence[int]) -> "Arr":
        """The axes in another order."""
        return self.view([self.axes[self._axis(k)] for k in order])

    def swapped(self, first: int, second: int) -> "Arr":
        """Two axes exchanged."""
        order = list(range(len(self.axes)))
        a, b = self._axis(first), self._axis(second)
        order[a], order[b] = order[b], order[a]
        return self.transposed(order)

    def squeezed(self, axis: Axis) -> "Arr":
        """Without axes of size 1; an axis with a label may be longer."""
        gone = self.places(axis)
        self.trace.never(any(self.axes[k] for k in gone), "an axis goes if its size is 1")
        return self.view([dim for k, dim in enumerate(self.axes) if k not in gone])

    def unsqueezed(self, axis: int) -> "Arr":
        """With an axis of size 1."""
        place = axis if axis >= 0 else len(self.axes) + 1 + axis
        return self.view([*self.axes[:place], (), *self.axes[place:]])

    def expanded(self, dims: Sequence[Dim]) -> "Arr":
        """Broadcast to the axes."""
        for dim, old in itertools.zip_longest(reversed(dims), reversed(self.axes), fillvalue=()):
            if old and dim != old:
                self.trace.refuse(f"shape {form(self.axes)} does not broadcast to {form(dims)}")
        if FEATURE in itertools.chain(*dims) and FEATURE not in self.labels:  # as many components as the others have
            self.trace.kernels.permuted = True  # in memory it is one number
            return self.combined(self.filled(1, dims), operator.mul)
        return self.view(dims)

    def item(self, index: object) -> "Arr":
        """Whole axes and new ones: a part would be another row, or some of the components."""
        index = index if isinstance(index, tuple) else (index,)
        if not any(part is Ellipsis for part in index):
            index = (*index, Ellipsis)
        spare = len(self.axes) - sum(part is not None and part is not Ellipsis for part in index)
        axes: list[Dim] = []
        left, taken, last = list(self.axes), None, True
        for part in index:
            if part is None:
                axes.append(())
            elif part is Ellipsis and spare >= 0:
                axes, left = axes + left[:spare], left[spare:]
            elif isinstance(part, slice) and left and _is_whole(part, left[0]):
                axes.append(left.pop(0))
            elif not isinstance(part, slice | Num) and part in (0, -1) and left and not left[0]:
                left.pop(0)
            elif left and left[0] == (FEATURE,) and (found := _part_at(part, self.trace)):
                axes += [] if isinstance(part, int) else [() if found in ONE else (found,)]
                left.pop(0)
                taken, last = found, not left
            else:
                self.trace.refuse(f"a part is taken: [{part!r}]")
        self.trace.never(not last, "a part is taken of an axis that is not the last one")
        return self._taken(taken, axes) if taken else self.view(axes)

    def _taken(self, part: Part, axes: list[Dim]) -> "Arr":
        """Some of the components: one as a number, several as the whole row, which reductions weigh."""
        self.memory.shared = self.memory.parted = True
        value = self.value
        if part in ONE:
            value = namespace(value).sum(value * part.weights(self.trace), axis=-1, keepdims=True)
        made = Memory(shared=True, labels=tuple(itertools.chain(*axes)))
        return Arr(self.trace, value, axes, self.dtype, memory=made, summed=self.summed)

    def pieces(self, axis: object, sizes: Sequence[Num | int]) -> "tuple[Arr, ...]":
        """Two consecutive parts of these sizes."""
        of_row = self._axis(axis) == len(self.axes) - 1 and self.axes[-1] == (FEATURE,)
        if not of_row or not isinstance(sizes, tuple | list) or len(sizes) != 2:
            self.trace.refuse(f"an array of shape {form(self.axes)} is split along axis {axis} into pieces of {sizes}")
        first, second = sizes
        self.trace.never(first + second != self.size(-1), "pieces are not the whole")
        return self.item((Ellipsis, slice(None, first))), self.item((Ellipsis, slice(first, None)))

    def padded(self, sizes: Sequence[Num | int], axis: int, index: object) -> "Arr":
        """The derivative by an array of which this is the one by a part: 0 at all other components."""
        whole = filled(self.trace, 0, dims(self.trace, sizes), self.dtype)
        place = whole._axis(axis)
        whole.item((slice(None),) * place + (index,))  # refuses what has no one meaning
        made = self if isinstance(index, slice) else self.unsqueezed(place)
        part: Any = _part_at(index, self.trace)
        return made if made.axes == whole.axes else made.within(part, whole.axes)

    def within(self, part: Part, axes: Iterable[Dim]) -> "Arr":
        """These components as a part of a row that is 0 elsewhere."""
        return self.like(self.value * part.weights(self.trace), axes=axes)

    def chunks(self, axis: object, count: object) -> "tuple[Arr, ...]":
        """At most so many consecutive parts, all of one size but the last."""
        if self._axis(axis) != len(self.axes) - 1 or self.axes[-1] != (FEATURE,) or type(count) is not int or count < 1:
            self.trace.refuse(f"an array of shape {form(self.axes)} is split along axis {axis} into {count} pieces")
        n, size = count, chunks(count, 1)[0].size(self.trace, Num)
        while n > 1 and (self.size(-1) <= size * (n - 1) if n > 2 else self.size(-1) == 1):
            n -= 1
        parts = chunks(count, n)
        return tuple(self._taken(part, [*self.axes[:-1], (part,)]) for part in parts) if n > 1 else (self,)

    def become(self, new: "Arr") -> None:
        """Change in place, allowed where nothing else sees the memory."""
        self.trace.never(self.memory.saved, _SAVED)
        if self.memory.shared:  # a view would show the change, which values here do not
            self.trace.refuse("an input, or memory that something else sees, is changed in place")
        if new.axes != self.axes:
            self.trace.refuse(f"an array of shape {form(self.axes)} becomes one of shape {form(new.axes)} in place")
        new = new.cast(self.dtype)
        self.value, self.summed = new.value, new.summed
        self.memory.undefined = self.memory.zero = False


def refusing(what: str) -> Callable[..., Any]:
    """A method of what holds an array that is refused."""
    return lambda holder, *_, **__: holder.arr.trace.refuse(what)


def joined(parts: Sequence[Arr], dtype: str, axis: int) -> Arr:
    """The row that parts are which follow one another."""
    if len(parts) == 1:
        return parts[0]
    trace, labels = parts[0].trace, [part_of(part.axes[-1]) for part in parts]
    trace.never(axis not in (-1, len(parts[0].axes) - 1), f"arrays are put together along axis {axis}")
    *before, last = labels
    # The last part is the complement of the others, and these stand in order if the first one leads the row.
    if last is None or last.others != tuple(before) or not last.others[0].leads:
        trace.refuse("arrays are put together that are not the parts of one row in order")
    axes = [*parts[0].axes[:-1], (FEATURE,)]
    whole = [part.within(label, axes) for part, label in zip(parts, (*last.others, last), strict=True)]
    return functools.reduce(lambda a, b: a.combined(b, operator.add, dtype), whole)


def _part_at(index: object, trace: Trace) -> Part | None:
    """The part that an index of the last axis takes; None where it has no meaning for every dimension."""
    if not isinstance(index, slice):
        return {0: ONE[0], -1: ONE[1]}.get(index) if type(index) is int else None
    start, stop, step = index.start, index.stop, index.step
    if step not in (None, 1):
        begin = 0 if start is None else start
        plain = type(step) is type(begin) is int and stop is None and 0 <= begin < step <= _STRIDE
        return strided(step, begin) if plain else None
    if (start is None) == (stop is None) and start != 0:
        return None
    end = start if stop is None else stop
    if isinstance(end, Num):
        before = part_of(end.dim or ())
        if before is None or not before.leads:  # a slice up to the size of a part takes it only if it leads the row
            return None
    elif type(end) is int and end:
        before = leading(end) if end > 0 else rest(trailing(-end))
        if abs(end) > 1:
            trace.symbols.integers.add(abs(end))
    else:
        return None
    if stop is not None:
        return before
    return before.others[0] if before.others else rest(before)


def _is_whole(part: slice, dim: Dim) -> bool:
    """Whether a slice takes all of an axis."""
    stop = part.stop is None or (isinstance(part.stop, Num) and part.stop.dim == dim)
    sized = isinstance(part.start, Num) or isinstance(part.step, Num)
    return stop and not sized and part.start in (None, 0) and part.step in (None, 1)


def _rows(array: Arr) -> bool:
    """Whether an array differs from row to row."""
    return any(label != FEATURE for label in array.labels)


def dims(trace: Trace, sizes: Sequence[Num | int]) -> list[Dim]:
    """The axes of an array that is made, of these sizes; of known ones only where a kernel may count them."""

    def dim(size: Num | int) -> Dim | None:
        counted = (f"n{size}",) if trace.kernels.allowed and type(size) is int and size > 1 else None
        return size.dim if isinstance(size, Num) else () if size == 1 else counted

    known = list(map(dim, sizes))
    return [trace.refuse(f"an array of shape {tuple(sizes)} is made") if dim is None else dim for dim in known]


def filled(trace: Trace, number: object, axes: Iterable[Dim], dtype: str) -> Arr:
    """An array of one number."""
    axes = tuple(axes)
    value: Array = number.value if isinstance(number, Num) else trace.symbols.constant(number)
    trace.never(value is None, "the number of rows is computed with")
    if any(FEATURE in dim for dim in axes):
        value = trace.ground.ones("x") * value
    made = Arr(trace, value, axes, dtype)
    made.number = Fraction(number) if isinstance(number, int | float) and not isinstance(number, Num) else None
    return made


def both(a: object, b: object) -> tuple[Arr, Arr]:
    """Two operands as arrays, one of which is a number perhaps."""
    like = next(value for value in (a, b) if isinstance(value, Arr))
    first, second = (v if isinstance(v, Arr) else filled(like.trace, v, (), like.dtype) for v in (a, b))
    return first, second


def alone(values: Sequence[Any]) -> Sequence[Any]:
    """Numbers, given one by one or as one sequence."""
    return values[0] if len(values) == 1 and isinstance(values[0], tuple | list) else values


def given(trace: Trace, name: str, axes: Iterable[Dim], dtype: str) -> Arr:
    """An input or a parameter: arbitrary, and seen by others."""
    axes = tuple(axes)
    if not any(FEATURE in dim for dim in axes):
        trace.symbols.numbers.add(name)
        return Arr(trace, trace.ground.scalar(name), axes, dtype, memory=Memory(shared=True, name=name))
    trace.symbols.vectors[name] = any(label != FEATURE for dim in axes for label in dim)
    labels = tuple(itertools.chain(*axes))
    return Arr(trace, trace.ground.vector(name), axes, dtype, memory=Memory(True, labels, name))
