"""The values that formulas run on: any array of the array-API standard, and anything else that speaks its namespace.

A *carrier* is a value with a namespace. Arrays (NumPy, PyTorch, array-api-strict, ...) have shapes and dtypes,
which are checked here once so that the formulas below stay free of it. A carrier without a shape, such as a
term of the prover, stands for vectors of every dimension; there is nothing to check.
"""

import math
import numbers
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import ModuleType
from typing import Any, Protocol, TypeVar

import array_api_compat
import numpy

from ..errors import InputError

Array = Any
"""An array of the array-API standard, or a carrier that implements its namespace."""


class Carrier(Protocol):
    """A value with arithmetic: a number, an array of any library, a term, an enclosure.

    A result may be another kind than the operand: a scalar beside a vector is a vector, a term beside a dual a dual.
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...


C = TypeVar("C", bound=Carrier)
R = TypeVar("R")
"""What a computation yields beside a mean square."""


_LARGEST, _LARGEST_SINGLE = (float(numpy.finfo(name).max) for name in ("float64", "float32"))

_RANGES = {"float64": (2.0**-400, 2.0**600, 2.0**450, 2.0**-600), "float32": (2.0**-38, 2.0**92, 2.0**50, 2.0**-80)}
"""Below the first size a row is multiplied by the second, above the third by the fourth, so that no sum of squares
overflows up to d = 2^20 and none of a difference of two components underflows: float32, for example, goes from 2^-149
to 2^128; its small rows come to lie between 2^-57 and 2^54, its large ones between 2^-30 and 2^48."""

_NAMES = {numpy.dtype(name): name for name in (*_RANGES, "float16")}
"""NumPy takes some 10 µs to write the name of a dtype."""

_ARRAYS = """expected arrays of one library that implements the array-API standard; \
convert lists with numpy.asarray(x, dtype=float)"""
_NUMPY = (numpy.ndarray, numpy.generic)
_HALF_PRECISION = ("float16", "bfloat16")
_TORCH_DTYPES = (*_RANGES, *_HALF_PRECISION, "uint8", "int8", "int16", "int32", "int64")


def namespace(*values: object) -> ModuleType:
    """Array namespace shared by all carriers among `values`; ``None``, and scalars beside an array, do not count."""
    if (
        len(values) == 1 and type(values[0]) is numpy.ndarray and values[0].dtype.kind == "f"
    ):  # a third of the time of a small norm
        return numpy
    carriers = [value for value in values if not isinstance(value, int | float | complex | type(None))]
    # Arithmetic turns NumPy arrays without axes into scalars, which are Python floats by type.
    carriers = carriers or [value for value in values if value is not None] or [None]
    for carrier in carriers:
        check_kind("an argument", carrier)
    # NumPy is an array API of its own; the wrapper of it loads numpy.testing and numpy.f2py.
    if carriers and all(map(array_api_compat.is_numpy_array, carriers)):
        return numpy
    try:
        return array_api_compat.array_namespace(*carriers)
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in carriers or values}))
        raise InputError(f"got {kinds}: {_ARRAYS} and do not mix NumPy with PyTorch") from error


def dtype_name(x: Array) -> str:
    """Name of the dtype of `x` without its library: ``"float32"`` for NumPy and PyTorch alike."""
    plain = isinstance(x, numpy.ndarray) and _NAMES.get(x.dtype)
    return plain or str(x.dtype).rpartition(".")[2]


def seen(value: object) -> str:
    """A value by which a line of text is not spoilt: arrays and other carriers by their type."""
    return f"{value!r:.40}" if isinstance(value, str | int | float | None) else f"of type {type(value).__name__}"


def _has_numbers(x: object) -> bool:
    """Whether this is a real number, an array, or a carrier that speaks its namespace."""
    if isinstance(x, type):
        return False
    known = isinstance(x, (*_NUMPY, numbers.Real)) or array_api_compat.is_torch_array(x)
    return known or hasattr(x, "__array_namespace__")


def check_kind(name: str, x: Array) -> None:
    """Raise for all but real numbers, arrays that compute as NumPy's or hold all of their numbers, and carriers."""
    if not _has_numbers(x):
        raise InputError(f"{name} is {seen(x)}: {_ARRAYS}")
    torch = array_api_compat.is_torch_array(x)
    kind = x.dtype.kind if isinstance(x, _NUMPY) else "f" if torch else str(getattr(x, "dtype", "float"))
    if isinstance(x, _NUMPY) and x.dtype.isbuiltin == 2:  # of ml_dtypes, which NumPy knows as bytes, or as floats
        kind = "f" if dtype_name(x) in _HALF_PRECISION else "V"
    if kind not in "iuf" and "int" not in kind and "float" not in kind:
        raise InputError(f"{name} has dtype {x.dtype}: the formulas need real numbers; convert it first")
    if isinstance(x, numpy.ndarray) and type(x) not in (numpy.ndarray, numpy.memmap):
        kind, masked = type(x).__name__, isinstance(x, numpy.ma.MaskedArray)
        array = "x.filled() or numpy.asarray(x)" if masked else "numpy.asarray(x)"
        raise InputError(f"{name} is a {kind}: its products and means are not an array's; convert it with {array}")
    if not torch:
        return
    if str(x.layout) != "torch.strided" or x.is_nested:
        layout = "torch.nested" if x.is_nested else x.layout
        raise InputError(f"{name} has the layout {layout}: formulas need every component; convert it with x.to_dense()")
    if x.device.type == "meta":
        raise InputError(f"{name} is on the device meta, without numbers: load it on a device first")
    if dtype_name(x) not in _TORCH_DTYPES:
        raise InputError(f"{name} has dtype {dtype_name(x)}: the formulas need real numbers; convert it with x.float()")


