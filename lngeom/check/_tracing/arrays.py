"""Arrays of one arbitrary row: a carrier's value whose axes have labels in place of sizes."""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy

from lngeom.carriers import Array, namespace

from .sizes import FEATURE, REST, Dim, Num, part_of, part_size, power
from .trace import Trace, root

Axis: TypeAlias = "int | Sequence[int] | None"

PARTS = "parts "
"""What a label begins with, in the sums of an array, that numbers sums over some of the rows each."""

_STRIDE = 8
"""The longest step of a slice."""

_PART = re.compile(rf"({REST})?(d_over|every_\d|first|last|chunk_\d+(_from)?)_\d+")
_ONE = ("first_1", "last_1")
"""The parts of one component, which every row has."""


@dataclass(eq=False)
class Memory:
    """What views of one array share.

    Attributes:
        shared: Whether anything else may see it.
        labels: Those of its elements, in order.
        name: The input that it is.
        undefined, zero: Whether nothing was written into it, or nothing but zeros.
        parted: Whether something sees a part of it.
        arrays: The array and its views.
    """

    shared: bool = False
    labels: Dim = ()
    name: str = ""
    undefined: bool = False
    zero: bool = False
    parted: bool = False
    arrays: list[Arr] = field(default_factory=list)

    def become(self, value: Array, summed: frozenset[str] = frozenset()) -> None:
        """Hold what a kernel has written, which all views see."""
        if self.parted:
            self.arrays[0].trace.refuse("memory is written of which a part was taken")
        self.undefined = self.zero = False
        for arr in self.arrays:
            arr.value, arr.summed = value, summed


