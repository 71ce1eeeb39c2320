r"""How far a floating-point LayerNorm or RMSNorm may lie from the exact one: condition number and error bound.

The inputs are exact; every operation obeys the standard model with underflow, fl(a ∘ b) = (a ∘ b)(1 + δ) + η,
|δ| ≤ u, |η| ≤ ω, where u is the unit roundoff and ω the smallest normal number, so that gradual underflow and
flush to zero are both covered. A term passes through at most h additions on its way into a sum, whatever the
order; γ_k = ku/(1 − ku). Hats mark computed numbers; c = Πx, v = σ², s = √(v + ε).

*Mean.* |μ̂ − μ| ≤ α. Summing: α = γ_{h+2} mean|x| + 3ω. Merging means, m ← m_a + κ(m_b − m_a) with κ the part of
the second part (Welford; Chan, Golub and LeVeque): a merge adds at most γ_8 max|x| + 3ω to the larger error of
its parts, because m is a convex combination of them: α = γ_{8h} max|x| + 4hω.

*Variance.* v̂ lies in [V₋, V₊].
Two passes: the mean of (x − μ̂)² is v + (μ̂ − μ)², since Σc = 0. Rounding each difference moves the root mean square
by a factor 1 ± u and by ω: V₊ = (√(v + α²)(1 + u) + ω)²(1 + γ_{h+3}) + 3ω, V₋ = (√v(1 − u) − ω)²(1 − γ_{h+3}) − 3ω.
Merging: Σc² = Σ wδ² over the merges, δ the difference of the means and w = n_a n_b/(n_a + n_b) ≤ min(n_a, n_b), so
that W = Σw ≤ d log₂(d)/2. Means with errors α' = α + ω change a term by at most 4α'w|δ| + 4α'²w, for the form δ²w
and for Welford's δ(x − m) alike; by Cauchy-Schwarz v̂ is within D + γ_{2h+8}(v + D) + (L + 8)ω of v, where
L = ⌈log₂ d⌉/2 and D = 4α'√(Lv) + 4α'²L.
One pass, mean x² − μ̂²: v̂ is within D + u(v + D) + ω of v, D = γ_{h+3} mean x² + 2|μ|α + α² + u(|μ| + α)² + 4ω.
RMSNorm: mean x² within γ_{h+3} mean x² + 3ω.

*Denominator.* The reciprocal r̂ of √(v̂ + ε̂), ε̂ = ε(1 ± u) ± ω, is computed with relative error at most 4u (a root and
a division have less than 3u): sr̂ lies in [ρ₋, ρ₊], ρ± = s(1 ± 4u)/√((V∓ + ε̂∓)(1 ∓ u) ∓ ω).

*Numerator.* |ĉ_i − c_i| ≤ e_i. Subtracting first: e_i = α(1 + u) + ω + u|c_i|. Multiplying first, x_i r̂ − μ̂r̂, perhaps
with the bias folded in: e_i = α(1 + 4u) + 3u|μ| + ω + u|c_i| + 2u|x_i|. RMSNorm: 0.

*Output.* With k = 2 products (1 without a gain) and τ = max(ρ₊(1 + u)^k − 1, 1 − ρ₋(1 − u)^k),
|ẑ_i − z_i| ≤ (|g_i|((e_i ρ₊(1 + u)^k + |c_i|τ)/s + 3ω) + ω(1 + |c_i| + e_i))(1 + u) + u(|z_i| + 2|b_i|) + ω.
Half precision is computed in float32 and rounded once, which adds the half ulp of the narrow format.

The bound is inf where a sum of squares may overflow (merging with an empty part squares a mean, so that max x² may
overflow too), or where v̂ + ε̂ may vanish: there no bound exists.
With α ≈ γ_h mean|x| and mean|x| ≤ κσ the leading term is γ_h κ, κ = ‖x‖/‖Πx‖ the condition number.
The bound itself is evaluated from the exact c, v and z of an :class:`Enclosure`, rounded upward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy

from ._errors import InputError
from ._formats import FORMATS
from ._norms import Placement, layer_norm, rms_norm, scale
from ._projection import moments, project, scaled_moments
from .carriers import Array, Enclosure, Interval, check_eps, check_parameter, check_vectors, dtype_name, namespace

Method = Literal["two-pass", "merged", "one-pass"]
METHODS: tuple[Method, ...] = ("two-pass", "merged", "one-pass")


def condition_number(x: Array) -> Array:
    r"""Condition number κ = ‖x‖/‖Πx‖ = √(1 + (μ/σ)²) = 1/sin θ of LayerNorm at each vector x.

    A relative change of size δ < 1/κ in x turns the direction of its LayerNorm by an angle of sine at most κδ. RMSNorm
    has κ = 1.

    Args:
        x: array, shape (..., d). Real floating dtype; float16 and bfloat16 are computed in float32.

    Returns:
        array, shape (...): At least 1; inf for a constant vector, NaN for the zero vector. float32 for half-precision
            `x`.

    References:
        N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 1.9, for the variance.

    >>> import numpy as np, lngeom as lg
    >>> float(lg.condition_number(np.array([99.0, 101.0])))
    100.00499987500625
    """
    check_vectors("x", x)
    mean, variance, _ = scaled_moments(x)
    ratio = mean / scale(variance, eps=0)
    return namespace(ratio).sqrt(1 + ratio * ratio)[..., 0]


@dataclass(frozen=True)
class Layer:
    """The parameters of one norm layer, exactly known or enclosed."""

    centered: bool
    gain: Enclosure | None
    bias: Enclosure | None
    eps: Fraction
    placement: Placement

    def __call__(self, x: Enclosure) -> Enclosure:
        """Enclosure of the exact output at `x`."""
        function = layer_norm if self.centered else rms_norm
        return function(x, self.gain, self.bias, eps=self.eps, placement=self.placement)


def error_bound(
    x: Array,
    gain: Array | None = None,
    bias: Array | None = None,
    *,
    eps: float,
    dtype: str | None = None,
    centered: bool = True,
    placement: Placement = "inside",
    method: Method = "two-pass",
    additions: int | None = None,
) -> numpy.ndarray:
    r"""Bound of the error of each component of ``layer_norm(x, gain, bias, eps=eps)`` or of ``rms_norm``.

    Valid for every order of summation and for subnormal numbers kept or flushed; see the derivation at the top
    of the module. The leading term is (h + 2)uκ, u the unit roundoff and κ the :func:`condition_number`.

    Args:
        x: array, shape (..., d). Finite. The inputs of the layer, which are taken as exact.
        gain, bias: arrays, shape (d,)
        eps: ε ≥ 0.
        dtype: {"float64", "float32", "bfloat16", "float16"}. What `x` is stored in; default: the dtype of `x`. Half
            precision is computed in float32 and rounded once.
        centered: True for LayerNorm, False for RMSNorm.
        placement: {"inside", "outside"}
        method: {"two-pass", "merged", "one-pass"}. How the variance is computed: from the centred vector (this
            library); by merging partial means and sums of squares (PyTorch) and possibly multiplying before
            subtracting the mean; or as mean x² − μ² (Flax).
        additions: h, the largest number of additions a term passes through. Default d: any order. A pairwise sum such
            as NumPy's over the last axis of a contiguous array has at most 24 + log₂ d.

    Returns:
        numpy array of float64, shape (..., d): inf where a square may overflow or σ² + ε may be computed as 0.

    Notes:
        Exact integers at work: about 50 ms for a vector with d = 4096.

    References:
        N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 2.2, 3.1 and 4.2; T. F. Chan,
        G. H. Golub and R. J. LeVeque, The American Statistician 37 (1983), 242-247.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> bool(np.all(lg.error_bound(x, eps=0.0) < 1e-14))
    True
    >>> float(lg.error_bound(np.array([1.0, 2.0]), eps=0.0, dtype="bfloat16").max()) < 1.001 * 2.0**-8
    True
    """
    rows, layer, name = checked_layer(x, gain, bias, eps, dtype, centered, placement)
    if method not in METHODS:
        msg = f"method is {method!r}: the variance is computed by one of {', '.join(METHODS)}"
        raise InputError(msg)
    h = check_additions(additions, rows.shape[-1])
    flat = rows.reshape(-1, rows.shape[-1])
    bounds = [bound_of(Row(Enclosure(row), layer), name, method, h) for row in flat]
    return numpy.array(bounds).reshape(rows.shape)


def check_additions(additions: int | None, d: int) -> int:
    """h, the number of additions on the longest chain; d if not given."""
    if additions is None:
        return d
    if isinstance(additions, bool) or not isinstance(additions, int) or additions < 1:
        msg = f"additions is {additions!r}: the longest chain of additions in a sum has an integer length >= 1"
        raise InputError(msg)
    return additions


def checked_layer(
    x: Array, gain: Array | None, bias: Array | None, eps: Any, dtype: str | None, centered: bool, placement: Placement
) -> tuple[numpy.ndarray, Layer, str]:
    """Rows of `x` as float64, the layer with exact parameters, and the name of the storage format."""
    check_vectors("x", x)
    check_parameter("gain", gain, x)
    check_parameter("bias", bias, x)
    check_eps(eps)
    name = dtype_name(x) if dtype is None else dtype
    if name not in FORMATS:
        msg = f"dtype is {name!r}: error bounds are known for {', '.join(FORMATS)}"
        raise InputError(msg)
    wide = "float64" if name == "float64" else "float32"
    rows = _numbers("x", x, name)
    enclosed = [None if p is None else Enclosure(_numbers(n, p, wide)) for n, p in (("gain", gain), ("bias", bias))]
    return rows, Layer(centered, enclosed[0], enclosed[1], Fraction(eps), placement), name


def _numbers(name: str, values: Array, format_name: str) -> numpy.ndarray:
    """`values` as float64, each checked to be a finite number of the format."""
    listed = values.tolist() if hasattr(values, "tolist") else numpy.asarray(values).tolist()
    numbers = numpy.array(listed, dtype=numpy.float64)
    foreign = numbers[~(numpy.isfinite(numbers) & FORMATS[format_name].holds(numbers))]
    if foreign.size:
        msg = (
            f"{name} holds {float(foreign[0])!r}: not a finite {format_name} number; the bound is about the "
            f"computation, so round {name} to {format_name} first"
        )
        raise InputError(msg)
    return numbers


class Row:
    """Exact quantities of one vector under one layer."""

    def __init__(self, x: Enclosure, layer: Layer) -> None:
        self.x, self.layer = x, layer
        mean, variance = moments(x)
        self.square = (x * x).__array_namespace__().mean(x * x)
        self.mean = mean[0]
        self.variance = variance[0] if layer.centered else self.square
        self.numerator = project(x) if layer.centered else x
        self.defined = bool(self.variance.magnitude or layer.eps)
        self.output = layer(x) if self.defined else None


def bound_of(row: Row, dtype: str, method: Method, h: int) -> numpy.ndarray:
    """The bound of the module's derivation for one row, evaluated upward."""
    storage = FORMATS[dtype]
    work = storage if dtype == "float64" else FORMATS["float32"]
    d, layer, u, w = len(row.x), row.layer, work.roundoff, work.tiny
    nowhere = numpy.full(d, math.inf)
    if row.output is None or 4 * (8 * h + 8) * u > 1:  # γ needs ku < 1; beyond 1/4 no digit is left anyway
        return nowhere

    size = abs(row.x)
    mean_size = size.__array_namespace__().mean(size)
    largest = max(entry.upper for entry in size)
    alpha = _mean_error(method if layer.centered else "two-pass", mean_size.upper, largest, h, u, w)
    v = row.variance.rounded()
    low, high = _variance_range(row, method, alpha, h, u, w)
    squares = [d * high]
    if not layer.centered or method == "one-pass":
        squares.append(d * row.square.upper)
    elif method == "merged":
        squares.append(largest**2)
    if 4 * max(squares) > work.largest:
        return nowhere
    if d * mean_size.upper * (1 + _gamma(h, u)) > work.largest:
        return nowhere

    s = scale(Enclosure([v]), eps=layer.eps, placement=layer.placement)[0].rounded()
    eps_low, eps_high = (layer.eps * (1 - u) - w, layer.eps * (1 + u) + w) if layer.eps else (Fraction(0), Fraction(0))
    if layer.placement == "inside":
        below, above = (low + max(eps_low, 0)) * (1 - u) - w, (high + eps_high) * (1 + u) + w
        if below <= 0:
            return nowhere
        root_low, root_high = Interval(below).sqrt().lower, Interval(above).sqrt().upper
    else:
        root_low = (Interval(low).sqrt().lower * (1 - u) + max(eps_low, 0)) * (1 - u) - w
        root_high = (Interval(high).sqrt().upper * (1 + u) + eps_high) * (1 + u) + w
        if root_low <= 0:
            return nowhere
    rho_low, rho_high = s.lower * (1 - 4 * u) / root_high, s.upper * (1 + 4 * u) / root_low
    k = 1 if layer.gain is None else 2
    tau = max(rho_high * (1 + u) ** k - 1, 1 - rho_low * (1 - u) ** k)

    # From here on only sums and products of numbers >= 0, in float64; one factor at the end covers their rounding.
    spread, slack = _up(rho_high * (1 + u) ** k / s.lower), _up(tau / s.lower)
    centered, output = _size(row.numerator), _size(row.output)
    error = numpy.zeros(d)
    if layer.centered:
        extra = 0 if method == "two-pass" else 3
        constant = alpha * (1 + (1 + extra) * u) + extra * u * row.mean.magnitude + w
        error = _up(constant) + float(u) * centered
        if extra:
            error = error + 2 * float(u) * _size(row.x)
    gain = 1.0 if layer.gain is None else _size(layer.gain)
    bias = 0.0 if layer.bias is None else _size(layer.bias)
    omega = float(w)
    with numpy.errstate(over="ignore", invalid="ignore"):  # inf and NaN both end as inf
        product = gain * (error * spread + centered * slack + 3 * omega) + omega * (1 + centered + error)
        bound = product * (1 + 2 * float(u)) + float(u) * (output + 2 * bias) + omega
        if storage is not work:
            subnormal = float(storage.tiny * 2 * storage.roundoff)
            bound = bound + float(storage.roundoff) * (output + bound) + subnormal
        # Fewer than 30 float64 operations, each with relative error 2⁻⁵³ or absolute error 2⁻¹⁰⁷⁴.
        bound = bound * (1 + 2.0**-46) + 2.0**-1000
        reach = numpy.maximum(output + bound, gain * spread * (1 + _size(row.x)))
        return numpy.where(reach < float(storage.largest), bound, math.inf)


