"""How the norm of the residual stream grows over depth: log n_l = a + b·l, or log n_l = a + p·log(l + 1).

n_l is the mean norm of the stream after l blocks, over all tokens but the first of each sequence. Both laws are fitted
by least squares, from depth 0 and from depth 1; docs/derivations/residual.md has the hypotheses on the errors, the
interval, and the rule by which a law is called better.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np

from ..support import Row
from ._inference import CONFIDENCE, Trend, trend

Law = Literal["exponential", "power"]
Better = Literal["exponential", "power", "undecided"]
LAWS: tuple[Law, ...] = ("exponential", "power")
PARAMETERS: dict[Law, str] = {"exponential": "factor per block", "power": "exponent"}
"""The parameter that is estimated of each law."""

FIRST_DEPTHS = (0, 1)

_ENTERING = ("pre_attn", "pre_both")
_AFTER = ("post_attn", "post_mlp")
_EVIDENCE = -math.log(1 - CONFIDENCE)
_ROUNDING = 8 * 2.0**-53
"""A logarithm and what is subtracted from it: a handful of roundings, relative to the largest logarithm or to 1."""


def regressor(law: Law, depths: np.ndarray) -> np.ndarray:
    """The variable in which log n is linear: l, or log(l + 1)."""
    return depths.astype(np.float64) if law == "exponential" else np.log1p(depths)


class Stream(NamedTuple):
    """Mean norms of the residual stream by depth, their relative standard errors; or the reason why there are none."""

    norms: np.ndarray
    sampling_errors: np.ndarray
    reason: str = ""


@dataclass(frozen=True)
class Growth:
    """One law fitted to the stream of one model by :func:`growth`.

    Attributes:
        law: ``exponential`` or ``power``.
        first_depth, last_depth: The depths fitted; 0 is the embedding output.
        parameter: What ``estimate`` is: the ``factor per block``, or the ``exponent`` of depth + 1.
        estimate, low, high: Least squares estimate and its 95 % interval. None without a fit; two depths leave no
            degree of freedom, and nothing is excluded.
        scale: Norm that the law gives at depth 0.
        misfit: Root mean square of the residuals of log n_l.
        r2: Fraction of the variance of log n_l that it explains; None if there is none.
        sampling_error: Largest relative standard error of a mean norm, tokens taken as independent.
        better: Which law fits better over these depths: ``exponential``, ``power`` or ``undecided``.
        reason: Why there is no fit.
    """

    law: Law
    first_depth: int
    last_depth: int | None
    parameter: str
    estimate: float | None
    low: float | None
    high: float | None
    scale: float | None
    misfit: float | None
    r2: float | None
    sampling_error: float | None
    better: Better
    reason: str = ""

    def norms(self, depths: np.ndarray) -> np.ndarray:
        """The norms that the law gives at some depths."""
        assert self.estimate is not None
        assert self.scale is not None
        return self._through(0.0, math.log(self.scale), self.estimate, depths)

    def band(self, depths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The smaller and the larger norm by the law with either end of the interval, through the centre of the fit."""
        assert self.last_depth is not None
        assert self.low is not None
        assert self.high is not None
        fitted = np.arange(self.first_depth, self.last_depth + 1)
        centre = float(regressor(self.law, fitted).mean())
        middle = float(np.log(self.norms(fitted)).mean())
        ends = [self._through(centre, middle, end, depths) for end in (self.low, self.high)]
        return np.minimum(*ends), np.maximum(*ends)

    def _through(self, x: float, log: float, estimate: float, depths: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = np.log(estimate) if self.law == "exponential" else estimate
            return np.exp(log + slope * (regressor(self.law, depths) - x))


GROWTH_COLUMNS = tuple(field.name for field in fields(Growth))


def stream(rows: Sequence[Row]) -> Stream:
    """The mean norm of the stream after 0, 1, ... blocks, from the table of a run.

    Where norms stand before the branches, the input of the norm in front of the attention is the stream that enters its
    block, and that of the final norm is the stream that leaves the last. The norm in front of the MLP adds no depth.

    Returns:
        Stream: float64, shape (depths,); or no norms and a ``reason``.
    """
    inputs = [row for row in rows if row["side"] == "input" and row["bucket"] == "rest"]
    entering = sorted((row for row in inputs if row["role"] in _ENTERING), key=lambda row: row["layer"])
    final = [row for row in inputs if row["role"] == "final"]
    nothing = np.empty(0)
    if any(row["role"] in _AFTER for row in inputs):
        on_branch = "the norms stand on what the branches add, and do not see the stream"
        on_stream = "each norm stands on the stream and sets its length anew (Post-LN)"
        return Stream(nothing, nothing, on_branch if final else on_stream)
    if not entering:
        return Stream(nothing, nothing, "no norm layer reads the stream that enters a block")
    chosen = entering + final
    norms, spreads, tokens = (
        np.array([row[name] for row in chosen], np.float64) for name in ("norm_mean", "norm_std", "tokens")
    )
    usable = np.isfinite(norms) & (norms > 0)
    if not usable.all():
        depth = int(np.argmin(usable))
        return Stream(norms, nothing, f"the mean norm at depth {depth} is {norms[depth]:g}")
    return Stream(norms, spreads / norms / np.sqrt(tokens))


def growth(rows: Sequence[Row]) -> list[Growth]:
    """Both laws fitted to the stream of a run, from depth 0 and from depth 1.

    Returns:
        list of Growth: Four, in the order of :data:`FIRST_DEPTHS` and :data:`LAWS`.
    """
    measured = stream(rows)
    return [fit for first in FIRST_DEPTHS for fit in _fits(measured, first)]


def _fits(measured: Stream, first: int) -> list[Growth]:
    norms, reason = measured.norms[first:], measured.reason
    if not reason and len(norms) < 2:
        reason = f"a law takes two depths, and from depth {first} on there is {len(norms)}"
    if reason:
        return [
            Growth(law, first, None, PARAMETERS[law], *[None] * 7, better="undecided", reason=reason) for law in LAWS
        ]
    depths, logs = np.arange(first, first + len(norms)), np.log(norms)
    lines: dict[Law, Trend] = {law: trend(regressor(law, depths), logs) for law in LAWS}
    better = _better(lines, logs)
    return [_growth(law, line, depths, logs, measured.sampling_errors[first:], better) for law, line in lines.items()]


def _growth(law: Law, line: Trend, depths: np.ndarray, logs: np.ndarray, errors: np.ndarray, better: Better) -> Growth:
    slope, (low, high) = float(line.slope[0]), line.interval
    spread, squares = float(((logs - logs.mean()) ** 2).sum()), float(line.squares[0])
    ends = [slope, low, high]
    if law == "exponential":
        with np.errstate(over="ignore"):
            ends = [float(end) for end in np.exp(ends)]
    return Growth(
        law,
        int(depths[0]),
        int(depths[-1]),
        PARAMETERS[law],
        *ends,
        scale=math.exp(float(logs.mean()) - slope * float(regressor(law, depths).mean())),
        misfit=math.sqrt(squares / len(logs)),
        r2=1 - squares / spread if spread > 0 else None,
        sampling_error=float(errors.max()),
        better=better,
    )


def _better(lines: Mapping[Law, Trend], logs: np.ndarray) -> Better:
    """The law that is more likely by the factor whatever the correlation; what is below rounding counts as rounding."""
    least = len(logs) * (_ROUNDING * max(1.0, float(np.abs(logs).max()))) ** 2
    exponential, power = (np.maximum(lines[law].squares, least) for law in LAWS)
    evidence = (len(logs) - 2) / 2 * np.log(power / exponential)
    if evidence.min() >= _EVIDENCE:
        return "exponential"
    return "power" if evidence.max() <= -_EVIDENCE else "undecided"
