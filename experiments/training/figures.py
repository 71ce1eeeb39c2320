"""Figures of training: d·E[cos²θ] of the uniform direction over steps, depth and sizes; losses and angles of runs.

``python -m experiments.training.figures runs/long-layer runs/long-rms`` draws finished runs into the last directory.
"""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from empirical.pages import BLUE, NULL, VERMILION, Layout, panels, write_figure
from empirical.support import Row, Rows, read_table

from .tables import NORM_NAMES, OPTIMIZER_NAMES, TINY, Cell, CellSummary, SeedMean, along_depth, by, summarize

_COLOURS = {"layer": BLUE, "rms": VERMILION}


def site_label(row: Row) -> str:
    """Name of a site: what the norm feeds, and in which block."""
    if row["layer"] is None:
        return "final norm"
    part = {"pre_attn": "attention", "pre_mlp": "MLP"}.get(row["role"], row["role"])
    return f"block {row['layer']}, before {part}"


def cell_label(cell: Cell) -> str:
    """Norm, optimizer and weight decay of a cell in words."""
    norm, optimizer, decay, *_ = cell
    return f"{NORM_NAMES[norm]}, {OPTIMIZER_NAMES[optimizer]}, weight decay {decay:g}"


def _shades(labels: Sequence[str]) -> dict[str, np.ndarray]:
    """A colour for each layer, from the first to the last."""
    return dict(zip(labels, matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(labels))), strict=True))


def _sites(panel: Axes, steps: Sequence[int], sites: dict[str, Sequence[Sequence[float]]]) -> None:
    """d·E[cos²θ] over steps, a line for each site: the values, both ends of their intervals, the medians."""
    colours = _shades(list(sites))
    for label, (values, low, high, *medians) in sites.items():
        panel.plot(steps, values, color=colours[label], linewidth=1.3, label=label)
        panel.fill_between(steps, low, high, color=colours[label], alpha=0.15, linewidth=0)
        for median in medians:
            panel.plot(steps, median, color=colours[label], linestyle=":", linewidth=0.8)
    panel.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
    panel.set(yscale="log", xlabel="step")
    panel.set_xscale("symlog", linthresh=max(1, steps[1]))
    panel.set_xlim(left=0)


def _with_interval(axes: Axes, places: Sequence[float], values: Sequence[SeedMean], **style) -> None:
    below, above = [value.mean - value.low for value in values], [value.high - value.mean for value in values]
    axes.errorbar(places, [value.mean for value in values], [below, above], capsize=2.5, elinewidth=0.9, **style)


def step_figure(study: Rows, summaries: Sequence[CellSummary]) -> Figure:
    """d·E[cos²θ] of 1 over steps, a line per site, a panel per cell at ``tiny``; bands are intervals over seeds."""
    steps = sorted({row["step"] for row in study})

    def draw(axes: Axes, cell: Cell) -> None:
        sites = zip(*(along_depth(study, cell, step) for step in steps), strict=True)
        _sites(
            axes, steps, {site_label(site[0][0]): list(zip(*(v[:3] for _, v in site), strict=True)) for site in sites}
        )

    contents = [(cell_label(s.cell), s.cell) for s in summaries if s.cell[3:] == TINY]
    return panels(contents, draw, Layout((5.4, 3.1), 2, "d·E[cos²θ] of 1", sharex=True, legend="beside"))


