"""The binary floating-point formats that models are stored in and computed with."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: `bits` of significand, exponents of normal numbers from `low` to `high`."""

    bits: int
    low: int
    high: int

    @cached_property
    def roundoff(self) -> Fraction:
        """Unit roundoff u, half the distance from 1 to the next number."""
        return Fraction(1, 2**self.bits)

    @cached_property
    def tiny(self) -> Fraction:
        """Smallest positive normal number ω."""
        return Fraction(2) ** self.low

    @cached_property
    def largest(self) -> Fraction:
        """Largest finite number."""
        return (2 - Fraction(2) ** (1 - self.bits)) * Fraction(2) ** self.high

    def holds(self, values: numpy.ndarray) -> numpy.ndarray:
        """Which float64 `values` are numbers of this format (subnormal ones included)."""
        mantissa, exponent = numpy.frexp(values)
        kept = self.bits - numpy.maximum(0, self.low - (exponent - 1))  # fewer bits below the normal range
        scaled = numpy.ldexp(mantissa, kept)
        return (scaled == numpy.rint(scaled)) & (numpy.abs(values) <= float(self.largest))


FORMATS = {
    "float64": Format(53, -1022, 1023),
    "float32": Format(24, -126, 127),
    "bfloat16": Format(8, -126, 127),
    "float16": Format(11, -14, 15),
}
