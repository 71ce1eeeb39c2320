"""The table of a run: one row per site, side and position bucket, and each column of it stated once."""

import itertools
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..models import NormSite
from ..support import Rows, read_table
from .inference import centred_interval, ratio_interval
from .state import (
    BINS_PER_DEGREE,
    BINS_PER_OCTAVE,
    BUCKETS,
    FEATURES,
    NORM_BINS,
    NORM_OCTAVES,
    SIDES,
    Side,
    SiteState,
    States,
)

ALL = "all"

Value = str | int | float | None
"""The content of a cell; None where a column does not apply."""


class Cell(NamedTuple):
    """The arguments of a column's formula: a norm layer, one side of it, a bucket, and the numbers of :func:`compute`.

    ``entering`` are the numbers of the layer's inputs, for columns that both rows show.
    """

    site: NormSite
    side: Side
    bucket: str
    values: dict[str, float]
    entering: dict[str, float]


class Column(NamedTuple):
    """A column of ``sites.csv``.

    Attributes:
        name: Its name in the file.
        doc: Its meaning.
        heading: Its name in a table of few columns.
        theorem: Id of the theorem that gives its value for isotropic vectors, or its formula.
        formula: Its value, where that is not the number of :func:`compute` that it is named after.
    """

    name: str
    doc: str
    heading: str = ""
    theorem: str = ""
    formula: Callable[[Cell], Value] | None = None

    @property
    def unit(self) -> str:
        """``text``, ``°``, or empty for plain numbers."""
        return "text" if self.name in _TEXTS else "°" * self.name.endswith("_deg")

    def value(self, cell: Cell) -> Value:
        """Its content; None where it does not apply, such as a feature that the other side of a layer has."""
        if self.formula is not None:
            return self.formula(cell)
        name = self.name.removesuffix("_deg").replace("d_cos2", "cos2")
        return cell.site.d * cell.values[name] if "cos2" in name else cell.values.get(name)

    @property
    def is_stored(self) -> bool:
        """Whether affine gauges change it, so that it says how a checkpoint is stored; the tests measure that."""
        return re.search("angle|rotation|norm_|distance|d_cos2|tilt|rank|eps|top_|components", self.name) is not None


def _of_site(name: str) -> Callable[[Cell], Value]:
    return lambda cell: getattr(cell.site, name)


def _number(name: str) -> Callable[[Cell], Value]:
    return lambda cell: cell.values[name]