def depth_figure(study: Rows, summaries: Sequence[CellSummary]) -> Figure:
    """d·E[cos²θ] of 1 at each site before training, early and after it, LayerNorm beside RMSNorm."""
    cells = [s.cell for s in summaries if s.cell[3:] == TINY and s.cell[2] == 0]
    steps = sorted({row["step"] for row in study if row["layer"] is None})
    shown = (0, steps[1], steps[len(steps) // 2], steps[-1])

    def draw(axes: Axes, optimizer: str) -> None:
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set_yscale("log")
        for cell in (cell for cell in cells if cell[1] == optimizer):
            for index, step in enumerate(shown):
                values = along_depth(study, cell, step)
                places = [place + 0.06 * (index - 1.5) for place in range(len(values))]
                style = {"alpha": 0.35 + 0.65 * index / (len(shown) - 1), "marker": "o^sD"[index], "linewidth": 1}
                style |= {"color": _COLOURS[cell[0]], "label": f"{NORM_NAMES[cell[0]]}, step {step}"}
                _with_interval(axes, places, [value for _, value in values], **style)
            sites = [site_label(row) for row, _ in along_depth(study, cell, 0)]
            axes.set_xticks(range(len(sites)), sites, rotation=40, ha="right", fontsize=8)

    contents = [
        (f"{OPTIMIZER_NAMES[name]}, no weight decay", name) for name in dict.fromkeys(cell[1] for cell in cells)
    ]
    return panels(contents, draw, Layout((5.2, 4.2), len(contents), "d·E[cos²θ] of 1", legend="beside"))


def size_figure(summaries: Sequence[CellSummary]) -> Figure:
    """d·E[cos²θ] of 1 behind block 0 after training, for each size, beside the median random direction."""
    chosen = [s for s in summaries if s.cell[1] == "adamw" and s.cell[2] > 0]
    sizes = sorted({s.cell[3:] for s in chosen})

    def draw(axes: Axes, chosen: Sequence[CellSummary]) -> None:
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set_yscale("log")
        for shift, norm in ((-0.12, "layer"), (0.12, "rms")):
            of_norm = [s for s in chosen if s.cell[0] == norm]
            places = [sizes.index(s.cell[3:]) + shift for s in of_norm]
            ones = {"color": _COLOURS[norm], "marker": "o", "markersize": 6, "label": f"1, {NORM_NAMES[norm]}"}
            median = {"color": NULL, "marker": "_", "markersize": 8, "label": "median random direction"}
            _with_interval(axes, places, [s.energy for s in of_norm], linestyle="none", **ones)
            beside = [place + 0.06 for place in places]
            _with_interval(axes, beside, [s.random for s in of_norm], linestyle="none", **median)
        axes.set_xticks(range(len(sizes)), [f"{layers} blocks\nd = {width}" for layers, width in sizes])

    contents = [("AdamW with weight decay, after training", chosen)]
    return panels(contents, draw, Layout((8.6, 3.8), 1, "d·E[cos²θ] behind block 0", legend="beside"))


def draw_study(study: Rows, folder: Path) -> None:
    """Draw the three figures of a study."""
    summaries = summarize(study)
    write_figure(step_figure(study, summaries), folder / "steps.svg")
    write_figure(depth_figure(study, summaries), folder / "depth.svg")
    write_figure(size_figure(summaries), folder / "sizes.svg")


class Run(NamedTuple):
    """What one training run left."""

    title: str
    width: int
    unigram_entropy: float
    losses: Rows
    held_out: Rows
    norms: Rows


def read_run(folder: Path) -> Run:
    about = json.loads((folder / "run.json").read_text())
    tables = (read_table(folder / f"{name}.csv") for name in ("losses", "held_out", "norms"))
    return Run(NORM_NAMES[about["recipe"]["norm"]], about["recipe"]["width"], about["unigram_entropy"], *tables)


def _by_site(rows: Rows) -> dict[str, Rows]:
    return {site_label(of_site[0]): of_site for of_site in by(rows, "site").values()}


def loss_figure(runs: Sequence[Run]) -> Figure:
    """Training loss of each step, held-out loss at the checkpoints, and the entropy no unigram model can beat."""

    def draw(axes: Axes, runs: Sequence[Run]) -> None:
        for run, colour in zip(runs, _COLOURS.values(), strict=False):
            thin, held = ([[row[name] for row in rows] for name in ("step", "loss")] for rows in run[3:5])
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


def angle_figure(runs: Sequence[Run]) -> Figure:
    """Angle of hidden states with 1 and two random vectors against checkpoint, mean and spread per layer."""

    def draw(axes: Axes, content: tuple[Run, str]) -> None:
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


def energy_figure(runs: Sequence[Run]) -> Figure:
    """d·E[cos²θ] of 1 at every site against the step, beside the median random direction, log scale."""
    names = ("d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median")

    def draw(axes: Axes, run: Run) -> None:
        lines: dict[str, Any] = {
            label: [[row[name] for row in rows] for name in names] for label, rows in _by_site(run.norms).items()
        }
        _sites(axes, sorted({row["step"] for row in run.norms}), lines)

    contents = [(f"{run.title} (dotted: median random direction)", run) for run in runs]
    return panels(contents, draw, Layout((5.2, 4.0), len(runs), "d·E[cos²θ] of 1", legend="beside"))


if __name__ == "__main__":
    folders = [Path(word) for word in sys.argv[1:]]
    drawn = [read_run(folder) for folder in folders]
    for name, figure in (("losses", loss_figure), ("angles", angle_figure), ("energy", energy_figure)):
        write_figure(figure(drawn), folders[-1] / f"{name}.svg")
