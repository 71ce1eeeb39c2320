"""One network stored in several ways: the angles to 1, as measured."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path

from matplotlib.figure import Figure

from lngeom.colors import BLUE, GREEN, ORANGE, PURPLE
from lngeom.empirical.support import Rows, read_table

NETWORKS = {"whisper": "Whisper tiny.en", "smollm2": "SmolLM2-135M-Instruct, 4-bit"}


def table(name: str) -> Rows:
    """A committed table of these measurements."""
    return read_table(Path(__file__).parents[1] / "results" / "gauge" / f"{name}.csv")


def gauge_angles() -> Figure:
    """Mean angle to 1 before every norm, a panel for each network and a line for each way of storing it."""
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    for axes, (name, title) in zip(figure.subplots(1, 2, sharey=True), NETWORKS.items(), strict=True):
        stored = groupby(table(f"{name}-angles"), itemgetter("gauge"))
        for color, (gauge, rows) in zip((BLUE, ORANGE, GREEN, PURPLE), stored, strict=False):
            axes.plot([row["angle_mean_deg"] for row in rows], color=color, marker="o", markersize=3, label=gauge)
        axes.set(title=title, xlabel="norm, in the order of the pass", ylim=(0, 105), yticks=range(0, 106, 15))
        axes.legend(loc=(0.3, 0.5 if name == "whisper" else 0.05), ncols=2)
    figure.axes[0].set_ylabel("mean angle to $\\mathbf{1}$ (degrees)")
    return figure