def check_vectors(name: str, x: Array) -> None:
    """Raise unless `x` is a real floating array of shape (..., d) with d >= 1, or a carrier without a shape."""
    if not hasattr(x, "shape"):
        namespace(x)
        return
    check_kind(name, x)
    if len(x.shape) == 0 or x.shape[-1] == 0:
        raise InputError(f"{name} has shape {tuple(x.shape)}: the last axis holds the d >= 1 components of each vector")
    if "float" not in dtype_name(x):
        raise InputError(
            f"{name} has dtype {dtype_name(x)}: the formulas need a real floating dtype; convert it first, "
            "for example with x.astype(float) (NumPy) or x.double() (PyTorch)"
        )


def check_parameter(name: str, parameter: Array, x: Array) -> None:
    """Raise unless the gain or bias `parameter` is None or of shape (d,) and of the library of `x`."""
    if parameter is None:
        return
    if not (hasattr(parameter, "shape") or isinstance(parameter, int | float)) or not hasattr(x, "shape"):
        return
    check_kind(name, parameter)
    namespace(x, parameter)
    if (shape := tuple(getattr(parameter, "shape", ()))) != (x.shape[-1],):
        raise InputError(
            f"{name} has shape {shape}, but x of shape {tuple(x.shape)} has vectors of "
            f"dimension {x.shape[-1]}: {name} must have shape ({x.shape[-1]},)"
        )


def check_gain(gain: Array) -> None:
    """Raise unless `gain` is one finite vector of shape (d,)."""
    check_vectors("gain", gain)
    xp = namespace(gain)
    if len(gain.shape) != 1:
        msg = f"gain has shape {tuple(gain.shape)}: one layer has one gain vector of shape (d,); pass them one by one"
        raise InputError(msg)
    if not bool(xp.all(xp.isfinite(gain))):
        msg = "gain holds a NaN or an infinity: its ellipsoid is not defined; check how the checkpoint was loaded"
        raise InputError(msg)


def check_eps(eps: Array, x: Array = None) -> None:
    """Raise unless `eps` is finite, not negative, and added to numbers of `x`; carriers are taken as they are."""
    if isinstance(eps, bool) or not _has_numbers(eps):
        raise InputError(f"eps is {seen(eps)}: give the number the layer uses (for example module.eps) or 0.0 for none")
    check_kind("eps", eps)
    if hasattr(eps, "shape"):
        if tuple(eps.shape)[-1:] not in ((), (1,)):
            msg = f"eps has shape {tuple(eps.shape)}: it is one number, or one for each vector, of shape (..., 1)"
            raise InputError(msg)
        if eps.shape or hasattr(eps, "layout") or isinstance(eps, numpy.ndarray):
            check_vectors("eps", eps if eps.shape else eps.reshape(1))
    if isinstance(eps, int | float):
        fits = 0 <= eps <= _LARGEST
    else:
        fits = True
        with suppress(RuntimeError):  # mapped by torch.vmap
            read = detached(eps) if isinstance(eps, numpy.generic) or _is_at_hand(eps) else numpy.asarray(0.0)
            fits = bool(((read >= 0) & (read < math.inf)).all())
    if not fits:
        raise InputError(f"eps is {eps!r:.40}: it is added to a variance and must be finite and >= 0")
    if hasattr(x, "shape"):
        _check_eps_of_rows(eps, x)


