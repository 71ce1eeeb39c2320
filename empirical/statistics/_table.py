"""The table of a run: one row per site, side and position bucket."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..models import NormSite
from ..runs import read_table, write_table
from ._inference import ratio_interval
from ._state import BINS_PER_DEGREE, BINS_PER_OCTAVE, BUCKETS, FEATURES, NORM_OCTAVES, SIDES, Side, SiteState, States

ALL = "all"

COLUMNS = (
    "site",
    "layer",
    "role",
    "norm",
    "side",
    "bucket",
    "tokens",
    "angle_mean_deg",
    "angle_std_deg",
    "d_cos2",
    "d_cos2_low",
    "d_cos2_high",
    "random_d_cos2_median",
    "rank_among_random",
    "norm_mean",
    "norm_std",
    "norm_max",
    "gauge_mean",
    "d",
    "eps",
    "same_input_as",
    "sequences",
    "nonfinite",
    "zero",
    "angle_median_deg",
    "angle_p01_deg",
    "angle_p99_deg",
    "norm_median",
    "random_a_angle_mean_deg",
    "random_a_angle_std_deg",
    "random_b_angle_mean_deg",
    "random_b_angle_std_deg",
    "random_d_cos2_low",
    "random_d_cos2_high",
    "tilt_mean_deg",
    "rotation_mean_deg",
    "rotation_std_deg",
    "affine_rotation_mean_deg",
    "distance_mean",
    "distance_max",
    "documents",
    "underflow",
)
"""Columns of ``sites.csv``.

