"""Whether a computed norm layer differs from the exact one by rounding or by a bug, and by which bug."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy

from ._errors import InputError
from ._formats import FORMATS
from ._norms import Placement, scale
from ._rounding import METHODS, Layer, Method, Row, bound_of, check_additions, checked_layer
from .carriers import Array, Enclosure, Interval, dtype_name

_USUAL_EPS = (0.0, 1e-12, 1e-8, 1e-6, 1e-5, 1e-3)
_EXAMINED = 4  # rows on which the usual mistakes are tried: the ones with the largest ratios

_METHOD_NOTE: dict[Method, str] = {
    "two-pass": "",
    "merged": " of an implementation that merges partial variances or multiplies before it subtracts the mean",
    "one-pass": " of the one-pass variance mean(x²) − μ², which loses κ² digits",
}


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a computed output differs by, and what can and cannot have caused it; made by :func:`explain_difference`.

    Attributes
    ----------
    verdict : {"rounding", "bug"}
        ``"bug"`` is proved: some component is certainly further from the exact value than rounding can take it.
        ``"rounding"`` says that every component is within a derived bound.
    method : {"two-pass", "merged", "one-pass"} or None
        The first way to compute the variance whose bound covers every component; None for a bug.
    cause : str or None
        For a bug: the usual mistake whose own exact output agrees with what was computed.
    also_fits : tuple of str
        For rounding: usual mistakes that the precision cannot rule out, because their outputs lie as close.
    lower, upper : float64 arrays, shape (..., d)
        Enclosure of the exact output.
    difference, bound, ratio : float64 arrays, shape (..., d)
        Error of each component (rounded up), its bound for `method` (for a bug: the widest bound), and their quotient.
    outside : bool array, shape (..., d)
        The components that rounding cannot explain.
    message : str
        One readable sentence; :meth:`component` has one for each component.

    Examples
    --------
    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> explanation = lg.explain_difference(x, (x - 3) / x.std(ddof=1), eps=0.0)
    >>> explanation.verdict, explanation.cause, explanation.worst
    ('bug', 'variance divided by d - 1 (ddof=1)', (2,))
    """

    verdict: Literal["rounding", "bug"]
    method: Method | None
    cause: str | None
    also_fits: tuple[str, ...]
    lower: numpy.ndarray
    upper: numpy.ndarray
    difference: numpy.ndarray
    bound: numpy.ndarray
    ratio: numpy.ndarray
    outside: numpy.ndarray
    message: str

    def __str__(self) -> str:
        return self.message

    @property
    def worst(self) -> tuple[int, ...]:
        """Index of the component with the largest ratio."""
        return tuple(int(i) for i in numpy.unravel_index(numpy.argmax(self.ratio), self.ratio.shape))

    def component(self, *index: int) -> str:
        """Sentence about the component at `index`."""
        verdict = "outside: a bug" if self.outside[index] else "within: rounding"
        return (
            f"component {', '.join(map(str, index))}: exact value in [{self.lower[index]:.17g}, "
            f"{self.upper[index]:.17g}], difference {self.difference[index]:.3g}, "
            f"bound {self.bound[index]:.3g}, ratio {self.ratio[index]:.3g}, {verdict}"
        )


