"""A carrier in a body: its comparisons are statements, and it has the functions of an array."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any, NoReturn

import numpy

from .. import prover
from ..carriers import Array, Rounded, namespace
from ._errors import BodyError
from ._statement import Statement, current, is_scalar, shown

Function = Callable[..., Any]


def _plain(value: Array) -> Array:
    """The carrier, or the exact number, that `value` stands for."""
    if isinstance(value, Value):
        return value.inner
    if hasattr(value, "ndim") and not value.ndim and hasattr(value, "item"):
        value = value.item()  # a number that an array library made
    if isinstance(value, numpy.ndarray):
        raise BodyError("an array of numbers has a dimension of its own: write a vector as a parameter")
    if isinstance(value, int | float | Fraction) and type(value) not in (bool, int, float, Fraction):
        raise BodyError(f"{value!r} is a {type(value).__name__}, which may compute as it likes: write a plain number")
    if isinstance(value, float) and not value.is_integer():
        return Fraction(value)
    if isinstance(value, int | float | Fraction):
        return value if isinstance(value, Fraction) else int(value)
    return NotImplemented


def _binary(operation: Callable[[Array, Array], Array], *, swapped: bool = False) -> Callable[..., Value]:
    def apply(self: Value, other: object) -> Value:
        first, second = self.inner, _plain(other)
        if second is NotImplemented:
            return NotImplemented
        return Value(operation(second, first) if swapped else operation(first, second))

    return apply


def _comparison(relation: str) -> Callable[..., Any]:
    def apply(self: Value, other: object) -> object:
        second = _plain(other)
        if second is NotImplemented:
            raise BodyError(f"a value is compared with {other!r}: compare vectors and numbers")
        if isinstance(self.inner, Rounded) and compares_plainly(sys._getframe(1)):
            return _PLAIN[relation](self.inner, second)
        if relation == "!=" and not self.is_scalar:
            raise BodyError("x != y of vectors reads two ways: nonzero(x - y), or square_norm(x - y) > 0")
        return Statement(self.inner, relation, second)

    return apply


_PLAIN = {">": operator.gt, "<": operator.lt}


def compares_plainly(frame: FrameType) -> bool:
    """Whether a comparison is made on the way by the library, and not by the body of a theorem."""
    name = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _LIBRARIES and not f"{name}.".startswith(("lngeom.theorems.", "lngeom.proofs."))


_LIBRARIES = ("array_api_compat", "lngeom", "numpy")


def _refused(why: str) -> Callable[..., NoReturn]:
    def apply(self: Value, *arguments: object) -> NoReturn:
        raise BodyError(why)

    return apply


_NO_COMPONENTS = (
    "a vector of every dimension has no components to read or to loop over: use sums and products, or a parameter "
    "e: Basis and dot(e, x)"
)
_NO_NUMBER = "a value of a theorem stands for all numbers at once: compute with it as it is"

_NOT_IN_PLACE = "x += y changes an array under all of its names: write x = x + y, which makes a new one"


class Value:
    """A carrier in the body of a theorem."""

    __slots__ = ("inner",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, inner: Array) -> None:
        self.inner = inner

    @property
    def is_scalar(self) -> bool:
        """Whether it is a scalar; of a vector with one component, too."""
        return is_scalar(self.inner)

    def __array_namespace__(self, *, api_version: str | None = None) -> _Namespace:
        return NAMESPACE

    def __array_ufunc__(self, ufunc: Function, method: str, *inputs: object, **options: object) -> Value:
        if method != "__call__" or options:
            raise BodyError(f"{ufunc.__name__}.{method} does not run on vectors of every dimension")
        taken = (_plain(one) if isinstance(one, numpy.generic | numpy.ndarray) else one for one in inputs)
        return _called(ufunc.__name__, *taken)

    def __array_function__(self, function: Function, _: object, inputs: list[Any], options: dict[str, Any]) -> Value:
        return _called(function.__name__, *inputs, **options)

    def __getattr__(self, name: str) -> Any:
        if name == "dtype" and isinstance(self.inner, Rounded):
            return self.inner.dtype  # rows of floats are scaled where their squares leave the range
        if name in ("shape", "size") and not compares_plainly(sys._getframe(1)):
            return (prover.dim(self),) if name == "shape" else prover.dim(self)
        if name in _METHODS:
            return lambda *inputs, **options: _called(name, self, *inputs, **options)
        other = _GUESSED.get(name, f"what runs on it: {_WORDS}")
        raise AttributeError(f"a vector of every dimension has no {name}; {other}")

    def __getitem__(self, index: object) -> Value:
        if index != (..., 0) or not self.is_scalar:
            raise BodyError(_NO_COMPONENTS)
        return self

    def __repr__(self) -> str:
        return shown(self.inner)

    def __pow__(self, exponent: object) -> Value:
        twice = Fraction(_plain(exponent)) * 2
        if twice.denominator != 1:
            raise BodyError(f"the exponent {exponent!r} is not a multiple of 1/2")
        if twice.numerator % 2:
            return _called("sqrt", self) ** twice.numerator
        power = abs(twice.numerator) // 2
        if isinstance(self.inner, Rounded) and power == 0:
            return _called("ones_like", self)
        # The exponent as it was written, which certificates repeat; floats that know their error take none below 1.
        if twice < 0 and isinstance(self.inner, Rounded):
            return Value(1 / operator.pow(self.inner, power))
        return Value(operator.pow(self.inner, twice.numerator // 2))

    __add__, __radd__ = _binary(operator.add), _binary(operator.add, swapped=True)
    __sub__, __rsub__ = _binary(operator.sub), _binary(operator.sub, swapped=True)
    __mul__, __rmul__ = _binary(operator.mul), _binary(operator.mul, swapped=True)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _binary(operator.truediv, swapped=True)
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = _refused(_NOT_IN_PLACE)
    __neg__ = lambda self: Value(-self.inner)  # noqa: E731
    __pos__ = lambda self: self  # noqa: E731
    __abs__ = lambda self: Value(abs(self.inner))  # noqa: E731
    __eq__, __ne__ = _comparison("=="), _comparison("!=")
    __gt__, __ge__, __lt__, __le__ = map(_comparison, (">", ">=", "<", "<="))
    __len__ = _refused("len() is a number to Python: write dim(x), of lngeom.prover")
    __iter__ = __contains__ = _refused(_NO_COMPONENTS)
    __matmul__ = lambda self, other: _sum(self * other)  # noqa: E731
    __bool__ = __float__ = __int__ = __index__ = __round__ = _refused(_NO_NUMBER)


# ----------------------------------------------------------------------------------------------- functions of arrays


def _reduced(name: str) -> Callable[..., Value]:
    def apply(x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
        if axis not in (None, -1):
            raise BodyError(f"{name} along axis {axis}: vectors lie along the last axis, -1")
        return Value(getattr(namespace(x.inner), name)(x.inner, axis=-1, keepdims=True))

    return apply


_sum, _mean = _reduced("sum"), _reduced("mean")


def _of(name: str) -> Callable[[Value], Value]:
    return lambda x: Value(getattr(namespace(x.inner), name)(x.inner))


_sqrt = _of("sqrt")


def _var(x: Value, axis: int | None = None, *, ddof: int = 0, keepdims: bool = False) -> Value:
    squares = (x - _mean(x, axis)) ** 2
    return _sum(squares, axis) / (prover.dim(x) - ddof) if ddof else _mean(squares, axis)


def _norm(x: Value, ord: object = None, axis: int | None = None, *, keepdims: bool = False) -> Value:
    if ord not in (None, 2):
        raise BodyError(f"a norm of order {ord!r}: theorems know the Euclidean norm")
    return _sqrt(_sum(x * x, axis))


def _where(condition: object, x: Value, y: object) -> Value:
    """One of two values, where the library chooses a unit of floats."""
    if isinstance(condition, Statement):
        raise BodyError("where chooses by numbers, and a theorem is about all of them: assume one case")
    return Value(namespace(x.inner).where(condition, _plain(x), _plain(y)))


def _max(x: Value, **options: object) -> Value:
    if not hasattr(largest := namespace(x.inner), "max"):  # only rows of floats are scaled by theirs
        raise BodyError("the largest component of a vector has no term: bound every component, as x <= c")
    return Value(largest.max(x.inner))


def _trace(function: Callable[[Value], Value], like: Value) -> Value:
    return Value(prover.trace(lambda e: _plain(function(Value(e))), like.inner))


_METHODS: dict[str, Function] = {
    "sum": _sum,
    "max": _max,
    "mean": _mean,
    "var": _var,
    "std": lambda x, *axis, **options: _sqrt(_var(x, *axis, **options)),
    "dot": lambda x, y: _sum(x * y),
}
"""Functions that arrays have as methods, too; of the library alone ``max``."""

_FUNCTIONS: dict[str, Function] = {
    **_METHODS,
    **dict.fromkeys(("inner", "matmul", "vdot", "vecdot"), _METHODS["dot"]),
    **dict.fromkeys(("norm", "vector_norm"), _norm),
    **dict.fromkeys(("abs", "absolute"), abs),
    **dict.fromkeys(("divide", "true_divide"), operator.truediv),
    **{name: _of(name) for name in ("sqrt", "ones_like")},
    "add": operator.add,
    "equal": operator.eq,
    "finfo": numpy.finfo,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "multiply": operator.mul,
    "negative": operator.neg,
    "operator_trace": _trace,
    "power": operator.pow,
    "square": lambda x: x * x,
    "subtract": operator.sub,
    "where": _where,
    "zeros_like": lambda x: 0 * x,
}

_WORDS = (
    "+, -, *, /, @, powers, abs, the functions of lngeom, root, norm, dot and dim of lngeom.prover, and of NumPy "
    "sum, mean, var, std, sqrt, square, abs, dot and linalg.norm"
)
_GUESSED: dict[str, str] = dict.fromkeys(("d", "ndim"), "the dimension is dim(x), of lngeom.prover")


def _called(name: str, *inputs: object, **options: object) -> Value:
    if name not in _FUNCTIONS:
        raise BodyError(f"{name} does not run on vectors of every dimension; what does: {_WORDS}")
    try:
        return _FUNCTIONS[name](*inputs, **options)
    except TypeError as error:
        if isinstance(error, BodyError):
            raise
        raise BodyError(f"{name}: {str(error).rpartition('() ')[2]}") from None


class _Namespace:
    __name__ = "lngeom.theorems"

    def __getattr__(self, name: str) -> Function:
        if name not in _FUNCTIONS:
            raise AttributeError(
                f"{name} does not run on vectors of every dimension: take the products of a matrix with vectors, as "
                "lngeom.derivatives.jacobian_product"
            )
        return _FUNCTIONS[name]


NAMESPACE = _Namespace()


# ------------------------------------------------------------------------------------------------- words of hypotheses


def nonzero(x: Array) -> Statement:
    """The statement that no component of `x` is 0."""
    return current("nonzero").compared(x, "!=", 0)


def varies(x: Array) -> Statement:
    """The statement that the components of `x` are not all equal: σ² > 0."""
    from .. import moments

    return moments(x)[1] > 0