class Arr:
    """One arbitrary row of an array, with a label for each axis.

    The value is a vector where an axis has the label of the components, and a scalar elsewhere. Rows differ in value
    and not in form, so that one stands for all; nothing reads another row. A statistic covers all components and no
    rows; a sum over rows keeps its summand and may then only be passed on linearly.
    """

    __slots__ = ("axes", "dtype", "largest_of", "log_of", "memory", "number", "summed", "trace", "value")

    def __init__(
        self,
        trace: Trace,
        value: Array,
        axes: Iterable[Dim],
        dtype: str,
        *,
        memory: Memory | None = None,
        summed: frozenset[str] = frozenset(),
    ) -> None:
        self.trace, self.value, self.axes, self.dtype = trace, value, tuple(axes), dtype
        self.memory = memory or Memory(labels=self.labels)
        self.memory.arrays.append(self)
        self.log_of: tuple[Arr, Fraction] | None = None  # of which this is a multiple of the logarithm
        self.largest_of: Arr | None = None
        self.number: Fraction | None = None
        self.summed = summed
        labels = self.labels
        if len(labels) != len(set(labels)):
            trace.refuse(f"rows or components are combined with one another: axes {self.axes}")

    # ------------------------------------------------------------------------------------------------------ its form

    @property
    def labels(self) -> Dim:
        """The labels of all axes, in order."""
        return tuple(itertools.chain(*self.axes))

    def size(self, axis: int, number: type[Num] = Num) -> Num | int:
        """How long an axis is."""
        dim = self.axes[axis]
        if is_part(dim):
            return part_size(self.trace, dim[0], number)
        return number(self.trace, self.trace.ground.d if dim == (FEATURE,) else None, dim) if dim else 1

    def _axis(self, axis: object) -> int:
        if (
            isinstance(axis, Num)
            or not isinstance(axis, int | numpy.integer)
            or not -len(self.axes) <= axis < len(self.axes)
        ):
            self.trace.refuse(f"axis {axis!r} of an array of {len(self.axes)} axes")
        return int(axis) % len(self.axes)

    def _axes(self, axis: Axis) -> list[int]:
        if axis is None:
            return list(range(len(self.axes)))
        return [self._axis(a) for a in (axis if isinstance(axis, tuple | list) else [axis])]

    # ------------------------------------------------------------------------------------------ component by component

    def like(
        self, value: Array, dtype: str | None = None, *, axes: Iterable[Dim] | None = None, of: Array | None = None
    ) -> Arr:
        """The result of one operation on this array; `of` is what was summed."""
        dtype = dtype or self.dtype
        value = self.trace.ground.rounded(value, dtype, of)
        return Arr(self.trace, value, self.axes if axes is None else axes, dtype, summed=self.summed)

    def _operand(self, other: object) -> Arr:
        if isinstance(other, Arr):
            return other
        value = other.value if isinstance(other, Num) else self.trace.constant(other)
        if value is None:
            self.trace.refuse("the number of rows is computed with")
        made = Arr(self.trace, value, (), self.dtype)
        made.number = Fraction(other) if not isinstance(other, Num) and isinstance(other, int | float) else None
        return made

    def combined(self, other: object, operation: Callable[[Array, Array], Array], dtype: str | None = None) -> Arr:
        """A binary operation, with axes broadcast from the right: equal labels, or an axis of size 1."""
        other = self._operand(other)
        axes = []
        for a, b in itertools.zip_longest(reversed(self.axes), reversed(other.axes), fillvalue=()):
            if a and b and a != b:
                self.trace.refuse(f"axes {self.axes} and {other.axes} do not broadcast")
            axes.append(a or b)
        linear = operation in (operator.add, operator.sub) and self.summed == other.summed
        scaled = operation in (operator.mul, operator.truediv) and not other.summed and not _rows(other)
        scaled |= operation is operator.mul and not self.summed and not _rows(self)
        if (self.summed or other.summed) and not linear and not scaled:
            self.trace.refuse("a sum over rows is used otherwise than linearly")
        square = operation is operator.mul and other.value is self.value
        result = self.trace.square(self.value) if square else operation(self.value, other.value)
        value = self.trace.ground.rounded(result, dtype or self.dtype)
        made = Arr(self.trace, value, axes[::-1], dtype or self.dtype, summed=self.summed | other.summed)
        if operation in (operator.mul, operator.truediv) and self.log_of and other.number:
            of, factor = self.log_of
            made.log_of = of, factor * other.number if operation is operator.mul else factor / other.number
        elif operation is operator.mul and other.log_of and self.number:
            made.log_of = other.log_of[0], other.log_of[1] * self.number
        return made

    def divided(self, other: object, dtype: str | None = None) -> Arr:
        """The quotient, which is defined where no divisor is 0."""
        if isinstance(other, Arr | Num) or not other:
            self.trace.require(self._operand(other).value, "!=")
        return self.combined(other, operator.truediv, dtype)

    def maximum(self, other: object, *, sign: int = 1) -> Arr:
        """The larger one, (a + b + |a − b|)/2, or with sign −1 the smaller one."""
        other = self._operand(other)
        if self.largest_of is not None and other.number and sign > 0:
            return self.largest_of.largest(None, low=other.number, axes=self.axes)
        gap = self.combined(other, operator.sub).absolute()
        return self.combined(other, operator.add).combined(gap if sign > 0 else -gap, operator.add).divided(2)

    def absolute(self) -> Arr:
        """|x|."""
        self.trace.absolutes.append(self.value)
        made = self._alone(abs(self.value))
        self.trace.magnitudes.append(made.value)
        return made

    def power(self, exponent: Num | float) -> Arr:
        """A power whose exponent is a multiple of 1/2."""
        return self._alone(power(self.trace, self.value, exponent))

    def root(self) -> Arr:
        """√x, which is defined where nothing is negative."""
        return self._alone(root(self.trace, self.value))

    def hypotenuse(self, other: object, dtype: str | None = None) -> Arr:
        """√(a² + b²)."""
        a, b = (value.combined(value, operator.mul) for value in (self, self._operand(other)))
        return a.combined(b, operator.add, dtype).root()

    def logarithm(self) -> Arr:
        """The logarithm, which is defined where x is positive; of its multiples is known of what."""
        self.trace.require(self.value, ">")
        made = self.applied("log")
        made.log_of = self, Fraction(1)
        return made

    def exponential(self) -> Arr:
        """The exponential, a power where x is a multiple of a logarithm."""
        made = self.applied("exp")
        if self.log_of is None or (2 * self.log_of[1]).denominator != 1:
            return made
        of, exponent = self.log_of
        return made.like(self.trace.ground.reached(of.power(float(exponent)).value, made.value))

    def largest(self, axis: Axis, keepdims: bool = False, *, low: Fraction | None = None, axes: Any = None) -> Arr:
        """The largest component, or `low` where all are smaller: a number of which nothing else is known."""
        covered, kept = self._reduced(axis, keepdims) if axes is None else ({FEATURE}, axes)
        absolute = any(self.value is made for made in self.trace.magnitudes)
        if self.summed or covered != {FEATURE} or (not absolute and low is None):
            self.trace.refuse("the largest of other numbers than the absolute values of all components")
        value = self.trace.call(f"largest {float(low or 0)}", self.value)
        self.trace.identity(value, ">" if low else ">=")
        made = self.like(value, axes=kept)
        made.largest_of = self
        return made

    def applied(self, function: str) -> Arr:
        """A function of each component that nothing looks into."""
        return self._alone(self.trace.call(function, self.value))

    def _alone(self, value: Array) -> Arr:
        if self.summed:
            self.trace.refuse("a sum over rows is used otherwise than linearly")
        return self.like(value)

    def __neg__(self) -> Arr:
        return self.like(-self.value)

    def cast(self, dtype: str) -> Arr:
        """The same numbers in another format; the same array if it is this one."""
        return self.like(self.value, dtype) if dtype != self.dtype else self

    def filled(self, number: object, axes: Iterable[Dim] | None = None, dtype: str | None = None) -> Arr:
        """An array of one number."""
        return filled(self.trace, number, self.axes if axes is None else axes, dtype or self.dtype)

    # ------------------------------------------------------------------------------------------------------ reductions

    def _reduced(self, axis: Axis, keepdims: bool) -> tuple[set[str], list[Dim]]:
        """The labels that a reduction covers, and the axes that it leaves."""
        gone = self._axes(axis)
        kept = [() if k in gone else dim for k, dim in enumerate(self.axes) if keepdims or k not in gone]
        return set(itertools.chain(*(self.axes[k] for k in gone))), kept

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Arr:
        """The sum over all components, or over rows."""
        covered, kept = self._reduced(axis, keepdims)
        if len(covered) == 1 and is_part(tuple(covered)):
            return self.like(self.value * part_of(self.trace, *covered)).statistic("sum", kept)
        if covered and FEATURE not in covered:
            rows, parts = frozenset(covered), frozenset(PARTS + label for label in covered)
            if parts <= self.summed:  # of sums over some rows each
                return Arr(self.trace, self.value, kept, self.dtype, summed=self.summed - parts)
            if self.summed & rows:
                self.trace.refuse("rows are summed twice")
            return Arr(self.trace, self.value, kept, self.dtype, summed=self.summed | rows)
        return self._statistic("sum", covered, kept)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Arr:
        """The mean of all components."""
        covered, kept = self._reduced(axis, keepdims)
        if len(covered) == 1 and is_part(tuple(covered)):
            return self.sum(axis, keepdims).divided(part_size(self.trace, next(iter(covered)), Num))
        return self._statistic("mean", covered, kept)

    def _statistic(self, name: str, covered: set[str], kept: list[Dim]) -> Arr:
        if not covered:
            return self.like(self.value, axes=kept)
        if covered != {FEATURE}:
            self.trace.refuse(f"a {name} over {', '.join(sorted(covered - {FEATURE}))}, which number rows")
        return self.statistic(name, kept)

    def statistic(self, name: str, kept: list[Dim]) -> Arr:
        """The sum or the mean of all components, with the axes that are kept."""
        if self.summed:
            self.trace.refuse("a sum over rows is used otherwise than linearly")
        result = getattr(namespace(self.value), name)(self.value, axis=-1, keepdims=True)
        terms = self.value if name == "sum" else self.value / self.trace.ground.d
        return self.like(result, axes=kept, of=terms)

    def variance(self, axis: Axis = None, keepdims: bool = False, correction: Num | float = 0) -> Arr:
        """The mean square of the deviations from the mean, or their sum over d − correction."""
        deviation = self.combined(self.mean(axis, keepdims=True), operator.sub)
        square = deviation.combined(deviation, operator.mul)
        if not isinstance(correction, Num) and correction == 0:
            return square.mean(axis, keepdims)
        size: Num | int = 1
        for k in self._axes(axis):
            size = size * self.size(k)
        return square.sum(axis, keepdims).divided(size - correction)

    def contracted(self, other: Arr, dtype: str | None = None) -> Arr:
        """The matrix product with one vector or one column of components."""
        if other.axes not in (((FEATURE,),), ((FEATURE,), ())):
            self.trace.refuse("a product of matrices")
        return self.combined(other.view(other.axes[:1]), operator.mul, dtype).sum(-1, len(other.axes) == 2)

    # ------------------------------------------------------------------------------------------------------------ views

    def view(self, axes: Iterable[Dim]) -> Arr:
        """The same memory with other axes."""
        self.memory.shared = True
        made = Arr(self.trace, self.value, axes, self.dtype, memory=self.memory, summed=self.summed)
        self.trace.permuted |= made.labels != self.memory.labels
        return made

    def reshaped(self, shape: Sequence[object]) -> Arr:
        """The same components in the same order; one size may be −1."""
        dims: list[Dim | None] = []
        for size in shape:
            known = size.dim if isinstance(size, Num) else () if size == 1 else None
            if known is None and size != -1:
                self.trace.refuse(f"a shape holds the number {size!r}")
            dims.append(known)
        if dims.count(None) > 1:
            self.trace.refuse("a shape holds two unknown sizes")
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
        if tuple(itertools.chain(*axes)) != flat:
            self.trace.refuse(f"the axes {self.axes} become {tuple(axes)}")
        return self.view(axes)

    def transposed(self, order: Sequence[int]) -> Arr:
        """The axes in another order."""
        return self.view([self.axes[self._axis(k)] for k in order])

    def swapped(self, first: int, second: int) -> Arr:
        """Two axes exchanged."""
        order = list(range(len(self.axes)))
        a, b = self._axis(first), self._axis(second)
        order[a], order[b] = order[b], order[a]
        return self.transposed(order)

    def squeezed(self, axis: Axis) -> Arr:
        """Without axes of size 1, which no axis with a label is known to be."""
        gone = self._axes(axis)
        if any(self.axes[k] for k in gone):
            self.trace.refuse("an axis goes if its size is 1")
        return self.view([dim for k, dim in enumerate(self.axes) if k not in gone])

    def unsqueezed(self, axis: int) -> Arr:
        """With an axis of size 1."""
        place = axis if axis >= 0 else len(self.axes) + 1 + axis
        return self.view([*self.axes[:place], (), *self.axes[place:]])

    def expanded(self, dims: Sequence[Dim]) -> Arr:
        """Broadcast to the axes."""
        for dim, old in itertools.zip_longest(reversed(dims), reversed(self.axes), fillvalue=()):
            if old and dim != old:
                self.trace.refuse(f"axes {self.axes} do not broadcast to {tuple(dims)}")
        if FEATURE in itertools.chain(*dims) and FEATURE not in self.labels:  # as many components as the others have
            self.trace.permuted = True  # in memory it is one number
            return self.combined(self.filled(1, dims), operator.mul)
        return self.view(dims)

    def item(self, index: object) -> Arr:
        """Whole axes and new ones: a part would be another row, or some of the components."""
        index = index if isinstance(index, tuple) else (index,)
        if not any(part is Ellipsis for part in index):
            index = (*index, Ellipsis)
        spare = len(self.axes) - sum(part is not None and part is not Ellipsis for part in index)
        axes: list[Dim] = []
        rest, taken, last = list(self.axes), "", True
        for part in index:
            if part is None:
                axes.append(())
            elif part is Ellipsis and spare >= 0:
                axes, rest = axes + rest[:spare], rest[spare:]
            elif isinstance(part, slice) and rest and _is_whole(part, rest[0]):
                axes.append(rest.pop(0))
            elif not isinstance(part, slice | Num) and part in (0, -1) and rest and not rest[0]:
                rest.pop(0)
            elif rest and rest[0] == (FEATURE,) and (label := self._part(part)):
                axes += [] if isinstance(part, int) else [() if label in _ONE else (label,)]
                rest.pop(0)
                taken, last = label, not rest
            else:
                self.trace.refuse(f"a part is taken: [{part!r}]")
        if not last:
            self.trace.refuse("a part is taken of an axis that is not the last one")
        return self._taken(taken, axes) if taken else self.view(axes)

    def _part(self, part: object) -> str | None:
        """The label of the components that a slice of the last axis takes, None for any other."""
        if isinstance(part, int) and not isinstance(part, Num):
            return {0: "first_1", -1: "last_1"}.get(part)
        if not isinstance(part, slice):
            return None
        start, stop, step = part.start, part.stop, part.step
        if step not in (None, 1):
            begin = 0 if start is None else start
            plain = type(step) is type(begin) is int and stop is None and 0 <= begin < step <= _STRIDE
            return f"every_{step}_{begin}" if plain else None
        if (start is None) == (stop is None) and start != 0:
            return None
        end, rest = (start, REST) if stop is None else (stop, "")
        if isinstance(end, Num):
            return f"{rest}{end.dim[0]}" if end.dim and is_part(end.dim) and not end.dim[0].startswith(REST) else None
        if type(end) is not int or not end:
            return None
        if abs(end) > 1:
            self.trace.integers.add(abs(end))
        return f"{rest}first_{end}" if end > 0 else f"{'' if rest else REST}last_{-end}"

    def _taken(self, label: str, axes: list[Dim]) -> Arr:
        """Some of the components: as a number where it is one, and else as the row that they are taken of."""
        self.memory.shared = self.memory.parted = True
        value = self.value
        if label in _ONE:
            value = namespace(value).sum(value * part_of(self.trace, label), axis=-1, keepdims=True)
        made = Memory(shared=True, labels=tuple(itertools.chain(*axes)))
        return Arr(self.trace, value, axes, self.dtype, memory=made, summed=self.summed)

    def pieces(self, axis: object, sizes: Sequence[Num | int]) -> tuple[Arr, ...]:
        """Two consecutive parts of these sizes."""
        if self._axis(axis) != len(self.axes) - 1 or self.axes[-1] != (FEATURE,) or not isinstance(sizes, tuple | list):
            self.trace.refuse(f"pieces of sizes {sizes} of the axes {self.axes}")
        first, second = sizes
        if first + second != self.size(-1):
            self.trace.refuse("pieces are not the whole")
        return self.item((Ellipsis, slice(None, first))), self.item((Ellipsis, slice(first, None)))

    def chunks(self, axis: object, count: object) -> tuple[Arr, ...]:
        """At most so many consecutive parts, all of one size but the last."""
        if self._axis(axis) != len(self.axes) - 1 or self.axes[-1] != (FEATURE,) or type(count) is not int or count < 1:
            self.trace.refuse(f"{count!r} pieces of the axes {self.axes}")
        n, size = count, part_size(self.trace, f"chunk_{count}_0", Num)
        while n > 1 and (self.size(-1) <= size * (n - 1) if n > 2 else self.size(-1) == 1):
            n -= 1
        labels = [f"chunk_{count}_{k}" for k in range(n - 1)] + [f"chunk_{count}_from_{n - 1}"]
        return tuple(self._taken(label, [*self.axes[:-1], (label,)]) for label in labels) if n > 1 else (self,)

    # --------------------------------------------------------------------------------------------------------- in place

    def become(self, new: Arr) -> None:
        """Change in place, which is allowed where nothing else sees the memory."""
        if self.memory.shared:
            self.trace.refuse("an input, or memory that something else sees, is changed in place")
        if new.axes != self.axes:
            self.trace.refuse(f"an array with axes {self.axes} becomes one with axes {new.axes} in place")
        new = new.cast(self.dtype)
        self.value, self.summed = new.value, new.summed
        self.memory.undefined = self.memory.zero = False


