"""NumPy's functions on traced arrays, by its own protocols."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn
from unittest import mock

import numpy
from numpy.typing import DTypeLike

from ._arrays import Arr, Axis, chosen, einsum, filled, given
from ._sizes import Dim, Num
from ._trace import Refusal, Trace

Value = Any
"""A traced array, a number or another argument of NumPy's functions."""

_BINARY = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
_UNARY: dict[str, Callable[[Arr], Arr]] = {
    "negative": operator.neg,
    "sqrt": Arr.root,
    "square": lambda x: x.combined(x, operator.mul),
    "absolute": Arr.absolute,
    "reciprocal": lambda x: filled(x.trace, 1, (), x.dtype).divided(x),
    "exp": lambda x: x.applied("exp"),
    "tanh": lambda x: x.applied("tanh"),
}


_KNOWN_NAMED = (
    "add subtract multiply divide true_divide negative sqrt square absolute abs reciprocal power float_power maximum "
    "minimum exp log sum mean var std prod asarray array ascontiguousarray reshape astype copy expand_dims squeeze "
    "average ones zeros empty full ones_like zeros_like empty_like full_like clip where einsum dot norm item finfo "
    "iinfo promote_types isscalar ndim shape size transpose swapaxes moveaxis broadcast_to concatenate stack "
    "result_type arange linspace eye outer matmul equal greater less isin unique argmax any all tolist max min reduce"
)
KNOWN = frozenset(_KNOWN_NAMED.split())
"""NumPy's functions and methods that depend on their arguments alone."""


