"""Sizes without values: an axis is a product of labels, and a number is made of sizes and settings."""

from __future__ import annotations

import functools
import importlib
import numbers
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy

from lngeom.carriers import Array
from lngeom.sources import is_unread

from .decisions import ROWS
from .parts import Part
from .trace import Trace, is_ours, program_line

Dim = tuple[str, ...]
"""The labels whose product an axis runs over; none for an axis of size 1."""

POWERS = "where d is no power of 2, which Triton refuses as the length of a block"
FEATURE = "d"
"""The label of the axes that one vector fills. All other labels number rows."""


def form(axes: Iterable[Dim]) -> str:
    """A shape in words."""
    return f"({', '.join('·'.join(dim).replace('heads', 'H') or '1' for dim in axes)})"


def _binary(operation: Callable[..., Array], *, swapped: bool = False) -> Callable[..., Num]:
    def apply(self: Num, other: object) -> Num:
        if not isinstance(other, numbers.Number):
            return NotImplemented
        whole, parts = isinstance(self, int) and isinstance(other, int), (self, other)[:: -1 if swapped else 1]
        value = None
        if not (whole and self._is_count(other)):
            first, second = self._values(other)[:: -1 if swapped else 1]
            if operation is operator.truediv:
                positive = whole and self.trace.kernels.allowed and self.trace.decisions.always(second - 1, ">=")
                self.trace.values.obligations += [] if positive else [(second, "!=")]
            value = operation(first, second)
        made = self._made(value, kind=int if whole and operation is not operator.truediv else float)
        made.made_of = (_SIGNS[operation], *parts) if whole else ()
        return made

    return apply


def _compared(relation: str, *, swapped: bool = False) -> Callable[..., bool]:
    def apply(self: Num, other: object) -> bool:
        if self._is_count(other):
            return self._counted(other, relation, swapped)
        first, second = self._values(other)[:: -1 if swapped else 1]
        if self.rounded or getattr(other, "rounded", False):
            line = program_line().strip()
            self.trace.report.unexamined.add("where rounding decides otherwise" + (f" ({line})" if line else ""))
        return self.trace.decisions.decide(first - second, relation)

    return apply


def _refused(what: str) -> Callable[..., Any]:
    def apply(self: Num, *_: object) -> NoReturn:
        self.trace.refuse(f"{self._text()} is used as {what}", valued=True)

    return apply


_SIGNS = {operator.add: "+", operator.sub: "-", operator.truediv: "/"}
_LOOKED_FOR = {"arr", "item", "dtype", "ndim", "shape", "dimension_as_value"}
"""Attributes by which frameworks tell arrays and sizes of their own."""