def _gamma(k: int, u: Fraction) -> Fraction:
    return k * u / (1 - k * u)


def _mean_error(method: Method, mean_size: Fraction, largest: Fraction, h: int, u: Fraction, w: Fraction) -> Fraction:
    if method == "merged":
        return _short(_gamma(8 * h, u) * largest + 4 * h * w)
    return _short(_gamma(h + 2, u) * mean_size + 3 * w)


def _variance_range(
    row: Row, method: Method, alpha: Fraction, h: int, u: Fraction, w: Fraction
) -> tuple[Fraction, Fraction]:
    """[V₋, V₊] of the derivation."""
    d, v = len(row.x), row.variance.rounded()
    gamma = _gamma(h + 3, u)
    if not row.layer.centered:
        distance = gamma * v.upper + 3 * w
    elif method == "two-pass":
        top = Interval(v.upper + alpha * alpha).sqrt().upper * (1 + u) + w
        bottom = max(Fraction(0), v.sqrt().lower * (1 - u) - w)
        return max(Fraction(0), bottom**2 * (1 - gamma) - 3 * w), _short(top**2 * (1 + gamma) + 3 * w)
    elif method == "merged":
        levels, shift = Fraction((d - 1).bit_length(), 2), alpha + w
        change = 4 * shift * (levels * v).sqrt().upper + 4 * shift**2 * levels
        distance = change + _gamma(2 * h + 8, u) * (v.upper + change) + (levels + 8) * w
    else:
        mean = row.mean.magnitude
        change = gamma * row.square.upper + 2 * mean * alpha + alpha**2 + u * (mean + alpha) ** 2 + 4 * w
        distance = change + u * (v.upper + change) + w
    return max(Fraction(0), v.lower - distance), _short(v.upper + distance)


def _short(value: Fraction) -> Fraction:
    """A number not below `value` with a short numerator and denominator."""
    return Interval(value).rounded().upper


def _up(value: Fraction) -> float:
    """The float64 above `value`."""
    try:
        return math.nextafter(float(value), math.inf)
    except OverflowError:
        return math.inf


def _size(values: Enclosure) -> numpy.ndarray:
    """Float64 upper bounds of the absolute values."""
    return abs(values).float_bounds()[1]