_TEXTS = {"site", "role", "norm", "side", "bucket", "same_input_as"}
"""The columns of words; all others hold numbers."""
_NULL = "angles.null_mean_square"
TABLE = (
    Column("site", "module path of the norm layer", formula=_of_site("path")),
    Column("layer", "index of the block; empty outside of the blocks", formula=_of_site("layer")),
    Column("role", "what the layer feeds or follows, such as ``pre_attn`` or ``final``", formula=_of_site("role")),
    Column("norm", "``layernorm``, ``rmsnorm``, or ``none`` for the stream", formula=_of_site("kind")),
    Column("side", "``input``, what enters the layer, or ``output``, what leaves it", formula=lambda cell: cell.side),
    Column("bucket", "``first`` (position 0), ``rest``, or ``all`` tokens", formula=lambda cell: cell.bucket),
    Column("tokens", "tokens counted"),
    Column("angle_mean_deg", "angle θ to the all-ones vector 1, mean", "angle °"),
    Column("angle_std_deg", "its standard deviation over tokens (population)", "std °"),
    Column("d_cos2", "energy along 1, d·E[cos²θ]: 1 for isotropic vectors", "d·E[cos²θ]", _NULL),
    Column("d_cos2_low", "its 95 % interval, documents being the independent units", "low"),
    Column("d_cos2_high", "the upper end", "high"),
    Column("random_d_cos2_median", "median energy along the random directions", "random median", _NULL),
    Column(
        "rank_among_random",
        "*number* of random directions with less energy than 1, from 0 to their count, both over the null's tokens",
        "rank",
    ),
    Column("norm_mean", "Euclidean norm, mean over tokens", "norm"),
    Column("norm_std", "its standard deviation over tokens"),
    Column("norm_max", "its maximum", "max norm"),
    Column(
        "gauge_mean",
        "relative radius of the layer, length of its normalized vector over √d; in the rows of both sides",
        "relative radius", "epsilon.gauge",
        formula=lambda cell: None if cell.site.kind == "none" else cell.entering["gauge_mean"],
    ),
    Column("d", "dimension of the vectors", formula=_of_site("d")),
    Column("eps", "ε of the layer, inside the root", formula=_of_site("eps")),
    Column("same_input_as", "the layer before it that read the very same vectors", formula=_of_site("same_input_as")),
    Column("sequences", "sequences with a token counted"),
    Column("nonfinite", "tokens left out: NaN, infinite, or with squares that overflow"),
    Column("zero", "tokens left out: zero, or normalized to zero (before gain and bias)"),
    Column("angle_median_deg", "median of θ, right to half a bin of 0.01°"),
    Column("angle_p01_deg", "its 1 % point"),
    Column("angle_p99_deg", "its 99 % point"),
    Column(
        "norm_median",
        "median norm, right to half a bin of 1/16 octave (2.2 %), and between the smallest and the largest norm",
    ),
    Column("random_a_angle_mean_deg", "angle to the first random direction, mean", formula=_number("angle_a_mean")),
    Column("random_a_angle_std_deg", "its standard deviation", formula=_number("angle_a_std")),
    Column("random_b_angle_mean_deg", "angle to the second random direction, mean", formula=_number("angle_b_mean")),
    Column("random_b_angle_std_deg", "its standard deviation", formula=_number("angle_b_std")),
    Column("random_d_cos2_low", "energy along random directions, 5 % point"),
    Column("random_d_cos2_high", "its 95 % point"),
    Column(
        "tilt_mean_deg", "of inputs: |90° − θ|, the angle between LayerNorm(x) and RMSNorm(x), mean",
        theorem="rmsnorm.angle",
    ),
    Column(
        "rotation_mean_deg",
        "of outputs: angle from input to output, mean; below √(2√d·2⁻²⁴) rad (0.1° at d = 768) it may be rounding, "
        "since a sum of d products in float32 is right to about √d·2⁻²⁴", "rotation °",
    ),
    Column("rotation_std_deg", "its standard deviation"),
    Column("affine_rotation_mean_deg", "the part of it made by gain and bias, mean"),
    Column(
        "distance_mean",
        "of inputs: root mean square difference of the components of LayerNorm(x) and RMSNorm(x), ε included, before "
        "gain and bias; mean", theorem="rmsnorm.distance_with_eps",
    ),
    Column("distance_max", "its maximum"),
    Column(
        "documents",
        "independent units of the interval, neighbours together where they are more than 1,024; sequences where a text "
        "tells none",
    ),
    Column("underflow", "tokens left out: so small that squares lose bits"),
    Column(
        "sign_d_cos2_median", "median energy along random sign vectors ±1/√d, the flat null: as flat as 1",
        "flat median", _NULL,
    ),
    Column(
        "rank_among_signs",
        "*number* of random sign vectors with less energy than 1, from 0 to their count, both over the null's tokens",
        "flat rank",
    ),
    Column("null_tokens", "the null: tokens that were projected on random directions"),
    Column("rank_low", "rank that the lower end of the 95 % interval of the null's energy along 1 would have"),
    Column("rank_high", "the same of the upper end"),
    Column(
        "mean_cosine",
        "of inputs: mean cosine between the states of two tokens, centred before a LayerNorm, over all pairs",
        "mean cosine", "gauge.gram",
    ),
    Column("sign_d_cos2_low", "energy along random sign vectors, 5 % point"),
    Column("sign_d_cos2_high", "its 95 % point"),
    Column("sign_rank_low", "as ``rank_low``, among the sign vectors"),
    Column("sign_rank_high", "as ``rank_high``, among the sign vectors"),
    Column(
        "centred_d_cos2",
        "energy along 1 without the token mean m of the unit vectors x̂, d·E[((x̂ − m)·1̂)²], over the null's tokens",
    ),
    Column("centred_sign_d_cos2_median", "its median along random sign vectors"),
    Column("centred_rank_among_signs", "*number* of random sign vectors with less of it than 1"),
    Column("centred_rank_among_random", "*number* of random directions with less of it than 1"),
    Column("directions", "number of sign vectors, and as many random directions"),
    *(
        Column(f"top_{place}{end}", doc)
        for place, which in enumerate(("largest", "second largest", "third largest"), start=1)
        for end, doc in (
            ("", f"of inputs: index, from 0, of the component with the {which} mean square"),
            ("_share", "its share of ‖x‖²: the sum of its squares over that of all components"),
        )
    ),
    Column("components_99", "of inputs: the least number of components that together have 99 % of ‖x‖²"),
    Column("centred_d_cos2_low", "95 % interval of ``centred_d_cos2``"),
    Column("centred_d_cos2_high", "the upper end"),
    *(
        Column(f"centred_{null}rank_{end}", f"rank of {doc} of it, {among}")
        for null, among in (("sign_", "among the sign vectors"), ("", "among the random directions"))
        for end, doc in (("low", "the lower end"), ("high", "the upper end"))
    ),
)  # fmt: skip
"""The columns of ``sites.csv`` in their order, for all code that writes, reads, shows, predicts or documents them."""