def is_part(dim: Dim) -> bool:
    """Whether an axis holds some of the components."""
    return len(dim) == 1 and _PART.fullmatch(dim[0]) is not None


def joined(parts: Sequence[Arr], dtype: str, axis: int) -> Arr:
    """The row that parts are which follow one another."""
    if len(parts) == 1:
        return parts[0]
    if axis not in (-1, len(parts[0].axes) - 1):
        parts[0].trace.refuse(f"arrays are put together along axis {axis}")
    trace, labels = parts[0].trace, [part.axes[-1][0] if is_part(part.axes[-1]) else "" for part in parts]
    stem = labels[0].rpartition("_")[0]
    pieces = [*(f"{stem}_{k}" for k in range(len(parts) - 1)), f"{stem}_from_{len(parts) - 1}"]
    halves = [labels[0], f"{REST}{labels[0]}"] if labels[0].startswith(("d_", "first")) else pieces
    if labels not in (pieces, halves) or not labels[0]:
        trace.refuse(f"arrays are put together along the axes {labels}")
    axes = [*parts[0].axes[:-1], (FEATURE,)]
    whole = [
        part.like(part.value * part_of(trace, label), axes=axes) for part, label in zip(parts, labels, strict=True)
    ]
    return functools.reduce(lambda a, b: a.combined(b, operator.add, dtype), whole)


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
        counted = (f"n{size}",) if trace.kernels and type(size) is int and size > 1 else None
        return size.dim if isinstance(size, Num) else () if size == 1 else counted

    known = list(map(dim, sizes))
    return [trace.refuse(f"an array of shape {tuple(sizes)} is made") if dim is None else dim for dim in known]


