"""Rational interval arithmetic: numbers known to lie between two fractions, with nothing ever rounded inward.

An :class:`Interval` [l, u] stands for some real number in it. Every operation returns an interval that contains
all results the operation can have, so a comparison that comes out is a proof. Rational operations are exact;
only the square root of a number that is not the square of a rational number has a width, at most 2⁻¹⁶⁰ relative.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from ..errors import InputError, LngeomError
from ._operators import Operators, operator

SQRT_BITS = 160
"""Each endpoint of a square root is within a factor 1 ± 2^−SQRT_BITS of the root of the endpoint."""


class UndecidedError(LngeomError, ArithmeticError):
    """The intervals do not decide: a comparison is not certain, a divisor may be 0, a radicand may be negative."""


def _fraction(value: Fraction | float) -> Fraction:
    """Exact value of an integer, fraction or finite float."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"endpoint is {value!r}: an interval has finite endpoints; bound the number first")
    return value if type(value) is Fraction else Fraction(value)


def _root(value: Fraction, *, up: bool) -> Fraction:
    """Bound of √value within a factor 1 ± 2^−SQRT_BITS; exact if value is the square of a fraction."""
    p, q = value.numerator, value.denominator
    root_p, root_q = math.isqrt(p), math.isqrt(q)
    if root_p * root_p == p and root_q * root_q == q:  # lowest terms: a square has a square above and below
        return Fraction(root_p, root_q)
    # √(p/q) = √(4^k p/q) / 2^k. With 4^k p/q >= 4^SQRT_BITS the integer root has more than SQRT_BITS bits.
    k = max(0, SQRT_BITS + (q.bit_length() - p.bit_length() + 2) // 2)
    root = math.isqrt((p << 2 * k) // q)
    return Fraction(root + up, 1 << k)


def _decimal(value: Fraction) -> Decimal:
    """`value` to 28 digits, for display; a float would not reach its exponents."""
    return Decimal(value.numerator) / Decimal(value.denominator)


class Interval(Operators):
    """Closed interval [lower, upper] of rational endpoints that holds one unknown real number; immutable.

    Ends are integers, fractions or finite floats (taken at their exact value), and so are operands; without `upper` the
    number is known exactly. Division needs a divisor that cannot be 0, the square root an argument that cannot be
    negative. Comparisons answer only what is certain for every pair of numbers in the two intervals and raise
    :class:`UndecidedError` otherwise; the methods ``certainly_...`` return False instead of raising.

    >>> from lngeom.carriers import Interval
    >>> root = Interval(2).sqrt()
    >>> (root * root).contains(2), root < 1.5, root.width < 2.0**-150
    (True, True, True)
    >>> Interval(9, 16).sqrt() / 2
    Interval(3/2, 2)
    """

    __slots__ = ("lower", "upper")

    lower: Fraction
    upper: Fraction

    def __init__(self, lower: Fraction | float, upper: Fraction | float | None = None) -> None:
        low = _fraction(lower)
        high = low if upper is None else _fraction(upper)
        if low > high:
            raise InputError(f"lower end {low} is above upper end {high}: give the smaller endpoint first")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Interval is immutable: cannot set {name}; build a new Interval")

    def __reduce__(self) -> tuple[type[Interval], tuple[Fraction, Fraction]]:
        return type(self), (self.lower, self.upper)

    def __repr__(self) -> str:
        return f"Interval({self.lower})" if self.is_point else f"Interval({self.lower}, {self.upper})"

    def __str__(self) -> str:
        if self.is_point:
            return str(self.lower)
        return f"{_decimal(self.midpoint):.17g} (± {_decimal(self.width / 2):.1e})"

    @property
    def is_point(self) -> bool:
        """Whether the number is known exactly."""
        return self.lower == self.upper

    @property
    def width(self) -> Fraction:
        """Length upper − lower."""
        return self.upper - self.lower

    @property
    def midpoint(self) -> Fraction:
        """(lower + upper)/2."""
        return (self.lower + self.upper) / 2

    @property
    def magnitude(self) -> Fraction:
        """Largest absolute value of a number in the interval."""
        return max(abs(self.lower), abs(self.upper))

    def contains(self, value: Number) -> bool:
        """Whether the number, or the whole interval, `value` lies inside."""
        other = _interval(value)
        return self.lower <= other.lower and other.upper <= self.upper

    # ---------------------------------------------------------------------------------------- arithmetic

    def _taken(self, other: object) -> Interval | None:
        if isinstance(other, Interval):
            return other
        return Interval(other) if isinstance(other, int | float | Fraction) else None

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __pos__(self) -> Interval:
        return self

    def _plus(self, other: Interval) -> Interval:
        return Interval(self.lower + other.lower, self.upper + other.upper)

    def _times(self, other: Interval) -> Interval:
        if self.is_point and other.is_point:
            return Interval(self.lower * other.lower)
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(min(ends), max(ends))

    def _over(self, other: Interval) -> Interval:
        return self._times(other.reciprocal())

    def reciprocal(self) -> Interval:
        """Interval of 1/t for t inside; undecided if 0 lies inside."""
        if self.lower <= 0 <= self.upper:
            msg = f"divisor {self} contains 0: the quotient is not bounded; exclude 0 or enclose more narrowly"
            raise UndecidedError(msg)
        return Interval(1 / self.upper, 1 / self.lower)

    def __pow__(self, exponent: int) -> Interval:
        if not isinstance(exponent, int):
            return NotImplemented
        if exponent < 0:
            return (self**-exponent).reciprocal()
        if exponent % 2 == 1:  # increasing
            return Interval(self.lower**exponent, self.upper**exponent)
        size = abs(self)
        return Interval(size.lower**exponent, size.upper**exponent)

    def __abs__(self) -> Interval:
        if self.lower >= 0:
            return self
        return -self if self.upper <= 0 else Interval(0, self.magnitude)

    def sqrt(self) -> Interval:
        """Interval of √t for t inside, exact for squares of fractions; undecided if a negative number lies inside."""
        if self.lower < 0:
            msg = f"argument {self} of the square root may be negative: enclose more narrowly or exclude it"
            raise UndecidedError(msg)
        return Interval(_root(self.lower, up=False), _root(self.upper, up=True))

    # --------------------------------------------------------------------------------------- comparisons

    def certainly_less(self, other: Number) -> bool:
        """Whether every number inside is below every number in `other`."""
        return self.upper < _interval(other).lower

    def certainly_at_most(self, other: Number) -> bool:
        """Whether every number inside is below or equal to every number in `other`."""
        return self.upper <= _interval(other).lower

    def certainly_equal(self, other: Number) -> bool:
        """Whether both numbers are known exactly and equal."""
        other = _interval(other)
        return self.is_point and other.is_point and self.lower == other.lower

    def certainly_different(self, other: Number) -> bool:
        """Whether the two intervals are disjoint."""
        other = _interval(other)
        return self.upper < other.lower or other.upper < self.lower

    def _decide(self, yes: bool, no: bool, sign: str, other: object) -> bool:
        if not (yes or no):
            msg = f"{self} {sign} {other} is undecided: the intervals overlap; use a certainly_... method"
            raise UndecidedError(msg)
        return yes

    def _less(self, other: Interval) -> bool:
        return self._decide(self.certainly_less(other), other.certainly_at_most(self), "<", other)

    def _at_most(self, other: Interval) -> bool:
        return self._decide(self.certainly_at_most(other), other.certainly_less(self), "<=", other)

    def _equal(self, other: Interval) -> bool:
        return self._decide(self.certainly_equal(other), self.certainly_different(other), "==", other)

    __lt__, __gt__ = operator("_less"), operator("_less", turned=True)
    __le__, __ge__ = operator("_at_most"), operator("_at_most", turned=True)
    __eq__ = operator("_equal")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]  # equality may be undecided, so intervals cannot be keys

    def __bool__(self) -> bool:
        return self != 0


def _interval(value: Number) -> Interval:
    return value if isinstance(value, Interval) else Interval(value)


Number = Interval | Fraction | float
