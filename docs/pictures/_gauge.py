"""One network stored in several ways: the angles to 1, and the cost of replacing its LayerNorms; both as measured."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path

from matplotlib.figure import Figure

from lngeom.colors import BLUE, GREEN, NULL, ORANGE, PURPLE
from lngeom.empirical.support import Rows, read_table

NETWORKS = {"whisper": "Whisper tiny.en", "smollm2": "SmolLM2-135M"}


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


def gauge_costs() -> Figure:
    """Increase in loss with RMSNorm against the mean angle at every norm, with 95 % intervals."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes, rows = figure.add_subplot(), table("orbit")
    for weights, color, marker in (("as stored", BLUE, "o"), ("writers centred", ORANGE, "s")):
        chosen = sorted((row for row in rows if row["weights"] == weights and row["angle"]), key=itemgetter("angle"))
        nats = [row["nats"] for row in chosen]
        ends = [[abs(row[f"nats_{end}"] - row["nats"]) for row in chosen] for end in ("low", "high")]
        label = f"{weights}, then shifted"
        axes.errorbar([row["angle"] for row in chosen], nats, ends, color=color, marker=marker, capsize=2, label=label)
    for row, color, dashes in zip((row for row in rows if not row["angle"]), (NULL, GREEN), ("--", "-"), strict=True):
        axes.axhline(row["nats"], color=color, linestyle=dashes, label=f"{row['weights']}, not shifted")
    axes.set(xlabel="mean angle to $\\mathbf{1}$ at every norm (degrees)", xticks=range(30, 121, 15))
    axes.set_ylabel("increase in loss (nats per token)")
    axes.legend()
    return figure
