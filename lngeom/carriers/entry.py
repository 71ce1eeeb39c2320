"""The one reading of the arguments of public functions, before a formula meets them."""

import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy

from ..errors import InputError
from .carrier import Array, check_kind, namespace, seen

P = ParamSpec("P")
T = TypeVar("T")

_NAMES = """x z y u got other tangent cotangent vector gain bias direction mean variance inner norm mean_square weight
norm_bias centered_weight centered_bias folded_weight folded_bias stored exact error coordinates vectors"""
_ARRAYS = frozenset(_NAMES.split())
_NUMBERS = {"gain", "bias", "mean", "variance", "inner", "norm", "other", "mean_square"}  # which may be Python's, too


def _is_dimension(value: Any) -> bool:
    if hasattr(value, "__array_namespace__") and type(value) is not numpy.ndarray:
        return True  # a term, or a number that stands for every vector
    number: Any = value if isinstance(value, numbers.Real) and not isinstance(value, bool) else 0
    return bool(1 <= number < 2**63 and number % 1 == 0)


def _one_of(*words: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in words


_RULES: dict[str, tuple[Callable[[object], bool], str]] = {
    "placement": (_one_of("inside", "outside"), 'eps stands "inside" the root (PyTorch) or "outside" it'),
    "layout": (_one_of("linear", "conv1d"), 'a weight is "linear" ([out, in]) or "conv1d" ([in, out], GPT-2)'),
    "kind": (_one_of("layernorm", "rmsnorm"), "the norms are layernorm and rmsnorm"),
    "method": (_one_of("two-pass", "merged", "one-pass"), "the ways to the variance are two-pass, merged, one-pass"),
    "centered": (lambda value: isinstance(value, bool | numpy.bool_), "give True for LayerNorm, False for RMSNorm"),
    "rtol": (
        lambda value: value is None or (isinstance(value, int | float) and 0 <= value < float("inf")),
        "a bound of relative errors must be finite and >= 0",
    ),
    "i": (lambda value: isinstance(value, int | numpy.integer), "axes are counted by integers, from 0"),
    "d": (_is_dimension, "the dimension of the space must be an integer >= 1"),
}


def door(function: Callable[P, T]) -> Callable[P, T]:
    """`function`, with its arguments checked first, by name: arrays of one library, words, flags and numbers.

    Raises InputError for arguments that no formula takes. Conditions of a single function are checked in it.
    """
    parameters = inspect.signature(function).parameters.values()
    names = tuple(each.name for each in parameters)
    optional = {each.name for each in parameters if each.default is None or "None" in str(each.annotation)}
    moments = "other" in names[2:] or "variance" in names[:2]

    @functools.wraps(function)
    def read(*args: P.args, **kwargs: P.kwargs) -> T:
        arrays = []
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in _ARRAYS:
                if value is not None or name not in optional:
                    if type(value) is not numpy.ndarray or value.dtype.kind != "f":
                        _check_array(name, value)
                    arrays.append(value)
            elif name in _RULES:
                fits, rule = _RULES[name]
                if not fits(value):
                    raise InputError(f"{name} is {seen(value)}: {rule}")
        if moments:
            _check_shapes(arrays)
        if len(arrays) > 1 and any(type(array) is not type(arrays[0]) for array in arrays):
            _check_together(arrays)
        return function(*args, **kwargs)

    return read


def _check_array(name: str, value: Array) -> None:
    if isinstance(value, int | float | complex) and not hasattr(value, "shape"):
        if name not in _NUMBERS or isinstance(value, bool | complex):
            raise InputError(f"{name} is {value!r:.40}: give an array, of shape (..., d) where it holds vectors")
        if isinstance(value, int) and abs(value) >= 2**1024:
            raise InputError(f"{name} is {value!r:.40}: it does not fit in float64; give an array")
        return
    check_kind(name, value)


def _check_together(values: list[Array]) -> None:
    arrays = [value for value in values if hasattr(value, "dtype")]
    if arrays:
        namespace(*arrays)
    for value in values:
        if arrays and isinstance(value, numbers.Number) and not isinstance(value, int | float | numpy.generic):
            raise InputError(f"got {value!r:.40}: beside arrays a number is a Python float; convert it with float(...)")


def _check_shapes(values: list[Array]) -> None:
    shapes = [tuple(getattr(value, "shape", ())) for value in values]
    try:
        numpy.broadcast_shapes(*shapes)
    except ValueError as error:
        raise InputError(f"shapes {', '.join(map(str, shapes))} do not broadcast: give each vector a number") from error


def float64(name: str, values: object) -> numpy.ndarray:
    """Real numbers of any array library, or in lists, as a float64 array of NumPy."""
    if hasattr(values, "dtype"):
        check_kind(name, values)
    try:
        listed = numpy.asarray(getattr(values, "tolist", lambda: values)())
        if listed.dtype.kind in "biuf":
            return listed.astype(numpy.float64)
        if listed.dtype.kind == "O":
            return numpy.array([float(each) for each in listed.flat]).reshape(listed.shape)
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise InputError(f"{name} is {seen(values)}: the formulas need real numbers, in an array or a list")