class Num:
    """A number that no row determines: d, a product of sizes, a setting, or what a program computes from them.

    The number of rows has no value and stands in shapes alone. A comparison that the assumptions leave open is a
    branch. To ``isinstance`` it is an int or a float. It has no ``__index__``, which frameworks try before its type.

    Attributes:
        made_of: The sign and the whole numbers that it is the sum, difference or quotient of.
    """

    __slots__ = ("dim", "kind", "made_of", "rounded", "trace", "value")

    def __init__(self, trace: Trace, value: Array | None, dim: Dim | None = None, kind: type = int) -> None:
        self.trace, self.value, self.dim, self.kind = trace, value, dim, kind
        self.rounded, self.made_of = False, tuple[Any, ...]()

    __class__ = property(lambda self: self.kind)  # type: ignore[assignment]

    def _text(self) -> str:
        if self.dim is None and self.value is None and self.made_of:
            return self.made_of[0].join(one._text() if isinstance(one, Num) else str(one) for one in self.made_of[1:])
        return "·".join(self.dim) if self.dim is not None else repr(self.value)

    def __repr__(self) -> str:
        return self._text() if is_ours(sys._getframe(1)) else _refused("text")(self)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or name in _LOOKED_FOR:
            raise AttributeError(name)
        self.trace.refuse(f"{self._text()} has its attribute {name} read")

    def astype(self, *_: object, **__: object) -> Num:
        """In another format, as a scalar of NumPy has it."""
        return self

    __copy__ = __deepcopy__ = astype
    __hash__ = _refused("a key")

    def __str__(self, _: str = "") -> str:
        return self._text() if is_unread(sys._getframe(1)) else _refused("text")(self)

    __format__ = __str__
    __reduce_ex__ = _refused("data")
    __float__ = __int__ = __trunc__ = __round__ = __floor__ = _refused("a number of this machine")

    def __ceil__(self) -> Num:
        """⌈a/b⌉ of the quotient of two whole numbers in a program that launches kernels."""
        match self.made_of:
            case ("/", a, b) if self.trace.kernels.allowed:
                return _of_launches("cdiv", a, b)
        return _refused("a number of this machine")(self)

    def bit_length(self) -> Num:
        """The exponent of a power of 2."""
        made = self._made(None)
        made.made_of = "bits", self
        return made

    def __rlshift__(self, number: int) -> Num:
        """1 << (n - 1).bit_length() is the next power of 2."""
        match self.made_of:
            case ("bits", Num(made_of=("-", Num() as n, 1))) if self.trace.kernels.allowed:
                return number * _of_launches("next_power_of_2", n)
        return self.trace.refuse(f"{number} << {self._text()}")

    __rpow__ = lambda self, base: 1 << self if base == 2 else self.trace.refuse(f"a power of {base}")  # noqa: E731

    def _values(self, other: object) -> tuple[Array, Array]:
        """Its own value and that of another operand."""
        value = other.value if isinstance(other, Num) else self.trace.symbols.constant(plain(other))
        if value is None or self.value is None:  # one arbitrary row knows no number of rows
            self.trace.refuse("the number of rows is computed with")
        return self.value, value

    def _counted(self, other: object, relation: str, swapped: bool) -> bool:
        """A comparison with a number of rows in a program that launches kernels: both answers are followed."""
        self.trace.kernels.asks_memory.append("the number of rows is computed with")
        rare = {">": "<=", ">=": "<", "!=": "="}.get(relation)
        if rare and not swapped and type(other) is int and other <= 1:  # there are more rows than one, as a rule
            return not self.trace.decisions.circumstance(f"where {self._text()} {rare} {other}", ROWS)
        sides = [one._text() if isinstance(one, Num) else f"{one:g}" for one in (self, other)]
        return self.trace.decisions.circumstance(f" {relation} ".join(["where " + sides.pop(swapped), *sides]), ROWS)

    def _made(self, value: Array | None, dim: Dim | None = None, kind: type | None = None) -> Num:
        made = type(self)(self.trace, value, dim, kind or self.kind)
        made.rounded = made.kind is float
        return made

    __add__ = __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _binary(operator.sub, swapped=True)

    def __neg__(self) -> Num:
        return self.made_of[2] if self.made_of[:2] == ("-", 0) else 0 - self

    def __mul__(self, other: object) -> Num:
        if not isinstance(other, numbers.Number):
            return NotImplemented
        if self.dim is not None and isinstance(other, Num) and other.dim is not None:
            both = None if self.value is None or other.value is None else self.value * other.value
            return self._made(both, self.dim + other.dim)
        if not isinstance(other, Num) and other == 1 and isinstance(other, int):
            return self
        if self._is_count(other) and self.dim and type(other) is int and other > 1:
            return self._made(None, (f"{self._text().replace('·', '_by_')}_times_{other}",))
        whole = isinstance(self, int) and isinstance(other, int)
        dim = (f"n{other}", *self.dim) if type(other) is int and other > 1 and self.dim and at_of(self) else None
        return self._made(operator.mul(*self._values(other)), dim, kind=int if whole else float)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Num | int:
        """Labels are divided by labels; nothing is known of any other remainder."""
        match self.made_of if self.trace.kernels.allowed else ():
            case ("-", 0, Num() as n):
                return 0 - _of_launches("cdiv", n, other)
            case ("-", Num(made_of=("+", a, b)), 1) if _alike(b, other):
                return _of_launches("cdiv", a, other)
            case ("+", Num() as a, b) if _alike(b, other - 1 if type(other) is int else other):
                return _of_launches("cdiv", a, other)
        if not isinstance(other, Num) and isinstance(other, int) and other == 1 and self.kind is int:
            return self
        if isinstance(other, Num) and self.dim and other.dim and self.dim[-len(other.dim) :] == other.dim:
            rest = self.dim[: -len(other.dim)]
            return self._made(self.trace.ground.d if rest == (FEATURE,) else None, rest) if rest else 1
        if self.dim == (FEATURE,) and type(other) is int and other > 1:
            self.trace.symbols.integers.add(other)
            first = Part.of(f"d_over_{other}", lambda all: all[: len(all) // other], leads=True)
            return first.size(self.trace, type(self))
        at = at_of(self) or (int if self.trace.kernels.allowed and self.dim else None)
        if type(other) is int and other > 0 and at is not None:
            return self._block(f"{self._text()}_over_{other}", lambda d: at(d) // other)
        return self.trace.refuse(f"{self._text()} is divided by {other!r} without remainder")

    def __rfloordiv__(self, other: object) -> Num:
        at = at_of(self)
        self.trace.never(at is None or type(other) is not int or other < 0, f"{other!r} is divided by {self._text()}")
        known = self.value is not None and type(other) is int
        some = known and self.trace.ground.sign(other - self.value, ">=") is True  # type: ignore[operator]
        return self._block(f"n{other}_over_{self._text()}", lambda d: other // at(d), some)  # type: ignore[misc,operator]

    def _block(self, name: str, at: Callable[[int], int], some: bool = False) -> Num:
        """An arbitrary whole number ≥ 0, or > 0 if there are `some`."""
        name = name.replace("·", "_by_")
        return self._made(self.trace.symbols.block(name, at, relation=">" if some else ">="), (name,))

    def __mod__(self, other: object) -> Num | int:
        """An opaque integer: theorems quantify over it."""
        if isinstance(other, Num) and other.dim is not None and other.dim == self.dim:
            return 0
        if self.dim != (FEATURE,) or isinstance(other, Num) or not isinstance(other, int) or other < 1:
            self.trace.refuse(f"the remainder of {self._text()} by {other!r}")
        if other == 1:
            return 0
        self.trace.symbols.integers.add(other)
        return self._made(self.trace.ground.remainder(other))

    def _is_count(self, other: object) -> bool:
        """Whether it or another number is one of rows or processors, in a program that launches kernels."""
        return self.trace.kernels.allowed and (self.value is None or (isinstance(other, Num) and other.value is None))

    __truediv__, __rtruediv__ = _binary(operator.truediv), _binary(operator.truediv, swapped=True)

    def __pow__(self, exponent: Num | float) -> Num:
        whole = self.kind is int and not isinstance(exponent, Num) and isinstance(exponent, int) and exponent >= 0
        return self._made(power(self.trace, operator.mul(*self._values(1)), exponent), kind=int if whole else float)

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **options: object) -> object:
        """NumPy's functions of numbers; an array among the inputs takes over."""
        array = next((value for value in inputs if hasattr(value, "arr")), None)
        if array is not None:
            return array.__array_ufunc__(ufunc, method, *inputs, **options)
        if ufunc.__name__ not in _UFUNCS or method != "__call__" or options:
            return self.trace.refuse(f"{ufunc.__name__} of a size")
        return _UFUNCS[ufunc.__name__](*map(plain, inputs))

    def __abs__(self) -> Num:
        return self if self >= 0 else -self

    # What decides a branch of the program.

    def __bool__(self) -> bool:
        mine, nought = self._values(0)
        return self.trace.decisions.decide(nought + mine, "!=")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Num) and self.dim is not None and self.dim == other.dim:  # numbers of rows have no value
            return True
        return not (other is None or isinstance(other, str | tuple | list)) and _compared("=")(self, other)

    __gt__, __lt__ = _compared(">"), _compared(">", swapped=True)
    __ge__, __le__ = _compared(">="), _compared(">=", swapped=True)


def _of_launches(name: str, *given: object) -> Num:
    return getattr(importlib.import_module(f"{__package__}.triton.launch"), name)(*given)


def _alike(a: object, b: object) -> bool:
    """Whether two whole numbers are one."""
    return a.dim == b.dim is not None if isinstance(a, Num) and isinstance(b, Num) else type(a) is type(b) and a == b


def at_of(size: object) -> Callable[[int], int] | None:
    """What a whole number of known value may be for a dimension."""
    if isinstance(size, Num):
        return int if size.dim == (FEATURE,) else size.trace.symbols.at("·".join(size.dim or ()))
    return (lambda _: size) if type(size) is int else None


def plain(value: object) -> object:
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, numpy.generic | numpy.ndarray) and value.size == 1 else value


_UFUNCS: dict[str, Callable[..., object]] = {"sqrt": lambda n: n**0.5, "divide": operator.truediv}
_UFUNCS |= {"multiply": operator.mul, "add": operator.add, "subtract": operator.sub}
_UFUNCS |= {"equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "greater": operator.gt}
_UFUNCS |= {"less_equal": operator.le, "greater_equal": operator.ge}


def power(trace: Trace, value: Array, exponent: Num | float) -> Array:
    """A power whose exponent is a multiple of 1/2."""
    if isinstance(exponent, Num) or 2 * exponent != int(2 * exponent) or abs(exponent) > 8:
        trace.refuse(f"the exponent is {exponent!r}")
    if exponent == 0:  # with the axes of the value
        return value * 0 + 1
    whole, half = divmod(int(2 * abs(exponent)), 2)
    factors = [value] * (whole % 2) + [trace.values.square(value)] * (whole // 2) if whole > 1 else [value] * whole
    if exponent < 0 and not half:  # the root below asks for more
        trace.values.obligations.append((value, "!="))
    if half:
        factors.append(trace.values.root(value, ">=" if exponent > 0 else ">"))
    # A reciprocal for each factor: proofs know the reciprocal of a root, and not that of a sum times its root.
    return functools.reduce(operator.mul, [1 / factor for factor in factors] if exponent < 0 else factors)
