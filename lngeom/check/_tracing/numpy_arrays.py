"""NumPy's functions on traced arrays, by its own protocols."""

import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy
from numpy.typing import DTypeLike

from .arrays import Arr, alone, both, dims, filled, given, joined, refusing
from .components import chosen, components
from .reductions import einsum, largest, length, mean, total, variance
from .sizes import Num, plain
from .trace import Trace

Value = Any
"""A traced array, a number or another argument of NumPy's functions."""


class NumpyArray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """A traced array as NumPy sees it."""

    def __init__(self, arr: Any) -> None:
        self.arr: Arr = arr

    shape = property(lambda self: tuple(self.arr.size(k) for k in range(len(self.arr.axes))))
    ndim = property(lambda self: len(self.arr.axes))
    dtype = property(lambda self: numpy.dtype(self.arr.dtype))
    size = property(lambda self: functools.reduce(operator.mul, self.shape))
    T = property(lambda self: self.transpose())

    __bool__ = refusing("a branch on data")
    __array__ = __float__ = __int__ = __index__ = __len__ = __iter__ = refusing("numbers are read off the data")
    __setitem__ = refusing("a part is changed in place")
    item = tolist = __array__

    def __getattr__(self, name: str) -> "Callable[..., NumpyArray]":
        if name.startswith("__"):
            raise AttributeError(name)
        self.arr.trace.never(name not in METHODS, f"{name} is not among the operations that are traced")
        return functools.partial(self.arr.trace.applied, name, METHODS[name], self)

    def __getitem__(self, index: object) -> "NumpyArray":
        return NumpyArray(self.arr.item(index))

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Value, **options: Value) -> "NumpyArray":
        name = ufunc.__name__
        if method == "reduce" and name == "add":
            return self.arr.trace.applied("sum", METHODS["sum"], *inputs, **{"axis": 0} | options)
        known = method == "__call__" and name in _COMPONENTS
        function = functools.partial(_elementwise, self.arr, name) if known else None
        name = name if method == "__call__" else f"{name}.{method}"
        return self.arr.trace.applied(name, function, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., object], types: object, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> "NumpyArray":
        return self.arr.trace.applied(function.__name__, FUNCTIONS.get(function.__name__), *args, **kwargs)


def _format(trace: Trace, dtype: DTypeLike) -> str:
    made = numpy.dtype(dtype)
    return str(made) if made.kind == "f" else trace.refuse(f"a cast to {made}")


def _wide(x: NumpyArray, dtype: DTypeLike | None) -> Arr:
    return x.arr if dtype is None else x.arr.cast(_format(x.arr.trace, dtype))


def _written(name: str, result: Arr, out: object, where: object = True) -> NumpyArray:
    """The result of an operation, in the array that is given for it."""
    trace, target = result.trace, out[0] if isinstance(out, tuple) else out
    trace.never(where is not True, f"{name} of some components alone")
    trace.values.operations[name] += 1
    if target is None:
        return NumpyArray(result)
    if not isinstance(target, NumpyArray):
        return trace.refuse("a result is written into an array of numbers")
    target.arr.become(result)
    return target


def _elementwise(
    like: Arr, name: str, *inputs: Value, out: Value = None, dtype: Value = None, casting: str = "", where: Value = True
) -> NumpyArray:
    values = [_lowered(value) for value in inputs]
    if dtype is not None:
        wide = _format(like.trace, dtype)
        values = [value.cast(wide) if isinstance(value, Arr) else value for value in values]
    return _written(name, _COMPONENTS[name](*values), out, where)


METHODS: dict[str, Callable[..., NumpyArray]] = {
    "sum": lambda x, axis=None, dtype=None, out=None, keepdims=False, *, where=True: _written(
        "sum", total(_wide(x, dtype), axis, keepdims), out, where
    ),
    "mean": lambda x, axis=None, dtype=None, out=None, keepdims=False, *, where=True: _written(
        "mean", mean(_wide(x, dtype), axis, keepdims), out, where
    ),
    "var": lambda x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True: _written(
        "var", variance(_wide(x, dtype), axis, keepdims, ddof), out, where
    ),
    "std": lambda x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True: _written(
        "std", variance(_wide(x, dtype), axis, keepdims, ddof).root(), out, where
    ),
    # In the same memory where none other is asked for or needed.
    "astype": lambda x, dtype, order="K", casting="unsafe", subok=True, copy=True: NumpyArray(
        x.arr.like(x.arr.value, _format(x.arr.trace, dtype)) if copy else _wide(x, dtype)
    ),
    "copy": lambda x, order="C", subok=False: NumpyArray(x.arr.like(x.arr.value)),
    "reshape": lambda x, *shape: NumpyArray(x.arr.reshaped(alone(shape))),
    "transpose": lambda x, *axes: NumpyArray(x.arr.transposed(alone(axes) or range(x.ndim)[::-1])),
    "swapaxes": lambda x, axis1, axis2: NumpyArray(x.arr.swapped(axis1, axis2)),
    "max": lambda x, axis=None, out=None, keepdims=False: _written("max", largest(x.arr, axis, keepdims), out),
    "squeeze": lambda x, axis=None: NumpyArray(x.arr.squeezed(axis)),
    "clip": lambda x, min=None, max=None, out=None: _written("clip", x.arr.clipped(_lowered(min), _lowered(max)), out),
}  # fmt: skip
"""Methods of arrays, with NumPy's signatures."""


