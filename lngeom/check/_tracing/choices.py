"""Comparisons of traced arrays, which serve for choices alone."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from .arrays import Arr
from .trace import Trace


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
