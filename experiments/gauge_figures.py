"""Figures of docs/results/gauge, from the tables that ``gauge.py`` left there."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from empirical.pages import NULL, RANDOM_A, RANDOM_B, UNIFORM, Layout, panels, write_figure
from empirical.support import read_table

TABLES = Path(__file__).parents[1] / "docs" / "results" / "gauge"


def main() -> None:
    """Angles of every checkpoint, and the price of the swap over the gauges of Whisper."""
    models = {"Whisper tiny.en": "whisper-angles", "SmolLM2-135M": "smollm2-angles"}
    colours = (UNIFORM, RANDOM_A, RANDOM_B, NULL)

    def angles(axes: Axes, name: str) -> None:
        rows = read_table(TABLES / f"{name}.csv")
        for gauge, colour in zip(dict.fromkeys(row["gauge"] for row in rows), colours, strict=False):
            values = [row["angle_mean_deg"] for row in rows if row["gauge"] == gauge]
            axes.plot(range(1, len(values) + 1), values, "o-", color=colour, label=gauge, markersize=3)
        axes.set_xlabel("norm, in the order of the pass")
        axes.set_ylim(0, 170)  # room for the legend
        axes.set_yticks(range(0, 91, 15))

    layout = Layout((4.2, 3.4), 2, "mean angle to 1 before the norm, in °", sharey=True, legend="inside")
    write_figure(panels(list(models.items()), angles, layout), TABLES / "angles.svg")
    rows = read_table(TABLES / "orbit.csv")

    def prices(axes: Axes, rows: list[dict[str, Any]]) -> None:
        for weights, colour in (("as stored", UNIFORM), ("writers centred", RANDOM_A)):
            line = sorted(
                (r for r in rows if r["weights"] == weights and r["angle"] is not None), key=lambda r: r["angle"]
            )
            reach = [[r["nats"] - r["nats_low"] for r in line], [r["nats_high"] - r["nats"] for r in line]]
            places, values = [r["angle"] for r in line], [r["nats"] for r in line]
            axes.errorbar(places, values, reach, fmt="o-", color=colour, capsize=2, label=f"{weights}, then shifted")
        stored = next(r for r in rows if r["weights"] == "as stored" and r["angle"] is None)
        axes.axhline(stored["nats"], color=NULL, linestyle="--", label="weights as stored, 43° to 98°")
        axes.axhline(0, color=RANDOM_B, label="folded")
        axes.set_xlabel("mean angle to 1 at every norm, in °")
        axes.set_xticks(range(0, 181, 30))

    layout = Layout((6.4, 3.6), 1, "price of RMSNorm, nats per token", legend="beside")
    write_figure(panels([("", rows)], prices, layout), TABLES / "orbit.svg")


if __name__ == "__main__":
    main()
