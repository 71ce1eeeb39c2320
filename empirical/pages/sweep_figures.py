"""Figures of a run: angles to the all-ones vector and energy along it, layer by layer."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lngeom import plot
from lngeom.colors import RANDOM_A, UNIFORM
from lngeom.files import Json

from ..support import Row
from .style import panels, write_figure

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


def _by_role(rows: Sequence[Row], side: str) -> list[tuple[str, list[Row]]]:
    """The norms of each role in the blocks, under its name; those outside the blocks stand with the first."""
    of_side = [row for row in rows if row["side"] == side]
    roles = list(dict.fromkeys(row["role"] for row in of_side if row["layer"] is not None))
    if not roles:
        return [("norm layers outside the blocks", of_side)]
    homes = [(row, roles[0] if row["layer"] is None else row["role"]) for row in of_side]
    return [(ROLES[role], [row for row, home in homes if home == role]) for role in roles]


def _link(axes: Axes, values: Sequence[float] | np.ndarray, rows: Sequence[Row]) -> None:
    """Make each point a link to the row of the page's table that has its numbers."""
    points = axes.scatter(range(len(rows)), values, s=30, color=UNIFORM, alpha=0, zorder=9)  # above the lines
    points.set_urls([f"#row-{row['site']}-{row['side']}" for row in rows])


def _angle_figure(rows: Sequence[Row], side: str, title: str) -> Figure:
    def draw(axes: Axes, content: list[Row]) -> None:
        plot.angles(content, side, ax=axes)

    return panels(_by_role(rows, side), draw, (4.9, 4.1), title, shared=True)


def _energy_figure(rows: Sequence[Row], title: str) -> Figure:
    def draw(axes: Axes, content: list[Row]) -> None:
        side = content[0]["side"]
        plot.energies(content, side, ax=axes)
        (line,) = [line for line in axes.get_lines() if line.get_label() == "all-ones vector"]
        _link(axes, np.asarray(line.get_ydata(), float), _measured(content, side))

    contents = [(f"{name}: {side}", each) for side in ("input", "output") for name, each in _by_role(rows, side)]
    return panels(contents, draw, (4.9, 3.4), title)


def _measured(rows: Sequence[Row], side: str, bucket: str = "all") -> list[Row]:
    return [row for row in rows if (row["side"], row["bucket"]) == (side, bucket) and row["tokens"] > 0]


_ORDER = "norm layer, counted from 0"
_MORE = (
    ("rank among sign vectors, as flat as 1", ("rank_among_signs", "rank among signs")),
    ("rank among isotropic directions", ("rank_among_random", "rank among random")),
    ("distance between LayerNorm and RMSNorm", ("distance_mean", "distance / √d")),
    ("mean norm: first position, and the others", ("norm_mean", "mean ‖x‖")),
    ("outliers", ("norm_max", "")),
)


def _ordered_figure(rows: Sequence[Row], contents: Sequence[tuple[str, tuple[str, str]]], title: str) -> Figure:
    """A panel for each column, over the norms in the order of the network; a rank with its interval."""
    buckets = {bucket: _measured(rows, "input", bucket) for bucket in ("all", "first", "rest")}

    def draw(axes: Axes, content: tuple[str, str]) -> None:
        column, label = content
        if column == "norm_max":
            plot.outliers(rows, ax=axes)
            _link(axes, np.asarray(axes.get_lines()[0].get_ydata(), float), buckets["all"])
            return
        axes.set(xlabel=_ORDER, ylabel=label)
        axes.ticklabel_format(useOffset=False)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if column == "norm_mean":
            axes.set_yscale("log")
            for bucket, color, name in (("first", RANDOM_A, "first position"), ("rest", UNIFORM, "other positions")):
                values = [row[column] for row in buckets[bucket]]
                axes.plot(values, color=color, marker="o", markersize=3, label=name)
            return
        finite = [row for row in buckets["all"] if row.get(column) is not None and row["norm_mean"]]
        values = [row[column] for row in finite]
        if column in ("gauge_mean", "mean_cosine"):
            axes.set_ylim(min([0.0, *values]), 1.05)
        axes.plot(values, color=UNIFORM, marker="o", markersize=3)
        if column.startswith("rank_among"):
            axes.yaxis.get_major_locator().set_params(integer=True)
            before = "sign_" if column == "rank_among_signs" else ""
            low, high = (np.array([row[f"{before}rank_{end}"] for row in finite], float) for end in ("low", "high"))
            axes.vlines(range(len(finite)), low, high, color=UNIFORM, linewidth=1, label="95 % interval of a rank")
        _link(axes, values, finite)

    return panels(contents, draw, (4.9, 2.9), title)


def figures(rows: Sequence[Row], subject: str) -> dict[str, Figure]:
    """All figures of a run by name."""
    norms = [row for row in rows if row.get("role") != "stream"]  # of which those that number the norms are
    return {
        "radius": _ordered_figure(norms, [("", ("gauge_mean", "‖y‖ / √d"))], f"Relative radius of outputs\n{subject}"),
        "cosine": _ordered_figure(norms, [("", ("mean_cosine", "mean cosine"))], f"Similarity of states\n{subject}"),
        "angle_before": _angle_figure(rows, "input", f"Angles before the norms\n{subject}"),
        "angle_after": _angle_figure(rows, "output", f"Angles after the norms\n{subject}"),
        "energy": _energy_figure(rows, f"Energy along the all-ones vector\n{subject}"),
        "more": _ordered_figure(norms, _MORE, f"Inputs of the norms\n{subject}"),
    }


def draw_figures(rows: Sequence[Row], directory: Path, manifest: Json) -> None:
    """Draw the figures of a run as SVG files into its directory."""
    for name, figure in figures(rows, subject_of(manifest)).items():
        write_figure(figure, directory / f"{name}.svg")


def subject_of(manifest: Json) -> str:
    """Model, weights and number of tokens of a run."""
    weights = ", random weights" if str(manifest["weights"]).startswith("random") else ""
    tokens = manifest.get("tokens_measured", manifest["tokens"])
    return f"{manifest['model']}{weights}, {tokens:,} tokens"
