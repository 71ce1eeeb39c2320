"""NumPy's functions on traced arrays, by its own protocols."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy
from numpy.typing import DTypeLike

from ._arrays import Arr, Axis, filled
from ._sizes import Num

_BINARY = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
_UNARY: dict[str, Callable[[Arr], Arr]] = {
    "negative": operator.neg,
    "sqrt": Arr.root,
    "square": lambda x: x.combined(x, operator.mul),
    "absolute": Arr.absolute,
    "reciprocal": lambda x: filled(x.trace, 1, (), x.dtype).divided(x),
}


class NumpyArray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """A traced array as NumPy sees it."""

    def __init__(self, arr: Arr) -> None:
        self.arr = arr

    shape = property(lambda self: tuple(self.arr.size(k) for k in range(len(self.arr.axes))))
    ndim = property(lambda self: len(self.arr.axes))
    dtype = property(lambda self: numpy.dtype(self.arr.dtype))
    size = property(lambda self: functools.reduce(operator.mul, self.shape))
    T = property(lambda self: NumpyArray(self.arr.transposed(range(self.ndim)[::-1])))

    def __array__(self, *_: object, **__: object) -> NoReturn:
        return self.arr.trace.refuse("numbers are read off the data")

    def __bool__(self) -> bool:
        return self.arr.trace.refuse("a branch on data")

    __float__ = __int__ = __index__ = __len__ = __iter__ = item = tolist = __array__

    def __setitem__(self, index: object, value: object) -> None:
        self.arr.trace.refuse("a part is changed in place")

    def __getitem__(self, index: object) -> NumpyArray:
        return NumpyArray(self.arr.item(index))

    def __array_ufunc__(
        self, ufunc: numpy.ufunc, method: str, *inputs: Any, out: tuple[NumpyArray, ...] | None = None, **options: Any
    ) -> NumpyArray:
        trace, name = self.arr.trace, ufunc.__name__
        if method == "reduce" and name == "add" and not options.get("out"):
            return inputs[0].sum(options.get("axis", 0), options.get("keepdims", False))
        if method != "__call__" or set(options) - {"dtype", "casting"}:
            trace.refuse(f"{name}.{method} with {sorted(options)} is not among the operations that are traced")
        result = applied(name, self.arr, [_lowered(value) for value in inputs])
        trace.operations[name] += 1
        if out is not None:
            out[0].arr.become(result)
            return out[0]
        return NumpyArray(result)

    def __array_function__(
        self, function: Callable[..., object], types: object, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> NumpyArray:
        method = getattr(self, function.__name__, None)
        if method is None or not args or args[0] is not self:
            self.arr.trace.refuse(f"{function.__name__} is not among the operations that are traced")
        return method(*args[1:], **kwargs)

    def _statistic(self, name: str, result: Arr) -> NumpyArray:
        self.arr.trace.operations[name] += 1
        return NumpyArray(result)

    def _wide(self, dtype: DTypeLike | None) -> Arr:
        return self.arr if dtype is None else self.arr.cast(str(numpy.dtype(dtype)))

    def sum(self, axis: Axis = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> NumpyArray:
        """The sum, as numpy.sum."""
        return self._statistic("sum", self._wide(dtype).sum(axis, keepdims))

    def mean(self, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> NumpyArray:
        """The mean, as numpy.mean."""
        return self._statistic("mean", self._wide(dtype).mean(axis, keepdims))

    def var(self, axis: Axis = None, ddof: Num | float = 0, keepdims: bool = False) -> NumpyArray:
        """The variance with divisor d − ddof, as numpy.var."""
        return self._statistic("var", self.arr.variance(axis, keepdims, ddof))

    def std(self, axis: Axis = None, ddof: Num | float = 0, keepdims: bool = False) -> NumpyArray:
        """The root of the variance, as numpy.std."""
        return self._statistic("std", self.arr.variance(axis, keepdims, ddof).root())

    def astype(self, dtype: DTypeLike, **_: object) -> NumpyArray:
        """The same numbers in another format."""
        if numpy.dtype(dtype).kind != "f":
            self.arr.trace.refuse(f"a cast to {dtype}")
        return NumpyArray(self.arr.like(self.arr.value, str(numpy.dtype(dtype))))

    def copy(self) -> NumpyArray:
        """Memory of its own."""
        return NumpyArray(self.arr.like(self.arr.value))

    def reshape(self, *shape: object) -> NumpyArray:
        """Other axes, as numpy.reshape."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return NumpyArray(self.arr.reshaped(sizes))

    def expand_dims(self, axis: int) -> NumpyArray:
        """An axis more, as numpy.expand_dims."""
        return NumpyArray(self.arr.unsqueezed(axis))

    def clip(self, a_min: object = None, a_max: object = None) -> NumpyArray:
        """No smaller than one number and no larger than another."""
        low = self.arr if a_min is None else self.arr.maximum(_lowered(a_min))
        return NumpyArray(low if a_max is None else low.maximum(_lowered(a_max), sign=-1))

    def ones_like(self, dtype: DTypeLike | None = None) -> NumpyArray:
        """Ones of the same axes."""
        return NumpyArray(self.arr.filled(1))

    def zeros_like(self, dtype: DTypeLike | None = None) -> NumpyArray:
        """Zeros of the same axes."""
        return NumpyArray(self.arr.filled(0))

    empty_like = zeros_like


def _lowered(value: object) -> object:
    if isinstance(value, NumpyArray):
        return value.arr
    return value.item() if isinstance(value, numpy.generic | numpy.ndarray) and value.size == 1 else value


def applied(name: str, like: Arr, values: list) -> Arr:
    """One function of each component."""
    arrays = [value for value in values if isinstance(value, Arr)]
    dtype = str(functools.reduce(numpy.promote_types, [array.dtype for array in arrays]))
    first = values[0] if isinstance(values[0], Arr) else filled(like.trace, values[0], (), dtype)
    if name in _UNARY:
        return _UNARY[name](first)
    if name in _BINARY:
        return first.combined(values[1], _BINARY[name], dtype)
    if name in ("divide", "true_divide"):
        return first.divided(values[1], dtype)
    if name in ("power", "float_power") and not isinstance(values[1], Arr | Num):
        return first.power(values[1])
    if name in ("maximum", "minimum"):
        return first.maximum(values[1], sign=1 if name == "maximum" else -1)
    return like.trace.refuse(f"{name} is not among the operations that are traced")
