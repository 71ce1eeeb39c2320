"""An accusation as exact numbers, with the numbers from which it follows: the certificate that Coq replays."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ._certainty import Exact, refutation, root
from ._constants import SCALE
from ._definition import Definition
from ._family import Arithmetic
from ._formats import FORMATS

_BITS = 64  # of a number that favours the kernel, and is not exact; the code's own bounds have 2⁻²⁰ to spare

Number = list[int]
"""Mantissa m and exponent e of m 2^e."""


@dataclass(frozen=True, eq=False)
class Accusation:
    """A row `x` for which no correct kernel of `layer` returns `y`, as :func:`certainly_outside` decides."""

    x: list[float]
    y: list[float]
    layer: Definition
    arithmetic: Arithmetic

    def certificate(self, name: str) -> dict[str, object] | None:
        """The accusation of the kernel `name`, in exact numbers, with its grounds: bounds that favour it.

        None where the theorem says nothing: an output is no number, d is 1, or fractions do not refute the row.
        """
        refuted = refutation(self.x, self.y, self.layer, self.arithmetic)
        if refuted is None or len(self.x) < 2 or not all(map(math.isfinite, self.y)):
            return None
        bounds, d = self._bounds(), len(self.x)
        i = refuted.pairs[0][0]
        decided: dict[str, object] = (
            {"alone": i} if refuted.middle is None else {"pairs": [list(pair) for pair in refuted.pairs]}
        )
        if refuted.middle is not None:
            # The scales are counted in units of d; at an end the same number decides on both sides.
            middle = min(max(_near(refuted.middle / d, bits=256), bounds["left"]), bounds["right"])
            decided["middle"] = dyadic(middle)
        gain, bias = (
            [Fraction(default)] * d if p is None else [Fraction(*v.as_integer_ratio()) for v in p]
            for p, default in ((self.layer.gain, 1), (self.layer.bias, 0))
        )
        accusation = {
            "stored": next(name for name, form in FORMATS.items() if form == self.arithmetic.storage),
            "centered": self.layer.centered,
            "placement": self.layer.placement,
            "eps": dyadic(Fraction(self.layer.eps)),
            "row": [dyadic(Fraction(v)) for v in self.x],
            "gain": [dyadic(v) for v in gain],
            "bias": [dyadic(v) for v in bias],
            "returned": [dyadic(Fraction(v)) for v in self.y],
        }
        reasons = {key: dyadic(value) for key, value in bounds.items()} | {"decided": decided}
        return {"id": name, "accusation": accusation, "reasons": reasons}

    def _bounds(self) -> dict[str, Fraction]:
        """The bounds of the code, rounded so that they favour the kernel."""
        sample = Exact([self.x])
        spread, layer, d = sample.spread(self.arithmetic, centered=self.layer.centered), self.layer, len(self.x)
        square = (sample.variance if layer.centered else sample.square)[0, 0]
        u, eps = self.arithmetic.work.roundoff, Fraction(layer.eps)
        alpha = _near(Fraction(spread.alpha[0, 0]), up=True)
        low, high = _near(max(spread.low[0, 0], Fraction(0))), _near(spread.high[0, 0], up=True)

        def divisor(value: Fraction, *, up: bool) -> Fraction:
            if layer.placement == "inside":
                return _near(root(value + eps, up=up), up=up)
            return _near(root(value, up=up), up=up) + eps

        least, most = divisor(low, up=False), divisor(high, up=True)
        return {
            "alpha": alpha,
            "part": _near(alpha * d / (d - 1) + self.arithmetic.work.tiny, up=True),
            "low": low,
            "high": high,
            "least": least,
            "most": most,
            "center": _near(abs(sample.mean[0, 0]) if layer.centered else Fraction(0), up=True),
            "size": _near(root(sample.square[0, 0], up=True), up=True),
            "root": _near(root((d - 1).bit_length() * square, up=True), up=True),
            "left": _near((1 - SCALE * u) / (most * d)),
            "right": _near((1 + SCALE * u) / (least * d), up=True),
        }


def dyadic(value: Fraction) -> Number:
    """The numbers m and e of a fraction m 2^e, m odd or 0."""
    m, e = value.numerator, 1 - value.denominator.bit_length()
    if value.denominator != 1 << -e:
        raise ValueError(f"{value} has a denominator that is not a power of 2")
    zeros = (m & -m).bit_length() - 1 if m else 0
    return [m >> zeros, e + zeros if m else 0]


def _near(value: Fraction, *, up: bool = False, bits: int = _BITS) -> Fraction:
    """A number of few digits next to `value` ≥ 0, below or above it."""
    if value == 0:
        return value
    shift = bits - value.numerator.bit_length() + value.denominator.bit_length()
    scaled = value * Fraction(2) ** shift
    return Fraction(math.ceil(scaled) if up else math.floor(scaled)) / Fraction(2) ** shift