def _check_eps_of_rows(eps: Array, x: Array) -> None:
    if not isinstance(eps, int | float) and not hasattr(eps, "shape") and not hasattr(eps, "__array_namespace__"):
        raise InputError(f"eps is {eps!r:.40}: beside arrays it is a Python number; convert it with float(eps)")
    if hasattr(eps, "shape") and not isinstance(eps, numpy.generic):
        namespace(eps, x)
    largest = _LARGEST if dtype_name(x) == "float64" else _LARGEST_SINGLE
    if isinstance(eps, int | float) and eps > largest:
        raise InputError(f"eps is {eps!r:.40}: the largest number of {dtype_name(x)} rows is {largest:.8g}; widen them")
    shape = tuple(getattr(eps, "shape", ()))
    try:
        numpy.broadcast_shapes(shape, (*x.shape[:-1], 1))
    except ValueError as error:
        msg = f"eps has shape {shape}, x {tuple(x.shape)}: it is one number, or one for each vector"
        raise InputError(msg) from error


def finfo(x: Array) -> Any:
    """What is known of the floating-point format of `x`, also of one that NumPy has from another library."""
    known = sys.modules[x.dtype.type.__module__] if isinstance(x, _NUMPY) else namespace(x)
    return known.finfo(x.dtype)


def widen(x: Array, like: Array = None) -> Array:
    """`x` in float32 if its dtype is float16 or bfloat16; integers in the dtype of `like`, or float64.

    Sums and squares of half-precision numbers overflow (float16 at 65504) or lose the angle's digits
    (bfloat16 has 8 bits), so half precision is a storage format here and never a format to compute in.
    """
    name = dtype_name(x) if hasattr(x, "dtype") else ""
    if name in _HALF_PRECISION:
        xp = namespace(x)
        return xp.astype(x, xp.float32)
    if "int" in name:
        xp = namespace(x)
        return xp.astype(x, getattr(like, "dtype", xp.float64))
    return x


def beside(parameter: Array, x: Array) -> Array:
    """A parameter as :func:`widen` gives it, and in no wider format than the wide `x`, which decides the result's."""
    if isinstance(parameter, float):  # NumPy's numbers are floats with a dtype
        return float(parameter)
    wide = widen(parameter, x)
    if not hasattr(wide, "dtype") or not hasattr(x, "dtype"):
        return wide
    xp, wider = namespace(wide), dtype_name(wide) == "float64" and dtype_name(x) == "float32"
    return xp.astype(wide, x.dtype) if wider and hasattr(xp, "astype") else wide


def narrow(result: Array, like: Array) -> Array:
    """`result` rounded once to the dtype of `like`, the undoing of :func:`widen`."""
    if hasattr(like, "dtype") and dtype_name(like) in _HALF_PRECISION:
        return namespace(result).astype(result, like.dtype)
    return result