COLUMNS = tuple(column.name for column in TABLE)


def compute(state: SiteState, side: Side) -> dict[str, dict[str, float]]:
    """Everything the table says about one side of a layer, by bucket; a pure function of the state.

    Returns:
        dict: For each of `BUCKETS`, and for ``all``: numbers by name, angles in degrees; NaN without tokens.
    """
    return {bucket: _column(state, side, index) for index, bucket in enumerate((*BUCKETS, ALL))}


def _column(state: SiteState, side: Side, index: int) -> dict[str, float]:
    part = slice(index, index + 1) if index < len(BUCKETS) else slice(None)
    tokens = int(state.tokens[part].sum())
    mean, std, maximum = _pooled(state.counts[:, part], state.mean[:, part], state.m2[:, part], state.maximum[:, part])
    documents = state.document_tokens[part].sum(0)
    angles, norms = state.angles[part].sum(0), state.norms[part].sum(0)
    in_null = state.document_null_tokens[part].sum(0)
    squares, sums = (each[part].sum(0) for each in (state.document_null_cos2, state.document_null_cos))
    projected = int(in_null.sum())
    both = np.stack([np.concatenate([state.cos2[index], state.sign_cos2[index]]), state.cos[index]])
    cos2, cos = both / projected if projected else np.full_like(both, math.nan)
    centred = np.maximum(cos2 - cos * cos, 0.0)
    own, around = ratio_interval(squares, in_null), (centred[0], *centred_interval(squares, sums, in_null)[1:])
    isotropic, signs = slice(1, 1 + state.directions), slice(1 + state.directions, None)
    numbers: dict[str, float] = {
        "tokens": tokens,
        "sequences": int(state.sequences[index]),
        "documents": int((documents > 0).sum()),
        "nonfinite": int(state.nonfinite[part].sum()),
        "underflow": int(state.underflow[part].sum()),
        "zero": int(state.zero[part].sum()),
        "null_tokens": projected,
        "directions": state.directions,
        "norm_median": _median_norm(norms, state.least[part].min(), maximum[FEATURES[side].index("norm")]),
    }
    for name, quantile in (("median", 0.5), ("p01", 0.01), ("p99", 0.99)):
        numbers[f"angle_{name}"] = _quantile(angles, quantile) / BINS_PER_DEGREE
    of_all = ratio_interval(state.document_cos2[part].sum(0), documents)
    for name, values in (("cos2", of_all), ("centred_cos2", around)):
        numbers |= zip((name, f"{name}_low", f"{name}_high"), values, strict=True)
    ends = ("", cos2, own), ("centred_", centred, around)
    nulls = ("random", "random", "", isotropic), ("sign", "signs", "sign_", signs)
    for (kind, all_energies, (value, least, most)), (null, among, before, which) in itertools.product(ends, nulls):
        energies, ranks = all_energies[which], (f"rank_among_{among}", f"{before}rank_low", f"{before}rank_high")
        for name, quantile in (("low", 0.05), ("median", 0.5), ("high", 0.95)):
            numbers[f"{kind}{null}_cos2_{name}"] = float(np.quantile(energies, quantile))
        for name, energy in zip(ranks, (value, least, most), strict=True):
            numbers[kind + name] = math.nan if math.isnan(energy) else int((energies < energy).sum())
    if side == "input":
        *total, count = state.units[part].sum(0)
        pairs = count * (count - 1)
        numbers["mean_cosine"] = (float(np.dot(total, total)) - count) / pairs if pairs else math.nan
        numbers |= _largest(state.squares[part].sum(0))
    for row, name in enumerate(FEATURES[side]):
        numbers |= {f"{name}_mean": mean[row], f"{name}_std": std[row], f"{name}_max": maximum[row]}
    return numbers


