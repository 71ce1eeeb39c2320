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
from .operators import Operators

SQRT_BITS = 160
"""Each endpoint of a square root is within a factor 1 ± 2^−SQRT_BITS of the root of the endpoint."""


class UndecidedError(LngeomError, ArithmeticError):
    """The intervals do not decide: a divisor may be 0, a radicand may be negative."""


def _root(value: Fraction, *, up: bool) -> Fraction:
    """Bound of √value within a factor 1 ± 2^−SQRT_BITS; exact if value is the square of a fraction."""
    p, q = value.numerator, value.denominator
    root_p, root_q = math.isqrt(p), math.isqrt(q)
    if root_p * root_p == p and root_q * root_q == q:  # lowest terms: a square has a square above and below
        return Fraction(root_p, root_q)
    # √(p/q) = √(4^k p/q) / 2^k. With 4^k p/q >= 4^SQRT_BITS the integer root has more than SQRT_BITS bits.
    k = max(0, SQRT_BITS + (q.bit_length() - p.bit_length() + 2) // 2)
    return Fraction(math.isqrt((p << 2 * k) // q) + up, 1 << k)


def _decimal(value: Fraction) -> Decimal:
    """`value` to 28 digits, for display; a float would not reach its exponents."""
    return Decimal(value.numerator) / Decimal(value.denominator)


class Interval(Operators):
    """Closed interval [lower, upper] of rational endpoints that holds one unknown real number.

    Ends are integers, fractions or finite floats (taken at their exact value), and so are operands; without `upper` the
    number is known exactly. Division needs a divisor that cannot be 0, the square root an argument that cannot be
    negative. What is certain of a number is asked with ``stands``.
    """

    __slots__ = ("lower", "upper")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lower: Fraction | float, upper: Fraction | float | None = None) -> None:
        try:
            self.lower = lower if type(lower) is Fraction else Fraction(lower)
            self.upper = self.lower if upper is None else upper if type(upper) is Fraction else Fraction(upper)
        except (OverflowError, ValueError) as error:  # of an infinity or a NaN
            raise InputError("an end is infinity or a NaN: intervals hold finite numbers; remove that first") from error
        if self.lower > self.upper:
            raise InputError(f"lower end {lower} is above upper end {upper}: give the smaller endpoint first")

    def __repr__(self) -> str:
        return f"Interval({self.lower})" if self.is_point else f"Interval({self.lower}, {self.upper})"

    def __str__(self) -> str:
        if self.is_point:
            return str(self.lower)
        return f"{_decimal(self.midpoint):.17g} (± {_decimal(self.width / 2):.1e})"

    def __eq__(self, other: object) -> bool:
        raise UndecidedError(f"{self} == {other} may be undecided: ask stands(a - b, '=')")

    @property
    def is_point(self) -> bool:
        """Whether the number is known exactly."""
        return self.lower is self.upper or self.lower == self.upper

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

    def _taken(self, other: object) -> Interval | None:
        if isinstance(other, Interval):
            return other
        return Interval(other) if isinstance(other, int | float | Fraction) else None

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def _plus(self, other: Interval) -> Interval:
        lower = self.lower + other.lower
        return Interval(lower, lower if self.is_point and other.is_point else self.upper + other.upper)

    def _times(self, other: Interval) -> Interval:
        if self.is_point and other.is_point:
            return Interval(self.lower * other.lower)
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(min(ends), max(ends))

    def _over(self, other: Interval) -> Interval:
        if other.lower <= 0 <= other.upper:
            msg = f"divisor {other} contains 0, as that of LayerNorm of a constant vector: exclude it, or take eps > 0"
            raise UndecidedError(msg)
        return self._times(Interval(1 / other.upper, 1 / other.lower))

    def __pow__(self, exponent: int) -> Interval:
        if exponent < 0:
            return 1 / self**-exponent
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
            raise UndecidedError(f"argument {self} of the square root may be negative: enclose it better or exclude it")
        return Interval(_root(self.lower, up=False), _root(self.upper, up=True))


Number = Interval | Fraction | float


def ends(value: Number) -> tuple[Fraction | float, Fraction | float]:
    """Lower and upper end of a value."""
    return (value.lower, value.upper) if isinstance(value, Interval) else (value, value)


_STANDS = {
    "=": lambda low, high: (low == high == 0, low > 0 or high < 0),
    "!=": lambda low, high: (low > 0 or high < 0, low == high == 0),
    ">": lambda low, high: (low > 0, high <= 0),
    ">=": lambda low, high: (low >= 0, high < 0),
}
"""Whether a number between two ends certainly stands in the relation to 0, and whether it certainly does not."""


def stands(value: Number, relation: str) -> bool | None:
    """Whether a number stands in a relation to 0: ``=``, ``!=``, ``>`` or ``>=``; None where that is not certain."""
    yes, no = _STANDS[relation](*ends(value))
    return True if yes else False if no else None