``norm`` is ``layernorm`` or ``rmsnorm``; ``bucket`` is ``first`` (position 0), ``rest`` or ``all``; angles are in
degrees, spreads are population standard deviations over tokens. ``d_cos2`` is d·E[cos²θ] for the uniform direction, 1
for an isotropic vector, with its 95 % interval, in which ``documents`` are the independent units (sequences, where a
text does not say where its documents begin); ``random_d_cos2_median``, ``_low`` and ``_high`` are the median and the
5 % and 95 % points over the random directions; ``rank_among_random`` is the *number* of random directions with a
smaller value, from 0 to their count. ``gauge_mean`` is the gauge of the layer and stands in the row of its input and of
its output. For inputs ``tilt`` is |90° − θ|, the angle between LayerNorm(x) and RMSNorm(x), and ``distance`` the root
mean square difference of their components, ε included and before gain and bias; for outputs ``rotation`` is the angle
from input to output and ``affine_rotation`` the part of it made by gain and bias. Quantiles are right to
the width of a bin of the histograms: 0.01°, and 1/16 octave for norms. ``nonfinite``, ``zero`` and ``underflow`` count
tokens left out. Rotations are taken from cosines, which a sum of d products in float32 gives to about √d·2⁻²⁴ (the
probabilistic bound): what is below √(2√d·2⁻²⁴) rad, 0.1° at d = 768, may be rounding.
"""


def compute(state: SiteState, side: Side) -> dict[str, dict[str, float]]:
    """Everything the table says about one side of a layer, by bucket; a pure function of the state.

    Returns:
        dict: For each of `BUCKETS`, and for ``all``: numbers by name, angles in degrees; NaN without tokens.
    """
    return {bucket: _column(state, side, index) for index, bucket in enumerate((*BUCKETS, ALL))}


def _column(state: SiteState, side: Side, index: int) -> dict[str, float]:
    part = slice(index, index + 1) if index < len(BUCKETS) else slice(None)
    counts = state.tokens[part]
    tokens = int(counts.sum())
    mean, std, maximum = _pooled(counts, state.mean[:, part], state.m2[:, part], state.maximum[:, part])
    average, low, high = ratio_interval(
        state.document_cos2[part].sum(0), documents := state.document_tokens[part].sum(0)
    )
    angles, norms = state.angles[part].sum(0), state.norms[part].sum(0)
    quantiles = {q: _quantile(angles, q) / BINS_PER_DEGREE for q in (0.01, 0.5, 0.99)}
    random = state.cos2[index][1:] / tokens if tokens else np.full(state.directions, math.nan)
    found: dict[str, float] = {
        "tokens": tokens,
        "sequences": int(state.sequences[index]),
        "documents": int((documents > 0).sum()),
        "nonfinite": int(state.nonfinite[part].sum()),
        "underflow": int(state.underflow[part].sum()),
        "zero": int(state.zero[part].sum()),
        "cos2": average,
        "cos2_low": low,
        "cos2_high": high,
        "random_cos2_median": _summary(random, 0.5),
        "random_cos2_low": _summary(random, 0.05),
        "random_cos2_high": _summary(random, 0.95),
        "rank_among_random": int((random < average).sum()),
        "angle_median": quantiles[0.5],
        "angle_p01": quantiles[0.01],
        "angle_p99": quantiles[0.99],
        "norm_median": 2.0 ** (_quantile(norms, 0.5) / BINS_PER_OCTAVE - NORM_OCTAVES),
    }
    for row, name in enumerate(FEATURES[side]):
        found |= {f"{name}_mean": mean[row], f"{name}_std": std[row], f"{name}_max": maximum[row]}
    return found


def _pooled(
    counts: np.ndarray, mean: np.ndarray, m2: np.ndarray, maximum: np.ndarray
) -> tuple[list[float], list[float], list[float]]:
    """Mean, population standard deviation and maximum over some buckets together; NaN without tokens."""
    tokens = counts.sum()
    if tokens == 0:
        nothing = [math.nan] * len(mean)
        return nothing, nothing, nothing
    total = (mean @ counts) / tokens
    between = (mean - total[:, None]) ** 2 @ counts
    std = np.sqrt((m2.sum(1) + between) / tokens)
    return total.tolist(), std.tolist(), maximum.max(1).tolist()


def _summary(values: np.ndarray, quantile: float) -> float:
    return float(np.quantile(values, quantile))


def _quantile(histogram: np.ndarray, quantile: float) -> float:
    """Middle of the bin in which the quantile lies, in bins; NaN for an empty histogram."""
    total = int(histogram.sum())
    if total == 0:
        return math.nan
    rank = max(1, math.ceil(quantile * total))
    return int(np.searchsorted(np.cumsum(histogram), rank)) + 0.5


def rows(states: States, sites: Iterable[NormSite]) -> list[dict[str, Any]]:
    """The table as a list of dictionaries with the keys :data:`COLUMNS`; None where a column does not apply.

    >>> import torch
    >>> from empirical.capture import Observer
    >>> from empirical.models import NormSite
    >>> from empirical.statistics import rows
    >>> layer, site = torch.nn.Sequential(torch.nn.LayerNorm(4)), NormSite("0", None, "final", "layernorm", 1e-5, 4)
    >>> with Observer(layer, [site]) as observer:
    ...     _ = layer(torch.tensor([[[1.0, 1.0, 1.0, -1.0], [3.0, -1.0, -1.0, -1.0]]]))  # cos θ = 1/2, and 0
    >>> for row in rows(observer.states, [site]):  # LayerNorm leaves nothing along 1
    ...     print(row["side"], row["bucket"], row["tokens"], round(row["angle_mean_deg"], 3), round(row["d_cos2"], 3))
    input first 1 60.0 1.0
    input rest 1 90.0 0.0
    input all 2 75.0 0.5
    output first 1 90.0 0.0
    output rest 1 90.0 0.0
    output all 2 90.0 0.0
    """
    table: list[dict[str, Any]] = []
    for site in sites:
        computed = {side: compute(states[site.path, side], side) for side in SIDES}
        for side in SIDES:
            for bucket, values in computed[side].items():
                table.append(_row(site, side, bucket, values, computed["input"][bucket]))
    return table


def _row(
    site: NormSite, side: Side, bucket: str, values: dict[str, float], entering: dict[str, float]
) -> dict[str, Any]:
    d = site.d
    return {
        "site": site.path,
        "layer": site.layer,
        "role": site.role,
        "norm": site.kind,
        "side": side,
        "bucket": bucket,
        "tokens": values["tokens"],
        "angle_mean_deg": values["angle_mean"],
        "angle_std_deg": values["angle_std"],
        "d_cos2": d * values["cos2"],
        "d_cos2_low": d * values["cos2_low"],
        "d_cos2_high": d * values["cos2_high"],
        "random_d_cos2_median": d * values["random_cos2_median"],
        "rank_among_random": values["rank_among_random"],
        "norm_mean": values["norm_mean"],
        "norm_std": values["norm_std"],
        "norm_max": values["norm_max"],
        "gauge_mean": entering["gauge_mean"],
        "d": d,
        "eps": site.eps,
        "same_input_as": site.same_input_as,
        "sequences": values["sequences"],
        "nonfinite": values["nonfinite"],
        "zero": values["zero"],
        "angle_median_deg": values["angle_median"],
        "angle_p01_deg": values["angle_p01"],
        "angle_p99_deg": values["angle_p99"],
        "norm_median": values["norm_median"],
        "random_a_angle_mean_deg": values["angle_a_mean"],
        "random_a_angle_std_deg": values["angle_a_std"],
        "random_b_angle_mean_deg": values["angle_b_mean"],
        "random_b_angle_std_deg": values["angle_b_std"],
        "random_d_cos2_low": d * values["random_cos2_low"],
        "random_d_cos2_high": d * values["random_cos2_high"],
        "tilt_mean_deg": values.get("tilt_mean"),
        "rotation_mean_deg": values.get("rotation_mean"),
        "rotation_std_deg": values.get("rotation_std"),
        "affine_rotation_mean_deg": values.get("affine_rotation_mean"),
        "distance_mean": values.get("distance_mean"),
        "distance_max": values.get("distance_max"),
        "documents": values["documents"],
        "underflow": values["underflow"],
    }


def write_csv(path: Path, table: Sequence[dict[str, Any]]) -> None:
    """Write the table as CSV at once; numbers in full, so that equal results are equal files."""
    write_table(path, table, COLUMNS)


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Rows of a table that :func:`write_csv` wrote: int, float and str as they were, None where nothing applies."""
    return read_table(path)