def filled(trace: Trace, number: object, axes: Iterable[Dim], dtype: str) -> Arr:
    """An array of one number."""
    axes = tuple(axes)
    value: Array = number.value if isinstance(number, Num) else trace.constant(number)
    if any(FEATURE in dim for dim in axes):
        value = trace.ground.ones("x") * value
    made = Arr(trace, value, axes, dtype)
    made.number = Fraction(number) if isinstance(number, int | float) and not isinstance(number, Num) else None
    return made


@dataclass
class Condition:
    """Where a difference stands in a relation to 0, which serves for choices alone; `swapped` if it is the contrary."""

    gap: Arr
    relation: str
    swapped: bool = False

    def __bool__(self) -> bool:
        return self.trace.refuse("a choice by data")

    @property
    def trace(self) -> Trace:
        """The run that it is of."""
        return self.gap.trace

    def where(self) -> Arr:
        """1 where the difference is 0, and 0 elsewhere, so that its product with the difference is 0."""
        value = self.trace.call("zero", self.gap.value)
        self.trace.identity(value * self.gap.value, "=")
        return Arr(self.trace, value, self.gap.axes, self.gap.dtype)


def compared(a: Arr, b: object, relation: str) -> Condition:
    """A comparison of data."""
    gap = a.combined(b, operator.sub)
    gap = -gap if relation.startswith("<") else gap
    return Condition(gap, relation.replace("<", ">").replace("!=", "="), swapped=relation == "!=")


