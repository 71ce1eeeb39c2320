"""The page of several runs side by side: their curves in one figure each, and what changed, with intervals."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..support import Json, Row
from ._console import above_rounding
from ._html import embedded, write_page
from ._style import BLUE, GREEN, NULL, ORANGE, PURPLE, VERMILION, Layout, ordered_axis, panels

_SHOWN = {
    "d_cos2": "energy along 1, d·E[cos²θ]",
    "angle_mean_deg": "mean angle to 1 (degrees)",
    "norm_mean": "mean norm",
}
_COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE)


def change_figure(rows: Sequence[Row], runs: Mapping[str, Json], side: str) -> Figure:
    """The curves of all runs over the norms they share, one panel a quantity, and the change of the energy."""
    widths = {name: {site["path"]: site["d"] for site in run.get("sites", ())} for name, run in runs.items()}
    shown = [row for row in rows if row["side"] == side]

    def draw(axes: Axes, column: str) -> None:
        ordered_axis(axes)
        change = column.endswith("change")
        if change:
            axes.axhline(0, color=NULL, linewidth=0.8)
        elif column != "angle_mean_deg":
            axes.set_yscale("log")
        for index, name in enumerate(runs, 1):
            style: Json = {"color": _COLOURS[(index - 1) % len(_COLOURS)], "label": name}
            if not change:
                values = [row[f"{column}_{index}"] for row in shown]
                if column == "d_cos2":
                    each = zip(values, shown, strict=True)
                    values = [above_rounding(value, widths[name].get(row["site"], 1)) for value, row in each]
                axes.plot(values, marker="o", markersize=3, **style)
            elif index > 1:
                ends = [(row[f"{column}_{index}"], row[f"{column}_{index}_half"]) for row in shown]
                places = [place for place, (_, half) in enumerate(ends) if half is not None]
                values, halves = zip(*(ends[place] for place in places), strict=True) if places else ((), ())
                axes.errorbar(places, values, halves, fmt="o", markersize=3, capsize=2, elinewidth=1, **style)

    contents = [(title, column) for column, title in _SHOWN.items()]
    contents.append(("change of the energy, 95 % interval", "d_cos2_change"))
    title = "What enters the norms" if side == "input" else "What leaves the norms"
    return panels(contents, draw, Layout((5.2, 3.4), 2, "", title, sharey=False))


def _heading(column: str) -> str:
    """The heading of a column: ``angle 2 − 1`` of ``angle_mean_deg_change_2``."""
    for name, words in (("angle_mean_deg", "angle °"), ("d_cos2", "d·E[cos²θ]"), ("norm_mean", "norm")):
        column = column.replace(name, words)
    return re.sub(r"_change_(\d+)", r" \1 − 1", column).replace("_half", " ±").replace("_", " ")


def write_changes(path: Path, rows: Sequence[Row], runs: Mapping[str, Json]) -> None:
    """Write the page as one HTML file that opens offline: figures, what changed most, and the table.

    `rows` are those of :func:`empirical.sweep.compare_runs`, `runs` the manifests by the names that the page shows.
    """
    names = list(runs)
    certain = [
        row for row in rows
        if row["d_cos2_change_2_half"] is not None and abs(row["d_cos2_change_2"]) > row["d_cos2_change_2_half"]
    ]  # fmt: skip
    write_page(
        path,
        "changes.html",
        names=names,
        runs=runs,
        rows=rows,
        columns={name: _heading(name) for name in rows[0] if name.startswith(tuple(_SHOWN))},
        certain=certain,
        most=max(certain, key=lambda row: abs(row["d_cos2_change_2"]), default=None),
        figures=embedded({side: change_figure(rows, runs, side) for side in ("input", "output")}),
    )
