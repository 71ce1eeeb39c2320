"""Memory layouts: only programs that launch kernels may ask for them."""

import itertools
from collections.abc import Callable
from typing import Any

from .arrays import Arr
from .sizes import FEATURE, Dim, Num

APART = "where the rows of an input do not lie one after the other"
_LAST = "inputs whose last axis is strided, whose axes lie in another order, or whose rows are not all as far apart"
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


def lies_apart(arr: Arr) -> bool:
    """Whether an input's rows lie further apart than they are long: both answers are followed."""
    labels = arr.memory.labels
    if not arr.memory.name or len(labels) < 2 or FEATURE not in labels:
        return False
    arr.trace.report.unexamined.add(_LAST)
    return arr.trace.decisions.circumstance(APART)


def distance(arr: Arr) -> Dim:
    """The labels whose product is the number of elements from one row to the next."""
    if FEATURE not in arr.memory.labels:
        return ()
    return (f"distance of rows of {arr.memory.name}",) if lies_apart(arr) else (FEATURE,)


def checked(arr: Arr) -> None:
    """Refuse an array that does not lie in the order of its axes, as far as is known."""
    labels = arr.memory.labels
    if arr.trace.kernels.permuted or (arr.labels != labels and not arr.spread) or FEATURE in labels[:-1]:
        arr.trace.refuse("a kernel in a program with transposed or expanded arrays")
    merged = any(FEATURE in dim and len(dim) > 1 for dim in arr.axes)
    arr.trace.never(merged and lies_apart(arr), "rows that lie apart become one axis")


def _asked(name: str, x: Arr) -> None:
    """Remember a question that only a program that launches kernels may ask."""
    x.trace.kernels.asks_memory.append(f"{name} is not among the operations that are traced")
    checked(x)


def _stride(x: Arr, axis: int, number: type[Num]) -> Num | int:
    if x.spread and x._axis(axis) < len(x.axes) - 1:
        return 0
    after = tuple(itertools.chain(*x.axes[x._axis(axis) + 1 :]))
    dim = tuple(label for label in after if label != FEATURE) + (distance(x) if FEATURE in after else ())
    return number(x.trace, x.trace.ground.d if dim == (FEATURE,) else None, dim) if dim else 1


def memory_answers(number: type[Num]) -> dict[str, Callable[..., Any]]:
    """Answers to questions for the memory of an array, by their names; sizes are of the kind `number`."""

    def strides(x: Arr, dim: int | None = None) -> object:
        _asked("stride", x)
        return _stride(x, dim, number) if dim is not None else tuple(_stride(x, k, number) for k in range(len(x.axes)))

    def is_contiguous(x: Arr) -> bool:
        _asked("is_contiguous", x)
        return not lies_apart(x) and not x.spread

    def address(x: Arr) -> object:
        _asked("data_ptr", x)
        x.trace.never(x.memory.parted or FEATURE not in x.memory.labels, "the address of a part")
        return "address", id(x.memory)

    size = {"element_size": lambda x: _BYTES[x.dtype]}
    return size | {"stride": strides, "is_contiguous": is_contiguous, "data_ptr": address}


def contiguous(x: Arr) -> Arr:
    """The same memory, or a copy where the rows of a kernel's input lie apart."""
    copied = x.trace.kernels.allowed and not x.trace.kernels.permuted and (x.spread or lies_apart(x))
    return x.like(x.value) if copied else x.view(x.axes)
