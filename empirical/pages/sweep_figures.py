"""Figures of a run: angles to the uniform direction and energy along it, layer by layer."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lngeom.files import Json

from ..support import Row
from .console import above_rounding
from .style import NULL, RANDOM_A, RANDOM_B, UNIFORM, Layout, band, ordered_axis, panels, write_figure

ROLES = {
    "pre_attn": "norm before the attention",
    "pre_mlp": "norm before the MLP",
    "pre_both": "norm before attention and MLP",
    "post_attn": "norm after the attention",
    "post_mlp": "norm after the MLP",
    "embedding": "norm after the embeddings",
    "final": "final norm",
    "norm": "norm",
    "stream": "residual stream",
}
"""The roles of norm layers, in words."""

_DIRECTIONS = (
    ("random direction ã", "random_a_angle", RANDOM_A, "s"),
    ("random direction b̃", "random_b_angle", RANDOM_B, "^"),
    ("uniform direction", "angle", UNIFORM, "o"),
)
_DASHES = (0, (4, 3))


class _Layers(NamedTuple):
    """The rows of one role by block, and rows of norms outside the blocks shown with them."""

    in_blocks: list[Row]
    single: list[Row]

    @property
    def blocks(self) -> int:
        return 1 + max((row["layer"] for row in self.in_blocks), default=-1)

    def place(self, row: Row) -> int:
        """Where a norm stands on the axis of layers: the final one after the last block, others before the first."""
        if row["layer"] is not None:
            return row["layer"]
        return self.blocks if row["role"] == "final" else -1


def _by_role(rows: Iterable[Row], side: str) -> list[tuple[str, _Layers]]:
    """The layers of each role in the blocks, under its name; the norms outside the blocks stand with the first."""
    of_side = [row for row in rows if row["side"] == side and row["bucket"] == "all"]
    measured = [row for row in of_side if row["tokens"] > 0]
    # A role keeps its panel where no token has a direction (gains all zero), so that both sides have as many.
    roles = dict.fromkeys(row["role"] for row in of_side if row["layer"] is not None)
    single = [row for row in measured if row["layer"] is None]
    if not roles:
        return [("norm layers outside the blocks", _Layers([], single))]
    in_blocks = {role: [row for row in measured if row["role"] == role and row["layer"] is not None] for role in roles}
    return [(ROLES[role], _Layers(rows, [] if n else single)) for n, (role, rows) in enumerate(in_blocks.items())]


def _layer_axis(axes: Axes, layers: _Layers) -> None:
    blocks = layers.blocks
    names = {layers.place(row): row["role"] for row in layers.single}
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: names.get(int(x), f"{x:g}")))
    axes.set_xlim(min([*names, 0]) - 0.6, max([*names, blocks - 1]) + 0.6)
    axes.set_xlabel("block" + (" (rightmost: the final norm)" if blocks in names else ""))
    if not layers.in_blocks and not layers.single:
        axes.text(0.5, 0.4, "no finite hidden state", ha="center", va="center", transform=axes.transAxes)


def _angles(axes: Axes, layers: _Layers) -> None:
    _layer_axis(axes, layers)
    for row in [*layers.in_blocks, *layers.single][:1]:
        spread = math.degrees(1 / math.sqrt(row["d"]))
        label = f"isotropic: 90° ± {spread:.2f}°"
        axes.axhspan(90 - spread, 90 + spread, color=NULL, alpha=0.16, linewidth=0, label=label)
    axes.axhline(90, color=NULL, linewidth=0.8, linestyle=_DASHES)
    for name, column, color, marker in _DIRECTIONS:
        mean, spread = f"{column}_mean_deg", f"{column}_std_deg"
        if layers.in_blocks:
            places = list(map(layers.place, layers.in_blocks))
            means, spreads = (np.array([row[key] for row in layers.in_blocks]) for key in (mean, spread))
            band(axes, places, means, spreads, color=color, marker=marker, label=name)
        for row in layers.single:
            style: Json = {"markerfacecolor": "white", "markersize": 6, "capsize": 3, "linewidth": 1.2}
            label = None if layers.in_blocks or row is not layers.single[0] else name
            axes.errorbar(layers.place(row), row[mean], row[spread], color=color, marker=marker, label=label, **style)


def _link(axes: Axes, places: Sequence[float], values: Sequence[float], rows: Sequence[Row]) -> None:
    """Make each point a link to the row of the page's table that has its numbers."""
    points = axes.scatter(places, values, s=30, color=UNIFORM, alpha=0, zorder=9)  # above the lines: a mouse finds it
    points.set_urls([f"#row-{row['site']}-{row['side']}" for row in rows])