def _constant(x: NumpyArray, number: object, dtype: DTypeLike | None) -> NumpyArray:
    return NumpyArray(x.arr.filled(number, dtype=None if dtype is None else _format(x.arr.trace, dtype)))


_MADE = {"ones": 1, "zeros": 0, "empty": 0}
FUNCTIONS: dict[str, Callable[..., NumpyArray]] = METHODS | {
    "reshape": lambda x, shape: x.reshape(shape),
    "expand_dims": lambda x, axis: NumpyArray(x.arr.unsqueezed(axis)),
    **{f"{name}_like": lambda x, dtype=None, n=n: _constant(x, n, dtype) for name, n in _MADE.items()},
    "full_like": lambda x, fill_value, dtype=None: _constant(x, fill_value, dtype),
    "average": lambda a, axis=None, keepdims=False: a.mean(axis, keepdims=keepdims),
    "amax": lambda a, axis=None, out=None, keepdims=False: a.max(axis, out, keepdims),
    "norm": lambda x, ord=None, axis=None, keepdims=False: NumpyArray(length(x.arr, ord, axis, keepdims)),
    "einsum": lambda equation, *of: NumpyArray(einsum(equation, arrays := [x.arr for x in of], _promoted(arrays))),
    "where": lambda condition, a, b: NumpyArray(
        chosen(_lowered(condition), *(arrays := both(_lowered(a), _lowered(b))), _promoted(arrays))
    ),
    "dot": lambda a, b: a @ b,
    "concatenate": lambda arrays, axis=0: NumpyArray(joined(parts := [a.arr for a in arrays], _promoted(parts), axis)),
}  # fmt: skip
"""NumPy's functions on traced arrays that are not of single components, by name."""


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """NumPy's functions that make arrays take traced ones, and sizes without values."""

    def patched(name: str) -> Callable[..., object]:
        own = getattr(numpy, name)

        def call(first: Any, *options: Value, **named: Value) -> object:
            values = first if isinstance(first, tuple | list) else (first,)
            known = next((v for value in values if isinstance(v := getattr(value, "arr", value), Arr | Num)), None)
            if known is None:
                return own(first, *options, **named)
            return known.trace.applied(name, _CONVERSIONS[name], first, *options, **named)

        return call

    patches, own = {name: patched(name) for name in _CONVERSIONS}, SimpleNamespace(**vars(numpy))
    with mock.patch.dict(vars(numpy), patches), contextlib.ExitStack() as stack:
        for compiled in filter(None, map(sys.modules.get, _COMPILED)):
            stack.enter_context(mock.patch.dict(vars(compiled), np=own))
        yield


def _filled(number: int, shape: Any, dtype: DTypeLike = "float64") -> NumpyArray:
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    trace = next(size.trace for size in sizes if isinstance(size, Num))
    return NumpyArray(filled(trace, number, dims(trace, sizes), _format(trace, dtype)))


_COMPILED = [f"numpy.random.{name}" for name in ("mtrand", "_generator", "_common", "_bounded_integers")]
"""Modules that write into what these functions give without a look at its type."""
_CONVERSIONS: dict[str, Callable[..., NumpyArray]] = {
    name: lambda x, dtype=None, order=None: NumpyArray(_wide(x, dtype).view(x.arr.axes))
    for name in ("asarray", "asanyarray", "ascontiguousarray")
} | {"array": lambda x, dtype=None, order=None, copy=True: x.astype(dtype or x.dtype, copy=bool(copy))}
_CONVERSIONS |= {name: functools.partial(_filled, number) for name, number in _MADE.items()}


def arbitrary(function: object, trace: Trace, dtype: str) -> None:
    """Make the arrays that an object was made with arbitrary vectors."""
    for name, value in vars(function).items() if hasattr(function, "__dict__") else ():
        if isinstance(value, NumpyArray):
            setattr(function, name, NumpyArray(given(trace, name, value.arr.axes, dtype)))


def _lowered(value: object) -> object:
    return value.arr if isinstance(value, NumpyArray) else plain(value)


def _promoted(arrays: Sequence[Arr]) -> str:
    return str(functools.reduce(numpy.promote_types, [array.dtype for array in arrays]))


_COMPONENTS = components("numpy", _promoted)
