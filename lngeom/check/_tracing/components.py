"""Operations of single components on traced arrays, and choices: a table with a column of names per library."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .arrays import Arr, both, filled
from .grounds import DIRECTION, Opaque
from .reductions import contracted


@dataclass
class Condition:
    """A relation of a difference to 0, or its negation if `swapped`."""

    gap: Arr
    relation: str
    swapped: bool = False

    def __bool__(self) -> bool:
        return self.trace.refuse("a choice by data")

    trace = property(lambda self: self.gap.trace)

    def where(self) -> Arr:
        """The indicator of a difference of 0; its product with the difference is 0."""
        value = self.trace.calls.call(Opaque("zero"), self.gap.value)
        self.trace.calls.assume(value * self.gap.value, "=")
        return Arr(self.trace, value, self.gap.axes, self.gap.dtype)


def compared(a: Arr, b: object, relation: str) -> Condition:
    """A comparison of data."""
    gap = a if type(b) is int and b == 0 else a.combined(b, operator.sub)
    gap = -gap if relation.startswith("<") else gap
    return Condition(gap, relation.replace("<", ">").replace("!=", "="), swapped=relation == "!=")


def chosen(condition: object, a: Arr, b: Arr, dtype: str) -> Arr:
    """One of two arrays, as a condition on sizes says, or one on data that is known or makes no difference."""
    if isinstance(condition, Condition) and condition.swapped:
        a, b = b, a
    axes = a.combined(b, operator.add).axes
    if isinstance(condition, Condition):
        if condition.relation == "=" and a.number == 0 and (unit := _direction(b, condition.gap)):
            return unit
        known = a.trace.decisions.always(condition.gap.value, condition.relation, *a.trace.values.squares)
        if known is None and condition.relation == "=":
            apart = a.combined(b, operator.sub).combined(condition.where(), operator.mul)
            return b.combined(apart, operator.add, dtype)
        condition = known
    a.trace.never(not isinstance(condition, bool), "a choice by data")
    return (a if condition else b).cast(dtype).expanded(axes)


def _direction(x: Arr, length: Arr) -> Arr | None:
    """What a vector by its length is where 0 stands for that by a length of 0; None if it is something else.

    Its product with the length is the vector, whether or not that is 0.
    """
    found: Any = x.quotient or (None, (None, ""))
    values, (vector, obligation) = x.trace.values, found
    if not any(one is obligation[0] is length.value and of is vector for one, of in values.lengths):
        return None
    values.obligations = [one for one in values.obligations if one is not obligation]
    direction = x.trace.calls.call(Opaque(DIRECTION), vector)
    x.trace.calls.assume(direction * length.value - vector, "=")
    return x.like(direction)


def _squared(a: Arr) -> Arr:
    return a.combined(a, operator.mul)


Operation = Callable[..., Any]
"""A function of an array, of a further operand, and of the format of the result."""

_NAMES = Path(__file__).with_name("components.txt")
"""A line for each operation: its names in each library."""
_OPERATIONS: dict[str, Operation] = {
    "add": lambda a, b, dtype: a.combined(b, operator.add, dtype),
    "subtract": lambda a, b, dtype: a.combined(b, operator.sub, dtype),
    "multiply": lambda a, b, dtype: a.combined(b, operator.mul, dtype),
    "divide": lambda a, b, dtype: a.divided(b, dtype), "power": lambda a, b, _: a.power(b),
    "maximum": lambda a, b, _: a.maximum(b), "minimum": lambda a, b, _: a.maximum(b, sign=-1),
    "hypot": lambda a, b, dtype: _squared(a).combined(_squared(both(a, b)[1]), operator.add, dtype).root(),
    "matmul": lambda a, b, dtype: contracted(a, b, dtype),
    "negative": lambda a, _: -a, "absolute": lambda a, _: a.absolute(), "sqrt": lambda a, _: a.root(),
    "rsqrt": lambda a, _: a.power(-0.5), "square": lambda a, _: _squared(a),
    "reciprocal": lambda a, _: a.filled(1, ()).divided(a), "exp": lambda a, _: a.exponential(),
    "log": lambda a, _: a.logarithm(), "tanh": lambda a, _: a.applied("tanh"),
    "sigmoid": lambda a, _: a.applied("sigmoid"),
    **{name: (lambda a, b, _, how=name: compared(a, b, how)) for name in ("<", "<=", ">", ">=", "=", "!=")},
}  # fmt: skip


def components(library: str, promoted: Callable[[Sequence[Arr]], str]) -> dict[str, Operation]:
    """The operations by their names in a library; `promoted` is the format of the result for that of the operands."""

    def of(operation: Operation) -> Operation:
        def compute(first: object, *others: object) -> Arr:
            arrays = [value for value in (first, *others) if isinstance(value, Arr)]
            dtype = promoted(arrays)
            made = first if isinstance(first, Arr) else filled(arrays[0].trace, first, (), dtype)
            return operation(made, *others, dtype)

        return compute

    head, *rows = (line.split() for line in _NAMES.read_text(encoding="utf-8").splitlines())
    listed = ((_OPERATIONS[row[0]], row[1 + head.index(library)]) for row in rows)
    return {name: of(operation) for operation, names in listed for name in names.split(",") if name != "-"}