def _largest(squares: np.ndarray) -> dict[str, float]:
    """The components with the largest sums of squares and their shares, and how many have 99 % of all."""
    order = np.argsort(-squares, kind="stable")
    total = squares.sum()
    shares = squares[order] / total if 0 < total < math.inf else np.full(squares.shape, math.nan)
    known = not np.isnan(shares).any()
    numbers: dict[str, float] = {}
    for place in range(3):
        there = known and place < len(order)
        numbers[f"top_{place + 1}"] = int(order[place]) if there else math.nan
        numbers[f"top_{place + 1}_share"] = float(shares[place]) if there else math.nan
    numbers["components_99"] = int((np.cumsum(shares) < 0.99).sum()) + 1 if known else math.nan
    return numbers


def _pooled(
    counts: np.ndarray, mean: np.ndarray, m2: np.ndarray, maximum: np.ndarray
) -> tuple[list[float], list[float], list[float]]:
    """Mean, population standard deviation and maximum over some buckets together; NaN without tokens."""
    tokens = np.where((some := counts.sum(1)) > 0, some, math.nan)
    total = (mean * counts).sum(1) / tokens
    between = ((mean - total[:, None]) ** 2 * counts).sum(1)
    std = np.sqrt((m2.sum(1) + between) / tokens)
    return total.tolist(), std.tolist(), np.where(some > 0, maximum.max(1), math.nan).tolist()


def _quantile(histogram: np.ndarray, quantile: float) -> float:
    """Middle of the bin in which the quantile lies, in bins; NaN for an empty histogram."""
    total = int(histogram.sum())
    if total == 0:
        return math.nan
    rank = max(1, math.ceil(quantile * total))
    return int(np.searchsorted(np.cumsum(histogram), rank)) + 0.5


def _median_norm(histogram: np.ndarray, least: float, largest: float) -> float:
    """The geometric middle of what the bin of the median and the range of all norms have in common."""
    bin = _quantile(histogram, 0.5) - 0.5
    low, high = (2.0 ** ((bin + edge) / BINS_PER_OCTAVE - NORM_OCTAVES) for edge in (0, 1))
    low = least if bin == 0 else max(low, least)
    high = largest if bin == NORM_BINS - 1 else min(high, largest)
    return float(np.clip(low * math.sqrt(high / low), least, largest))


def rows(states: States, sites: Iterable[NormSite]) -> Rows:
    """The table as a list of dictionaries with the keys :data:`COLUMNS`; None where a column does not apply."""
    table: Rows = []
    for site in sites:
        computed = {side: compute(states[site.path, side], side) for side in SIDES}
        for side in SIDES:
            for bucket, values in computed[side].items():
                cell = Cell(site, side, bucket, values, computed["input"][bucket])
                table.append({each.name: each.value(cell) for each in TABLE})
    return table


def read_sites(path: Path) -> Rows:
    """The rows of ``sites.csv``: int, float and str as they were, None where nothing applies."""
    return read_table(path, words={each.name for each in TABLE if each.unit == "text"})