def chosen(condition: object, a: Arr, b: Arr, dtype: str) -> Arr:
    """One of two arrays, as a condition on sizes says, or one on data that is known or makes no difference."""
    if isinstance(condition, Condition) and condition.swapped:
        a, b = b, a
    both = a.combined(b, operator.add)
    if isinstance(condition, Condition):
        known = a.trace.always(condition.gap.value, condition.relation)
        if known is None and condition.relation == "=":
            return b.combined(
                a.combined(b, operator.sub).combined(condition.where(), operator.mul), operator.add, dtype
            )
        condition = known
    if not isinstance(condition, bool):
        a.trace.refuse("a choice by data")
    return (a if condition else b).cast(dtype).expanded(both.axes)


def einsum(equation: str, operands: Sequence[Arr], dtype: str) -> Arr:
    """A sum of products of arrays; the axes of each are, in their order, some of the axes of one of them."""
    terms, arrow, result = equation.replace(" ", "").replace("...", ".").partition("->")
    names, trace = terms.split(","), operands[0].trace
    whole = max(names, key=len)
    known = arrow and whole.removeprefix(".").isalpha() and len(set(whole)) == len(whole)
    ordered = all(list(part) == [name for name in whole if name in part] for part in (result, *names))
    pairs = zip(names, operands, strict=False)
    fitting = all(len(a.axes) == len(part) or (part[0] == "." and len(a.axes) + 1 >= len(part)) for part, a in pairs)
    if not (known and ordered and fitting) or len(names) != len(operands) or (whole[0] == ".") is not ("." in result):
        trace.refuse(f"einsum {equation}")
    aligned = list[Arr]()
    for part, operand in zip(names, operands, strict=True):
        for k, name in enumerate(reversed(whole)):  # as broadcasting aligns them, from the right
            operand = operand if name in part or name == "." else operand.unsqueezed(-1 - k)
        aligned.append(operand)
    gone = [k - len(whole) for k, name in enumerate(whole) if name not in result]
    return functools.reduce(lambda a, b: a.combined(b, operator.mul, dtype), aligned).sum(gone, False)


def given(trace: Trace, name: str, axes: Iterable[Dim], dtype: str) -> Arr:
    """An input or a parameter: arbitrary, and seen by others."""
    axes = tuple(axes)
    if not any(FEATURE in dim for dim in axes):
        trace.numbers.add(name)
        return Arr(trace, trace.ground.scalar(name), axes, dtype, memory=Memory(shared=True, name=name))
    trace.vectors[name] = any(label != FEATURE for dim in axes for label in dim)
    labels = tuple(itertools.chain(*axes))
    return Arr(trace, trace.ground.vector(name), axes, dtype, memory=Memory(True, labels, name))