def _energies(axes: Axes, layers: _Layers) -> None:
    """d·E[cos²θ] on a log axis: along the uniform direction, among that along random ones, but for rounding."""
    _layer_axis(axes, layers)
    rows = sorted([*layers.in_blocks, *layers.single], key=layers.place)
    places = [layers.place(row) for row in rows]
    axes.set_yscale("log")
    axes.axhline(1, color=NULL, linewidth=0.8, linestyle=_DASHES, label="isotropic: 1")
    low, median, high = ([row[f"random_d_cos2_{name}"] for row in rows] for name in ("low", "median", "high"))
    values = [above_rounding(row["d_cos2"], row["d"]) for row in rows]
    label = "random directions: 5 % to 95 %"
    axes.fill_between(places, low, high, color=RANDOM_A, alpha=0.22, linewidth=0, label=label)
    axes.plot(places, median, color=RANDOM_A, linestyle=(0, (5, 2)), label="random directions: median")
    flat = [row["sign_d_cos2_median"] for row in rows]
    axes.plot(places, flat, color=RANDOM_B, linestyle=(0, (1, 2)), label="sign vectors: median")
    axes.plot(places, values, color=UNIFORM, marker="o", markersize=3, label="uniform direction")
    _link(axes, places, values, rows)
    # A single sequence gives no interval, and a log axis has no 0.
    bounded = [row for row in rows if math.isfinite(row["d_cos2_high"] + above_rounding(row["d_cos2"], row["d"]))]
    below = [row["d_cos2"] - max(row["d_cos2_low"], row["d_cos2"] / 100) for row in bounded]
    above = [row["d_cos2_high"] - row["d_cos2"] for row in bounded]
    axes.errorbar(
        [layers.place(row) for row in bounded], [row["d_cos2"] for row in bounded], [below, above],
        fmt="none", color=UNIFORM, capsize=2, elinewidth=1, label="its 95 % interval",
    )  # fmt: skip


def angle_figure(rows: Sequence[Row], side: str, title: str) -> Figure:
    """Mean and spread of the angle by layer, to 1 and to two random directions, before or after the norm.

    Like figures 3, 4 and 6 of Gupta et al., arXiv:2409.12951, with the values for isotropic vectors: 90° with a
    standard deviation of 57.3°/√d.
    """
    contents = _by_role(rows, side)
    layout = Layout((4.9, 4.1), 1, "angle (degrees): mean ± spread", title)
    return panels(contents, _angles, layout)


def energy_figure(rows: Sequence[Row], title: str) -> Figure:
    """d·E[cos²θ] by layer, log scale: the uniform direction among the random ones, before and after the norm."""
    contents = [(f"{name}: {side}", layers) for side in ("input", "output") for name, layers in _by_role(rows, side)]
    layout = Layout((4.9, 3.4), 1, "energy d·E[cos²θ]", title, sharey=False)
    return panels(contents, _energies, layout)


_MORE = (
    ("rank among sign vectors, as flat as 1", ("rank_among_signs", "rank among signs")),
    ("rank among isotropic directions", ("rank_among_random", "rank among random")),
    ("distance between LayerNorm and RMSNorm", ("distance_mean", "distance / √d")),
    ("mean norm: first position, and the others", ("norm_mean", "mean ‖x‖")),
    ("longest hidden state", ("norm_max", "largest / mean ‖x‖")),
)