def in_range(
    compute: Callable[[Array, Array | None], tuple[R, Array]],
    x: Array,
    eps: Array = 0.0,
    *,
    power: int = 2,
    also: Callable[[R], Array] | None = None,
) -> tuple[R, Array, Array, Array | None]:
    """The result and the mean square of ``compute(x, None)``, then ε and the unit used.

    Where squares leave the range of the dtype it is ``compute(x, u)``, which is to compute with u·x, and u**power·ε.
    The unit u, one per row, is a power of two, so that no digit changes: a result of degree k in
    (x, ε**(1/power)) is still to be divided by u**k. It is None where it is 1 in every row. A number of the result that
    is not to leave the range either is given by `also`.
    """
    if not hasattr(x, "dtype") or dtype_name(x) not in _RANGES or 0 in getattr(x, "shape", ()):
        return *compute(x, None), eps, None
    xp, (low, up, high, down) = namespace(x), _RANGES[dtype_name(x)]
    if _is_at_hand(x):
        with numpy.errstate(all="ignore"):
            result, square = compute(x, None)
            added = eps if power == 2 else eps * eps
            number = isinstance(eps, int | float)
            size = detached(square if number else square + added)
            try:
                # Two reductions: a comparison of all numbers would cost as much as a small norm.
                least = low * low - (added if number else 0.0)
                larger = () if also is None else (detached(also(result)),)
                if bool(xp.min(size) >= least) and all(bool(xp.max(each) < math.inf) for each in (size, *larger)):
                    return result, square, eps, None
            except RuntimeError:  # mapped by torch.vmap, where only the general way below is open
                pass
    # Where the root of eps (or eps) is of ordinary size a smaller x has squares that vanish beside it.
    # A large eps is no reason to make x smaller.
    largest = xp.max(xp.abs(x), axis=-1, keepdims=True)
    size = largest + eps ** (1 / power)
    one = xp.ones_like(size)
    u = xp.where(size < low, up * one, xp.where(largest > high, down * one, one))
    if not isinstance(eps, int | float) or eps > 0:
        # All that divides a constant row is eps, however large its components are.
        # The factors come first: an eps below the range of the dtype may be a number of it in the unit of the row.
        info, each = xp.finfo(x.dtype), [eps * f * (f if power == 2 else 1) for f in (up, down, 1)]
        if isinstance(eps, int | float):
            each = [min(number, float(info.max)) for number in each]
        larger, smaller, plain = (number * one for number in each)
        scaled = xp.where(u > 1, larger, xp.where(u < 1, smaller, plain))
        eps = xp.where(scaled > 0, scaled, float(info.smallest_normal) * float(info.eps) * one + scaled)
    return *compute(x, u), eps, u


def _is_at_hand(x: Array) -> bool:
    """Whether a number can be read off `x` without waiting for a device, and outside of a compiler."""
    on_cpu = array_api_compat.is_torch_array(x) and x.device.type == "cpu"
    return array_api_compat.is_numpy_array(x) or (on_cpu and not namespace(x).compiler.is_compiling())


def anchored(x: Array) -> tuple[Array, Array | None]:
    """`x` with the first component subtracted from each nearly constant row, and the numbers that were subtracted.

    A mean of d components of size c may be off by d·c times the epsilon of the dtype. Where no two components differ by
    more, deviations from the mean are noise; deviations of x − x₀, whose components are exact differences, are not.
    Other rows keep their bits: 0 is subtracted. The second result is None where no row is nearly constant.
    """
    if not hasattr(x, "shape") or dtype_name(x) not in _RANGES or 0 in x.shape:
        return x, None
    xp = namespace(x)
    first, at_hand = x[..., :1], _is_at_hand(x)
    with numpy.errstate(all="ignore") if at_hand else nullcontext():
        limit = abs(first) * (x.shape[-1] * float(xp.finfo(x.dtype).eps))
        try:  # the last component tells of most rows that they are not of this kind
            if at_hand and not bool((abs(x[..., -1:] - first) < limit).any()):
                return x, None
        except RuntimeError:  # mapped by torch.vmap, where only the general way below is open
            pass
        lost = xp.max(abs(x - first), axis=-1, keepdims=True) < limit
    anchor = xp.where(lost, first, xp.zeros_like(first))
    return x - anchor, anchor


def mean_in_range(x: Array, unit: Array | None) -> Array:
    """Mean of u·x."""
    xp = namespace(x)
    if unit is None or array_api_compat.is_numpy_array(x):
        return xp.mean(x if unit is None else x * unit, axis=-1, keepdims=True)
    # What is summed does not wait for the unit: a compiler sums in the pass that looks for the largest component.
    down = xp.mean(x * _RANGES[dtype_name(x)][3], axis=-1, keepdims=True)
    up = xp.mean(x * _RANGES[dtype_name(x)][1], axis=-1, keepdims=True)
    return xp.where(unit < 1, down, xp.where(unit > 1, up, xp.mean(x, axis=-1, keepdims=True)))


def detached(x: Array) -> Array:
    """`x` without its history of automatic differentiation, to read a number off it."""
    return x.detach() if hasattr(x, "detach") else x
