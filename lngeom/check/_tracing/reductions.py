"""Reductions of traced arrays: over all components, over a part of them, or over rows."""

import functools
import itertools
import math
import operator
from collections.abc import Sequence

from lngeom.carriers import namespace

from .arrays import PARTS, Arr, Axis
from .parts import part_of
from .sizes import FEATURE, Dim, Num
from .trace import program_line
from .triton.whole import running


def _reduced(x: Arr, axis: Axis, keepdims: bool) -> tuple[set[str], list[Dim]]:
    """The labels that a reduction covers, and the axes that it leaves."""
    gone = x.places(axis)
    kept = [() if k in gone else dim for k, dim in enumerate(x.axes) if keepdims or k not in gone]
    covered = set(itertools.chain(*(x.axes[k] for k in gone)))
    if covered and x.trace.kernels.allowed and not running:
        x.trace.kernels.reduced.append(("·".join(sorted(map(str, covered))), program_line()))
    return covered, kept


def total(x: Arr, axis: Axis = None, keepdims: bool = False) -> Arr:
    """The sum over all components or a part of them, or over rows."""
    covered, kept = _reduced(x, axis, keepdims)
    if part := part_of((*covered,)):
        return _statistic(x.like(x.value * part.weights(x.trace)), "sum", kept)
    if not covered or FEATURE in covered:
        return _of_components(x, "sum", covered, kept)
    rows, parts = frozenset(covered), frozenset(PARTS + label for label in covered)
    if parts <= x.summed:  # each of these numbers is a sum over some rows already
        return Arr(x.trace, x.value, kept, x.dtype, summed=x.summed - parts)
    x.trace.never(x.summed & rows, "rows are summed twice")
    # A sum over rows stays what is summed in one arbitrary row; `summed` says that it is a sum.
    return Arr(x.trace, x.value, kept, x.dtype, summed=x.summed | rows)


def mean(x: Arr, axis: Axis = None, keepdims: bool = False) -> Arr:
    """The mean of all components or of a part of them."""
    covered, kept = _reduced(x, axis, keepdims)
    if part := part_of((*covered,)):
        return total(x, axis, keepdims).divided(part.size(x.trace, Num))
    return _of_components(x, "mean", covered, kept)


def _of_components(x: Arr, name: str, covered: set[str], kept: list[Dim]) -> Arr:
    if not covered:
        return x.like(x.value, axes=kept)
    x.trace.never(covered != {FEATURE}, f"a {name} over {', '.join(sorted(covered - {FEATURE}))}, which number rows")
    return _statistic(x, name, kept)


def _statistic(x: Arr, name: str, kept: list[Dim]) -> Arr:
    """The sum or the mean of the whole value, with the axes that are kept."""
    x.not_summed()
    result = getattr(namespace(x.value), name)(x.value, axis=-1, keepdims=True)
    return x.like(result, axes=kept, of=x.value if name == "sum" else x.value / x.trace.ground.d)


def variance(x: Arr, axis: Axis = None, keepdims: bool = False, correction: Num | float = 0) -> Arr:
    """The mean square of the deviations from the mean, or their sum over d − correction."""
    deviation = x.combined(mean(x, axis, keepdims=True), operator.sub)
    square = deviation.combined(deviation, operator.mul)
    if not isinstance(correction, Num) and correction == 0:
        return mean(square, axis, keepdims)
    size = math.prod(map(x.size, x.places(axis)))
    return total(square, axis, keepdims).divided(size - correction)


def largest(x: Arr, axis: Axis, keepdims: bool = False) -> Arr:
    """The largest absolute value of all components."""
    covered, kept = _reduced(x, axis, keepdims)
    # A bound by 0 is known of absolute values alone.
    if x.summed or covered != {FEATURE} or not any(x.value is made for _, made, _ in x.trace.values.absolutes):
        x.trace.refuse("the largest of other numbers than the absolute values of all components")
    return x.largest_above(0, kept)


def length(x: Arr, order: object, axis: Axis, keepdims: bool) -> Arr:
    """The root of the sum of squares."""
    x.trace.never(order not in (None, 2, "fro"), f"a norm of order {order!r}")
    made = total(x.combined(x, operator.mul), axis, keepdims).root()
    x.trace.values.lengths.append((made.value, x.value))
    return made


def contracted(x: Arr, other: Arr, dtype: str | None = None) -> Arr:
    """The matrix product with one vector or one column of components."""
    x.trace.never(other.axes not in (((FEATURE,),), ((FEATURE,), ())), "a product of matrices")
    return total(x.combined(other.view(other.axes[:1]), operator.mul, dtype), -1, len(other.axes) == 2)


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
    return total(functools.reduce(lambda a, b: a.combined(b, operator.mul, dtype), aligned), gone)