class NumpyArray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """A traced array as NumPy sees it; its methods have NumPy's signatures."""

    def __init__(self, arr: Arr) -> None:
        self.arr = arr

    shape = property(lambda self: tuple(self.arr.size(k) for k in range(len(self.arr.axes))))
    ndim = property(lambda self: len(self.arr.axes))
    dtype = property(lambda self: numpy.dtype(self.arr.dtype))
    size = property(lambda self: functools.reduce(operator.mul, self.shape))
    T = property(lambda self: self.transpose())

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        return self.arr.trace.refuse("numbers are read off the data")

    def __bool__(self) -> bool:
        return self.arr.trace.refuse("a branch on data")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.arr.trace.refuse(f"{name} is not among the operations that are traced")

    __float__ = __int__ = __index__ = __len__ = __iter__ = item = tolist = __array__

    def __setitem__(self, index: object, value: object) -> None:
        self.arr.trace.refuse("a part is changed in place")

    def __getitem__(self, index: object) -> NumpyArray:
        return NumpyArray(self.arr.item(index))

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Value, **options: Value) -> NumpyArray:
        function = {"__call__": _elementwise, "reduce": _reduce}.get(method)
        if function is None:
            self.arr.trace.refuse(f"{ufunc.__name__}.{method} is not among the operations that are traced")
        return _called(self.arr.trace, ufunc.__name__, functools.partial(function, self.arr, ufunc.__name__))(
            *inputs, **options
        )

    def __array_function__(
        self, function: Callable[..., object], types: object, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> NumpyArray:
        name = function.__name__
        if name not in FUNCTIONS:
            self.arr.trace.refuse(f"{name} is not among the operations that are traced")
        return _called(self.arr.trace, name, FUNCTIONS[name])(*args, **kwargs)

    def _statistic(self, name: str, result: Arr, where: object, out: object) -> NumpyArray:
        if where is not True:
            self.arr.trace.refuse(f"{name} of some components alone")
        self.arr.trace.operations[name] += 1
        return _written(NumpyArray(result), out)

    def _wide(self, dtype: DTypeLike | None) -> Arr:
        return self.arr if dtype is None else self.arr.cast(_format(self.arr.trace, dtype))

    def sum(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: object = None,
        keepdims: bool = False,
        initial: object = 0,
        where: object = True,
    ) -> NumpyArray:
        """The sum, as numpy.sum."""
        if isinstance(initial, Num | NumpyArray) or initial != 0:
            self.arr.trace.refuse(f"a sum begins with {initial!r}")
        return self._statistic("sum", self._wide(dtype).sum(axis, keepdims), where, out)

    def mean(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: object = None,
        keepdims: bool = False,
        *,
        where: object = True,
    ) -> NumpyArray:
        """The mean, as numpy.mean."""
        return self._statistic("mean", self._wide(dtype).mean(axis, keepdims), where, out)

    def var(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: object = None,
        ddof: Num | float = 0,
        keepdims: bool = False,
        *,
        where: object = True,
    ) -> NumpyArray:
        """The variance with divisor d − ddof, as numpy.var."""
        return self._statistic("var", self._wide(dtype).variance(axis, keepdims, ddof), where, out)

    def std(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: object = None,
        ddof: Num | float = 0,
        keepdims: bool = False,
        *,
        where: object = True,
    ) -> NumpyArray:
        """The root of the variance, as numpy.std."""
        return self._statistic("std", self._wide(dtype).variance(axis, keepdims, ddof).root(), where, out)

    def astype(
        self, dtype: DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> NumpyArray:
        """The same numbers in another format, in the same memory where none other is asked for or needed."""
        wanted = _format(self.arr.trace, dtype)
        return NumpyArray(self.arr.like(self.arr.value, wanted) if copy else self.arr.cast(wanted))

    def copy(self, order: str = "C", subok: bool = False) -> NumpyArray:
        """Memory of its own."""
        return NumpyArray(self.arr.like(self.arr.value))

    def reshape(self, *shape: object, order: str = "C") -> NumpyArray:
        """Other axes, as numpy.reshape."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if order != "C":
            self.arr.trace.refuse(f"components in the order {order}")
        return NumpyArray(self.arr.reshaped(sizes))

    def transpose(self, *axes: Any) -> NumpyArray:
        """The axes in another order, as numpy.transpose."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return NumpyArray(self.arr.transposed(order or range(self.ndim)[::-1]))

    def swapaxes(self, axis1: int, axis2: int) -> NumpyArray:
        """Two axes exchanged, as numpy.swapaxes."""
        return NumpyArray(self.arr.swapped(axis1, axis2))

    def squeeze(self, axis: Axis = None) -> NumpyArray:
        """Without axes of size 1, as numpy.squeeze."""
        return NumpyArray(self.arr.squeezed(axis))

    def clip(self, min: object = None, max: object = None, out: object = None) -> NumpyArray:
        """No smaller than one number and no larger than another."""
        low = self.arr if min is None else self.arr.maximum(_lowered(min))
        return _written(NumpyArray(low if max is None else low.maximum(_lowered(max), sign=-1)), out)


def _called(trace: Trace, name: str, function: Callable[..., NumpyArray]) -> Callable[..., NumpyArray]:
    """A function whose failures are refusals, since code may catch them."""

    def call(*args: Value, **options: Value) -> NumpyArray:
        try:
            return function(*args, **options)
        except Refusal:
            raise
        except Exception as error:
            return trace.refuse(f"{name} is called in a way that is not traced: {error}")

    return call


def _format(trace: Trace, dtype: DTypeLike) -> str:
    made = numpy.dtype(dtype)
    return str(made) if made.kind == "f" else trace.refuse(f"a cast to {made}")


def _written(result: NumpyArray, out: object) -> NumpyArray:
    """A result, in the array that is given for it."""
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return result
    if not isinstance(target, NumpyArray):
        return result.arr.trace.refuse("a result is written into an array of numbers")
    target.arr.become(result.arr)
    return target


def _elementwise(
    like: Arr,
    name: str,
    *inputs: Value,
    out: object = None,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
    where: object = True,
) -> NumpyArray:
    if where is not True:
        like.trace.refuse(f"{name} of some components alone")
    values = [_lowered(value) for value in inputs]
    if dtype is not None:
        wide = _format(like.trace, dtype)
        values = [value.cast(wide) if isinstance(value, Arr) else value for value in values]
    result = applied(name, like, values)
    like.trace.operations[name] += 1
    return _written(NumpyArray(result), out)


def _reduce(  # noqa: PLR0913  # NumPy's signature
    like: Arr,
    name: str,
    x: NumpyArray,
    axis: Axis = 0,
    dtype: DTypeLike | None = None,
    out: object = None,
    keepdims: bool = False,
    initial: object = 0,
    where: object = True,
) -> NumpyArray:
    if name != "add":
        like.trace.refuse(f"{name}.reduce is not among the operations that are traced")
    return x.sum(axis, dtype, out, keepdims, initial, where)


def _norm(x: NumpyArray, ord: object = None, axis: Axis = None, keepdims: bool = False) -> NumpyArray:
    if ord not in (None, 2, "fro"):
        x.arr.trace.refuse(f"a norm of order {ord!r}")
    return NumpyArray((x * x).sum(axis, keepdims=keepdims).arr.root())


def _einsum(equation: str, *operands: NumpyArray) -> NumpyArray:
    arrays = [operand.arr for operand in operands]
    return NumpyArray(einsum(equation, arrays, _promoted(arrays)))


def _where(condition: object, a: Value, b: Value) -> NumpyArray:
    values = [_lowered(value) for value in (a, b)]
    like = next(value for value in values if isinstance(value, Arr))
    first, second = (v if isinstance(v, Arr) else filled(like.trace, v, (), like.dtype) for v in values)
    return NumpyArray(chosen(_lowered(condition), first, second, _promoted([first, second])))


FUNCTIONS: dict[str, Callable[..., NumpyArray]] = {
    name: getattr(NumpyArray, name)
    for name in ("sum", "mean", "var", "std", "astype", "copy", "transpose", "swapaxes", "squeeze", "clip")
}
"""NumPy's functions on traced arrays that are not of single components, by name."""
FUNCTIONS |= {
    "reshape": lambda x, shape, order="C": x.reshape(shape, order=order),
    "expand_dims": lambda x, axis: NumpyArray(x.arr.unsqueezed(axis)),
    "ones_like": lambda x, dtype=None: NumpyArray(x.arr.filled(1, dtype=dtype and _format(x.arr.trace, dtype))),
    "zeros_like": lambda x, dtype=None: NumpyArray(x.arr.filled(0, dtype=dtype and _format(x.arr.trace, dtype))),
    "full_like": lambda x, fill_value, dtype=None: NumpyArray(
        x.arr.filled(fill_value, dtype=dtype and _format(x.arr.trace, dtype))
    ),
    "average": lambda a, axis=None, keepdims=False: a.mean(axis, keepdims=keepdims),
    "norm": _norm,
    "einsum": _einsum,
    "where": _where,
    "dot": lambda a, b: a @ b,
}
FUNCTIONS["empty_like"] = FUNCTIONS["zeros_like"]


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """NumPy's functions that make arrays take traced ones, and sizes without values."""

    def converting(name: str) -> Callable[..., object]:
        own = getattr(numpy, name)

        def convert(a: object, *options: Value, **named: Value) -> object:
            if not isinstance(a, NumpyArray):
                return own(a, *options, **named)
            return _called(a.arr.trace, name, _CONVERSIONS[name])(a, *options, **named)

        return convert

    def making(name: str, number: int) -> Callable[..., object]:
        own = getattr(numpy, name)

        def make(shape: Any, *options: Value, **named: Value) -> object:
            sizes = shape if isinstance(shape, tuple | list) else (shape,)
            size = next((size for size in sizes if isinstance(size, Num)), None)
            if size is None:
                return own(shape, *options, **named)
            filling = functools.partial(_filled, size.trace, sizes, number)
            return _called(size.trace, name, filling)(*options, **named)

        return make

    patches = {name: converting(name) for name in _CONVERSIONS} | {name: making(name, n) for name, n in _MADE.items()}
    with mock.patch.dict(vars(numpy), patches):
        yield


def _filled(trace: Trace, sizes: Sequence[Num | int], number: int, dtype: DTypeLike = "float64") -> NumpyArray:
    dims: list[Dim] = []
    for size in sizes:
        dim = size.dim if isinstance(size, Num) else () if size == 1 else None
        dims.append(trace.refuse(f"an array of shape {tuple(sizes)} is made") if dim is None else dim)
    return NumpyArray(filled(trace, number, dims, _format(trace, dtype)))


_MADE = {"ones": 1, "zeros": 0, "empty": 0}
_CONVERSIONS: dict[str, Callable[..., NumpyArray]] = {
    name: lambda x, dtype=None, order=None: NumpyArray(x._wide(dtype).view(x.arr.axes))
    for name in ("asarray", "asanyarray", "ascontiguousarray")
} | {"array": lambda x, dtype=None, order=None, copy=True: x.astype(dtype or x.dtype, copy=bool(copy))}


def arbitrary(function: object, trace: Trace, dtype: str) -> None:
    """Make the arrays that an object was made with arbitrary vectors."""
    for name, value in vars(function).items() if hasattr(function, "__dict__") else ():
        if isinstance(value, NumpyArray):
            setattr(function, name, NumpyArray(given(trace, name, value.arr.axes, dtype)))


def _lowered(value: object) -> object:
    if isinstance(value, NumpyArray):
        return value.arr
    return value.item() if isinstance(value, numpy.generic | numpy.ndarray) and value.size == 1 else value


def _promoted(arrays: Sequence[Arr]) -> str:
    return str(functools.reduce(numpy.promote_types, [array.dtype for array in arrays]))


def applied(name: str, like: Arr, values: list) -> Arr:
    """One function of each component."""
    arrays = [value for value in values if isinstance(value, Arr)]
    dtype = _promoted(arrays)
    first = values[0] if isinstance(values[0], Arr) else filled(like.trace, values[0], (), dtype)
    if name in _UNARY:
        return _UNARY[name](first)
    if name == "matmul" and isinstance(values[1], Arr):
        return first.contracted(values[1], dtype)
    if name in _BINARY:
        return first.combined(values[1], _BINARY[name], dtype)
    if name in ("divide", "true_divide"):
        return first.divided(values[1], dtype)
    if name in ("power", "float_power") and not isinstance(values[1], Arr | Num):
        return first.power(values[1])
    if name in ("maximum", "minimum"):
        return first.maximum(values[1], sign=1 if name == "maximum" else -1)
    return like.trace.refuse(f"{name} is not among the operations that are traced")
