"""Figures of training runs: losses, angles with three directions, and d·E[cos²θ] of the uniform one."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..support import Row, Rows
from ._style import BLUE, GREEN, NULL, PURPLE, VERMILION, Layout, panels

NORM_NAMES = {"layer": "LayerNorm", "rms": "RMSNorm", "u": "u-Norm", "post": "Post-LN", "none": "no norm"}


class Drawn(NamedTuple):
    """The tables of one training run, and its title."""

    title: str
    width: int
    losses: Rows
    held_out: Rows
    norms: Rows
    unigram_entropy: float


def site_label(row: Row) -> str:
    """Name of a site in a legend: what the norm feeds, and in which block."""
    if row["layer"] is None:
        return "final norm"
    part = {"pre_attn": "attention", "pre_mlp": "MLP"}.get(row["role"], row["role"])
    return f"block {row['layer']}, before {part}"


def _by_site(rows: Rows) -> dict[str, list[Row]]:
    """The rows of each site, by its label, in the order of the steps."""
    grouped: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["step"]):
        grouped.setdefault(site_label(row), []).append(row)
    return grouped


def _shades(labels: Sequence[str]) -> dict[str, np.ndarray]:
    """A colour for each layer, from the first to the last."""
    return dict(zip(labels, matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(labels))), strict=True))


def draw_sites(panel: Axes, steps: Sequence[int], sites: Sequence[tuple[str, *tuple[list[float], ...]]]) -> None:
    """d·E[cos²θ] over steps, a line for each site: its label, the values, both ends of their intervals, the medians."""
    colours = _shades([site[0] for site in sites])
    for label, values, low, high, *medians in sites:
        panel.plot(steps, values, color=colours[label], linewidth=1.3, label=label)
        panel.fill_between(steps, low, high, color=colours[label], alpha=0.15, linewidth=0)
        for median in medians:
            panel.plot(steps, median, color=colours[label], linestyle=":", linewidth=0.8)
    panel.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
    panel.set(yscale="log", xlabel="step")
    panel.set_xscale("symlog", linthresh=max(1, steps[1]))
    panel.set_xlim(left=0)


def training_losses(runs: Sequence[Drawn]) -> Figure:
    """Training loss of each step, held-out loss at the checkpoints, and the entropy no unigram model can beat."""

    def draw(axes: Axes, runs: Sequence[Drawn]) -> None:
        for run, colour in zip(runs, (BLUE, VERMILION, GREEN, PURPLE), strict=False):
            tables = (run.losses, run.held_out)
            thin, held = ([[row[name] for row in rows] for name in ("step", "loss")] for rows in tables)
            axes.plot(*thin, color=colour, alpha=0.35, linewidth=0.8)
            axes.plot(*held, color=colour, marker="o", label=f"{run.title}, held-out text")
        axes.axhline(runs[0].unigram_entropy, color=NULL, linestyle="--", linewidth=1, label="unigram entropy")
        axes.set_xlabel("step")

    contents = [("Training (thin) and held-out loss", runs)]
    return panels(contents, draw, Layout((8.6, 4.2), 1, "loss (nats per token)", legend="inside"))


_DIRECTIONS = {
    "angle": "the uniform vector 1",
    "random_a_angle": "random vector ã",
    "random_b_angle": "random vector b̃",
}


def training_angles(runs: Sequence[Drawn]) -> Figure:
    """Angle of hidden states with 1 and two random vectors against checkpoint, mean and spread per layer."""

    def draw(axes: Axes, content: tuple[Drawn, str]) -> None:
        run, column = content
        sites = {label: rows for label, rows in _by_site(run.norms).items() if rows[0]["role"] != "pre_mlp"}
        steps = [row["step"] for row in next(iter(sites.values()))]
        chance = math.degrees(1 / math.sqrt(run.width))
        axes.axhspan(90 - chance, 90 + chance, color=NULL, alpha=0.18, linewidth=0, label="isotropic 90° ± 1/√d")
        for index, (label, colour) in enumerate(_shades(list(sites)).items()):
            # Error bars of one checkpoint stand beside one another.
            places = np.arange(len(steps)) + 0.6 * (index / max(1, len(sites) - 1) - 0.5)
            means, spreads = ([row[f"{column}_{what}_deg"] for row in sites[label]] for what in ("mean", "std"))
            axes.errorbar(places, means, spreads, color=colour, marker=".", linewidth=0.9, elinewidth=0.7, label=label)
        ticks = range(0, len(steps), max(1, len(steps) // 6))
        axes.set_xticks(list(ticks), [str(steps[i]) for i in ticks])
        axes.set_xlabel("checkpoint (step)")

    contents = [(f"{run.title}: {name}", (run, column)) for run in runs for column, name in _DIRECTIONS.items()]
    layout = Layout((4.2, 3.4), len(_DIRECTIONS), "angle with hidden states (degrees)", sharey="row", legend="beside")
    return panels(contents, draw, layout)


def training_energies(runs: Sequence[Drawn]) -> Figure:
    """d·E[cos²θ] of 1 at every site against the step, beside the median random direction, log scale."""
    names = ("d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median")

    def draw(axes: Axes, run: Drawn) -> None:
        sites = _by_site(run.norms)
        lines = [(label, *([row[name] for row in rows] for name in names)) for label, rows in sites.items()]
        draw_sites(axes, sorted({row["step"] for row in run.norms}), lines)

    contents = [(f"{run.title} (dotted: median random direction)", run) for run in runs]
    return panels(contents, draw, Layout((5.2, 4.0), len(runs), "d·E[cos²θ] of 1", legend="beside"))