def explain_difference(
    x: Array,
    got: Array,
    *,
    gain: Array | None = None,
    bias: Array | None = None,
    eps: float,
    dtype: str | None = None,
    centered: bool = True,
    placement: Placement = "inside",
    additions: int | None = None,
) -> Explanation:
    r"""Compare `got` with the exact ``layer_norm(x, gain, bias, eps=eps)`` and say: rounding, or a bug.

    The exact output is enclosed by integers and the difference held against :func:`error_bound`, for the three
    ways in which libraries compute the variance. Beyond the widest bound no rounding reaches: it is a bug, and
    the usual mistakes (divisor d − 1, no mean subtraction, ε elsewhere or another ε, gain missing, squared or
    used as 1 + gain, ...) are tried, each by the exact output it would have.

    Parameters
    ----------
    x : array, shape (..., d)
        The inputs of the layer, finite.
    got : array, shape (..., d)
        What was computed from them.
    gain, bias : arrays, shape (d,), optional
    eps : float
        ε ≥ 0.
    dtype : {"float64", "float32", "bfloat16", "float16"}, optional
        Format of `x` and `got`; default: the dtype of `got`.
    centered : bool
        True for LayerNorm, False for RMSNorm.
    placement : {"inside", "outside"}
    additions : int, optional
        As for :func:`error_bound`. The default, any order of summation, accuses nobody wrongly; the number of
        the implementation at hand (at most 128 for NumPy and for PyTorch on a CPU, d up to 65536) sharpens it.

    Returns
    -------
    Explanation
        Frozen; ``print`` it for the sentence.

    Raises
    ------
    InputError
        As :func:`error_bound`; `got` of another shape than `x`; a constant vector (for ``"rms"``: the zero
        vector) at ε = 0, which has no exact output.

    References
    ----------
    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 4.2.

    Examples
    --------
    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> lg.explain_difference(x, lg.layer_norm(x, eps=1e-5), eps=1e-5).verdict
    'rounding'
    >>> print(lg.explain_difference(x, (x - 3) / x.std(ddof=1), eps=0.0).cause)
    variance divided by d - 1 (ddof=1)
    """
    name = dtype_name(got) if dtype is None and hasattr(got, "dtype") else dtype
    rows, layer, name = checked_layer(x, gain, bias, eps, name, centered, placement)
    h = check_additions(additions, rows.shape[-1])
    computed = numpy.array(got.tolist() if hasattr(got, "tolist") else got, dtype=numpy.float64)
    if computed.shape != rows.shape:
        msg = f"got has shape {computed.shape}, but x has shape {rows.shape}: compare outputs of the same vectors"
        raise InputError(msg)

    flat, flat_computed = rows.reshape(-1, rows.shape[-1]), computed.reshape(-1, rows.shape[-1])
    exact = [Row(Enclosure(row), layer) for row in flat]
    for i, row in enumerate(exact):
        if not row.defined:
            what = "constant" if centered else "zero"
            msg = f"row {i} of x is {what} and eps = 0: the layer divides 0 by 0 there; leave the row out"
            raise InputError(msg)
    ends = [_output(row).float_bounds() for row in exact]
    apart = [_distance(values, _output(row)) for values, row in zip(flat_computed, exact, strict=True)]
    least, most = (numpy.array([pair[i] for pair in apart]) for i in (0, 1))

    bound, outside, method = most, least > most, None
    for candidate in METHODS:
        narrower = bound if candidate != METHODS[0] else numpy.zeros_like(most)
        bound = numpy.maximum(narrower, [bound_of(row, name, candidate, h) for row in exact])
        outside = least > bound
        if not numpy.any(outside):
            method = candidate
            break
    ratio = _ratio(most, bound)

    examined = numpy.argsort(-ratio.max(axis=-1), kind="stable")[:_EXAMINED]
    if method is None:
        examined = [i for i in examined if outside[i].any()]
    fitting = _fitting([(flat_computed[i], exact[i]) for i in examined], name, h)
    cause = fitting[0] if method is None and fitting else None
    also_fits = tuple(fitting) if method is not None else ()
    message = _message(method, cause, also_fits, most, bound, ratio, outside)
    shaped = (
        array.reshape(rows.shape)
        for array in (*map(numpy.array, zip(*ends, strict=True)), most, bound, ratio)
    )
    return Explanation(
        "rounding" if method is not None else "bug",
        method,
        cause,
        also_fits,
        *shaped,
        outside=outside.reshape(rows.shape),
        message=message,
    )


def _output(row: Row) -> Enclosure:
    if row.output is None:  # excluded before
        msg = "the layer has no output at this row"
        raise InputError(msg)
    return row.output