def _ordered_figure(rows: Sequence[Row], contents: Sequence[tuple[str, tuple[str, str]]], title: str) -> Figure:
    """A panel for each column, over the norms in the order of the network; a rank with its interval."""
    buckets = {
        bucket: [row for row in rows if (row["side"], row["bucket"]) == ("input", bucket) and row["tokens"] > 0]
        for bucket in ("all", "first", "rest")
    }

    def draw(axes: Axes, content: tuple[str, str]) -> None:
        column, label = content
        ordered_axis(axes)
        axes.set_ylabel(label)
        axes.ticklabel_format(useOffset=False)
        if column == "norm_mean":
            axes.set_yscale("log")
            for bucket, color, name in (("first", RANDOM_A, "first position"), ("rest", UNIFORM, "other positions")):
                values = [row[column] for row in buckets[bucket]]
                axes.plot(values, color=color, marker="o", markersize=3, label=name)
            return
        finite = [row for row in buckets["all"] if row.get(column) is not None and row["norm_mean"]]
        longest = column == "norm_max"
        values = [row[column] / row["norm_mean"] if longest else row[column] for row in finite]
        if longest:
            axes.set_yscale("log")
        axes.plot(values, color=UNIFORM, marker="o", markersize=3)
        if column.startswith("rank_among"):
            before = "sign_" if column == "rank_among_signs" else ""
            low, high = (np.array([row[f"{before}rank_{end}"] for row in finite], float) for end in ("low", "high"))
            axes.vlines(range(len(finite)), low, high, color=UNIFORM, linewidth=1, label="95 % interval of a rank")
        _link(axes, range(len(finite)), values, finite)

    return panels(contents, draw, Layout((4.9, 2.9), 1, "", title, sharey=False))


def gain_figure(gains: Sequence[Json], title: str) -> Figure:
    """The spectra of gains and semi-axes, norm layer by norm layer: median, 5 to 95 %, and all."""

    def draw(axes: Axes, name: str) -> None:
        ordered_axis(axes)
        axes.set_yscale("log")
        # A log axis has no 0.
        low, lower, median, upper, high = np.array([[value or np.nan for value in each[name]] for each in gains]).T
        axes.fill_between(range(len(gains)), low, high, color=UNIFORM, alpha=0.12, linewidth=0, label="all")
        axes.fill_between(range(len(gains)), lower, upper, color=UNIFORM, alpha=0.25, linewidth=0, label="5 % to 95 %")
        axes.plot(median, color=UNIFORM, marker="o", markersize=3, label="median")

    contents = [("absolute gains", "gain"), ("semi-axes of the outputs", "axes")]
    both = any(each["axes"] != each["gain"] for each in gains)  # the axes of an RMSNorm are its gains
    return panels(contents if both else contents[:1], draw, Layout((4.9, 3.2), 1, "|g|, or semi-axis / √d", title))


def figures(rows: Sequence[Row], subject: str) -> dict[str, Figure]:
    """All figures of a run by name."""
    norms = [row for row in rows if row.get("role") != "stream"]
    return {
        "radius": _ordered_figure(norms, [("", ("gauge_mean", "‖y‖ / √d"))], f"Relative radius of outputs\n{subject}"),
        "cosine": _ordered_figure(rows, [("", ("mean_cosine", "mean cosine"))], f"Similarity of states\n{subject}"),
        "angle_before": angle_figure(rows, "input", f"Angles before the norms\n{subject}"),
        "angle_after": angle_figure(rows, "output", f"Angles after the norms\n{subject}"),
        "energy": energy_figure(rows, f"Energy along the uniform direction\n{subject}"),
        "more": _ordered_figure(rows, _MORE, f"Inputs of the norms\n{subject}"),
    }


def draw_figures(rows: Sequence[Row], directory: Path, manifest: Json) -> None:
    """Draw the figures of a run as SVG files into its directory."""
    drawn = figures(rows, subject_of(manifest))
    if manifest.get("gains"):
        drawn["gains"] = gain_figure(manifest["gains"], f"Gains and ellipsoids\n{subject_of(manifest)}")
    for name, figure in drawn.items():
        write_figure(figure, directory / f"{name}.svg")


def subject_of(manifest: Json) -> str:
    """Model, weights and number of tokens of a run."""
    weights = ", random weights" if str(manifest["weights"]).startswith("random") else ""
    tokens = manifest.get("tokens_measured", manifest["tokens"])
    return f"{manifest['model']}{weights}, {tokens:,} tokens"
