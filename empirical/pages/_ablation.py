"""The page of an ablation: what each change costs, in all and norm by norm."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..runs import ENVIRONMENT
from ..support import Row, Rows, read_json, read_table
from ._html import embedded, write_page
from ._style import NULL, RANDOM_A, RANDOM_B, UNIFORM, Layout, panels

_COLOURS = {"folded": RANDOM_B, "rms_norm": UNIFORM, "centred": UNIFORM, "u_norm": RANDOM_A}


def cost_figure(rows: Sequence[Row], norms: Sequence[str], *, single: bool) -> Figure:
    """Nats per token of the changes of single norms, or of all others, with their intervals."""
    chosen = [row for row in rows if row["change"] != "none" and (row["site"] in norms) == single][::-1]

    def draw(axes: Axes, rows: Sequence[Row]) -> None:
        for place, row in enumerate(rows):
            reach = [[row["nats"] - row["nats_low"]], [row["nats_high"] - row["nats"]]]
            axes.errorbar(row["nats"], place, xerr=reach, fmt="o", color=_COLOURS[row["change"]], capsize=2)
        labels = [row["site"] if single else f"{row['change']}, {row['site']}" for row in rows]
        axes.set_yticks(range(len(rows)), labels, parse_math=False)
        axes.axvline(0, color=NULL, linewidth=0.8)
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.set_xlabel("change of the loss in nats per token")

    return panels([("", chosen)], draw, Layout((8, 0.8 + 0.24 * len(chosen)), 1, ""))


def read_ablation(directory: Path) -> Rows:
    """The table of an ablation."""
    return read_table(directory / "ablation.csv", words=("change", "site"))


def write_ablation(directory: Path) -> Path:
    """Write ``report.html`` of an ablation from its manifest and table; returns its path.

    Raises:
        OSError: If one of them is missing.
    """
    manifest, rows = read_json(directory / "manifest.json"), read_ablation(directory)
    norms = manifest["norms"]
    single = [row for row in rows if row["site"] in norms]
    figures = {name: cost_figure(rows, norms, single=name == "norms") for name in ("changes", "norms")}
    return write_page(
        directory / "report.html",
        "ablation.html",
        manifest=manifest,
        whole={row["change"]: row for row in rows if row["site"] == "all"},
        single=single,
        worst=max(single, key=lambda row: row["nats"], default=None),
        environment=[name for name in ENVIRONMENT if name in manifest],
        rows=rows,
        figures=embedded({name: figure for name, figure in figures.items() if figure.axes[0].lines}),
    )