def _distance(computed: numpy.ndarray, exact: Enclosure) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Float64 bounds of the error of each component; inf where nothing finite was computed."""
    finite = numpy.isfinite(computed)
    low, high = abs(Enclosure(numpy.where(finite, computed, 0.0)) - exact).float_bounds()
    return numpy.where(finite, low, math.inf), numpy.where(finite, high, math.inf)


def _ratio(difference: numpy.ndarray, bound: numpy.ndarray) -> numpy.ndarray:
    """difference/bound, with 0 where there is no bound."""
    known = numpy.isfinite(bound)
    return numpy.where(known, difference / numpy.where(known, bound, 1.0), 0.0)


def _mistakes(row: Row, dtype: str) -> Iterator[tuple[str, Layer, Fraction]]:
    """The usual mistakes as layers of the same two functions, and what they round relative to the output."""
    layer, d = row.layer, len(row.x)
    ones = Enclosure([1] * d)
    gain, bias = layer.gain or ones, layer.bias or Enclosure([0] * d)
    few = 4 * FORMATS["float64" if dtype == "float64" else "float32"].roundoff
    with_eps = scale(Enclosure([row.variance]), eps=layer.eps, placement=layer.placement)

    if layer.centered:
        if d > 1 and layer.placement == "inside":
            shrink = Interval(Fraction(d - 1, d)).sqrt()
            eps = layer.eps * Fraction(d - 1, d)
            yield "variance divided by d - 1 (ddof=1)", replace(layer, gain=gain * shrink, eps=eps), few
        yield "mean not subtracted (RMSNorm)", replace(layer, centered=False), few
        yield (
            "mean subtracted in the variance only",
            replace(layer, bias=bias + gain * row.mean / with_eps),
            few,
        )
    else:
        yield "mean subtracted (LayerNorm)", replace(layer, centered=True), few
    other: Placement = "outside" if layer.placement == "inside" else "inside"
    if layer.eps:
        yield f"eps {other} the root", replace(layer, placement=other), few
    yield from (
        (f"eps = {eps:g}", replace(layer, eps=Fraction(eps)), few) for eps in _USUAL_EPS if eps != layer.eps
    )
    if layer.placement == "inside":
        by_norm = replace(layer, gain=gain * (1 / Interval(d).sqrt()), eps=layer.eps / d)
        yield "divided by the norm, factor sqrt(d) missing", by_norm, few
    yield "divided by the square of the denominator", replace(layer, gain=gain / with_eps), few
    if layer.gain is not None:
        yield "gain missing", replace(layer, gain=None), few
        yield "gain squared", replace(layer, gain=gain * gain), few
        yield "gain used as 1 + gain", replace(layer, gain=gain + 1), few
    if layer.bias is not None:
        yield "bias missing", replace(layer, bias=None), few
        yield "bias subtracted", replace(layer, bias=-bias), few
    if layer.gain is not None and dtype in ("bfloat16", "float16"):
        yield f"rounded to {dtype} before the gain", layer, 2 * FORMATS[dtype].roundoff


def _fitting(rows: list[tuple[numpy.ndarray, Row]], dtype: str, h: int) -> list[str]:
    """Names of the mistakes whose exact output is within its own rounding of what was computed, best first."""
    scores: dict[str, list[float]] = {}
    for computed, row in rows:
        for name, layer, roundoff in _mistakes(row, dtype):
            mistaken = Row(row.x, layer)
            if mistaken.output is None:
                continue
            same = layer is not row.layer and not _distance_exact(mistaken.output, _output(row)).any()
            size = abs(mistaken.output).float_bounds()[1]
            if layer.bias is not None:
                size = size + abs(layer.bias).float_bounds()[1]
            allowed = bound_of(mistaken, dtype, "two-pass", h) + float(roundoff) * size
            ratio = _ratio(_distance(computed, mistaken.output)[1], allowed).max()
            scores.setdefault(name, []).append(math.inf if same else float(ratio))
    fits = {
        name: max(ratios) for name, ratios in scores.items() if len(ratios) == len(rows) and max(ratios) <= 1
    }
    return sorted(fits, key=lambda name: fits[name])


def _distance_exact(first: Enclosure, second: Enclosure) -> numpy.ndarray:
    return abs(first - second).float_bounds()[0]


def _message(
    method: Method | None,
    cause: str | None,
    also_fits: tuple[str, ...],
    difference: numpy.ndarray,
    bound: numpy.ndarray,
    ratio: numpy.ndarray,
    outside: numpy.ndarray,
) -> str:
    worst = numpy.unravel_index(
        numpy.argmax(numpy.where(outside, ratio, -1) if method is None else ratio), ratio.shape
    )
    numbers = (
        f"largest ratio {ratio[worst]:.3g} (difference {difference[worst]:.3g}, bound {bound[worst]:.3g})"
    )
    if method is None:
        reason = f"it agrees with: {cause}" if cause else "none of the usual mistakes agrees with it"
        return f"bug: {int(outside.sum())} of {outside.size} components beyond every rounding, {numbers}; {reason}"
    missing = "" if numpy.isfinite(bound).all() else "; where squares may over- or underflow no bound exists"
    hint = f"; at this precision it cannot be told apart from: {', '.join(also_fits)}" if also_fits else ""
    return f"rounding{_METHOD_NOTE[method]}: {numbers}{missing}{hint}"
