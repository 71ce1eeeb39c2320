"""Figures of training: d·E[cos²θ] of the uniform direction over steps, depth and sizes; losses and angles of runs.

``python -m experiments.training.figures runs/long-layer runs/long-rms`` draws finished runs into the last directory.
"""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from empirical.pages import BLUE, NULL, VERMILION, Layout, panels, write_figure

from .tables import CELL, NORM_NAMES, OPTIMIZER_NAMES, SeedMean, Table, at_tiny, over_seeds, summarize

_COLOURS = {"layer": BLUE, "rms": VERMILION}
_MEASURE = "d·E[cos²θ] of 1"


def site_label(site: str) -> str:
    """What a norm feeds, and in which block."""
    if site == "ln_f":
        return "final norm"
    _, block, name = site.split(".")
    return f"block {block}, before {'attention' if name == 'ln_1' else 'MLP'}"


def cell_label(cell: Sequence[Any]) -> str:
    """Norm, optimizer and weight decay of a cell in words."""
    norm, optimizer, decay, *_ = cell
    return f"{NORM_NAMES[norm]}, {OPTIMIZER_NAMES[optimizer]}, weight decay {decay:g}"


def _shades(labels: Iterable[str]) -> dict[str, np.ndarray]:
    """A colour for each layer, from the first to the last."""
    labels = list(labels)
    return dict(zip(labels, matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(labels))), strict=True))


def _by_site(panel: Axes, lines: Table) -> None:
    """A line for each site over steps, from the columns step, site, value, both ends of its interval, and a median."""
    colours, steps = _shades(lines["site"].unique()), sorted(lines["step"].unique())
    for site, (value, low, high, *median) in (
        (site, each.iloc[:, 2:].to_numpy().T) for site, each in lines.groupby("site", sort=False)
    ):
        panel.plot(steps, value, color=colours[site], linewidth=1.3, label=site_label(site))
        panel.fill_between(steps, low, high, color=colours[site], alpha=0.15, linewidth=0)
        for each in median:
            panel.plot(steps, each, color=colours[site], linestyle=":", linewidth=0.8)
    panel.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
    panel.set(yscale="log", xlabel="step")
    panel.set_xscale("symlog", linthresh=max(1, steps[1]))
    panel.set_xlim(left=0)


def _with_interval(axes: Axes, places: Sequence[float], means: Iterable[SeedMean], **style) -> None:
    mean, low, high = np.array([each[:3] for each in means]).T
    axes.errorbar(places, mean, [mean - low, high - mean], capsize=2.5, elinewidth=0.9, **style)


def step_figure(study: Table) -> Figure:
    """d·E[cos²θ] of 1 over steps, a line per site, a panel per cell at ``tiny``; bands are intervals over seeds."""

    def draw(axes: Axes, rows: Table) -> None:
        means = over_seeds(rows, "d_cos2", ["step", "site"])
        intervals = pd.DataFrame([mean[:3] for mean in means], means.index)
        _by_site(axes, intervals.reset_index())

    contents = [(cell_label(cell), rows) for cell, rows in at_tiny(study).groupby(CELL, sort=False)]
    return panels(contents, draw, Layout((5.4, 3.1), 2, _MEASURE, sharex=True, legend="beside"))


def depth_figure(study: Table) -> Figure:
    """d·E[cos²θ] of 1 at each site before training, early and after it, LayerNorm beside RMSNorm."""
    steps = sorted(study["step"].unique())
    shown = (0, steps[1], steps[len(steps) // 2], steps[-1])

    def draw(axes: Axes, rows: Table) -> None:
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set_yscale("log")
        sites = rows["site"].unique()
        for norm, of_norm in rows.groupby("norm", sort=False):
            for index, step in enumerate(shown):
                means = over_seeds(of_norm[of_norm["step"] == step], "d_cos2", ["site"])
                places = [place + 0.06 * (index - 1.5) for place in range(len(sites))]
                style = {"alpha": 0.35 + 0.65 * index / (len(shown) - 1), "marker": "o^sD"[index], "linewidth": 1}
                style |= {"color": _COLOURS[norm], "label": f"{NORM_NAMES[norm]}, step {step}"}
                _with_interval(axes, places, means, **style)
        axes.set_xticks(range(len(sites)), map(site_label, sites), rotation=40, ha="right", fontsize=8)

    plain = at_tiny(study).query("weight_decay == 0").groupby("optimizer", sort=False)
    contents = [(f"{OPTIMIZER_NAMES[name]}, no weight decay", rows) for name, rows in plain]
    return panels(contents, draw, Layout((5.2, 4.2), len(contents), _MEASURE, legend="beside"))


def size_figure(study: Table) -> Figure:
    """d·E[cos²θ] of 1 behind block 0 after training, for each size, beside the median random direction."""
    decayed = study.query("optimizer == 'adamw' and weight_decay > 0")
    sizes = sorted({*decayed.groupby(["layers", "width"]).groups})

    def draw(axes: Axes, summary: Table) -> None:
        axes.axhline(1, color=NULL, linestyle="--", linewidth=0.8)
        axes.set_yscale("log")
        for shift, norm in ((-0.12, "layer"), (0.12, "rms")):
            of_norm = summary.xs(norm, level="norm")
            places = [sizes.index(size) + shift for size in of_norm.index]
            ones = {"color": _COLOURS[norm], "marker": "o", "markersize": 6, "label": f"1, {NORM_NAMES[norm]}"}
            median = {"color": NULL, "marker": "_", "markersize": 8, "label": "median random direction"}
            _with_interval(axes, places, of_norm["energy"], linestyle="none", **ones)
            _with_interval(axes, [place + 0.06 for place in places], of_norm["random"], linestyle="none", **median)
        axes.set_xticks(range(len(sizes)), [f"{layers} blocks\nd = {width}" for layers, width in sizes])

    contents = [("AdamW with weight decay, after training", summarize(decayed, ["norm", "layers", "width"]))]
    return panels(contents, draw, Layout((8.6, 3.8), 1, "d·E[cos²θ] behind block 0", legend="beside"))


class Run(NamedTuple):
    """What one training run left."""

    title: str
    width: int
    unigram_entropy: float
    losses: Table
    held_out: Table
    norms: Table


def read_run(folder: Path) -> Run:
    about = json.loads((folder / "run.json").read_text())
    tables = (pd.read_csv(folder / f"{name}.csv") for name in ("losses", "held_out", "norms"))
    return Run(NORM_NAMES[about["recipe"]["norm"]], about["recipe"]["width"], about["unigram_entropy"], *tables)


def loss_figure(runs: Sequence[Run]) -> Figure:
    """Training loss of each step, held-out loss at the checkpoints, and the entropy no unigram model can beat."""

    def draw(axes: Axes, runs: Sequence[Run]) -> None:
        for run, colour in zip(runs, _COLOURS.values(), strict=False):
            axes.plot(run.losses["step"], run.losses["loss"], color=colour, alpha=0.35, linewidth=0.8)
            label = f"{run.title}, held-out text"
            axes.plot(run.held_out["step"], run.held_out["loss"], color=colour, marker="o", label=label)
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
        rows = run.norms[run.norms["role"] != "pre_mlp"]
        steps, colours = rows["step"].unique(), _shades(rows["site"].unique())
        chance = math.degrees(1 / math.sqrt(run.width))
        axes.axhspan(90 - chance, 90 + chance, color=NULL, alpha=0.18, linewidth=0, label="isotropic 90° ± 1/√d")
        for index, (site, of_site) in enumerate(rows.groupby("site", sort=False)):
            # Error bars of one checkpoint stand beside one another.
            places = np.arange(len(steps)) + 0.6 * (index / max(1, len(colours) - 1) - 0.5)
            means, spreads = (of_site[f"{column}_{what}_deg"] for what in ("mean", "std"))
            style = {"color": colours[site], "marker": ".", "linewidth": 0.9, "elinewidth": 0.7}
            axes.errorbar(places, means, spreads, label=site_label(site), **style)
        ticks = range(0, len(steps), max(1, len(steps) // 6))
        axes.set_xticks(list(ticks), [str(steps[i]) for i in ticks])
        axes.set_xlabel("checkpoint (step)")

    contents = [(f"{run.title}: {name}", (run, column)) for run in runs for column, name in _DIRECTIONS.items()]
    layout = Layout((4.2, 3.4), len(_DIRECTIONS), "angle with hidden states (degrees)", sharey="row", legend="beside")
    return panels(contents, draw, layout)


def energy_figure(runs: Sequence[Run]) -> Figure:
    """d·E[cos²θ] of 1 at every site against the step, beside the median random direction, log scale."""
    names = ["step", "site", "d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median"]
    contents = [(f"{run.title} (dotted: median random direction)", run.norms[names]) for run in runs]
    return panels(contents, _by_site, Layout((5.2, 4.0), len(runs), _MEASURE, legend="beside"))


STUDY = {"steps": step_figure, "depth": depth_figure, "sizes": size_figure}
"""Figures of a study, of its table of sites."""

RUNS = {"losses": loss_figure, "angles": angle_figure, "energy": energy_figure}
"""Figures of runs."""


def draw(figures: dict[str, Any], content: Any, folder: Path) -> None:
    """Draw each of these figures."""
    for name, figure in figures.items():
        write_figure(figure(content), folder / f"{name}.svg")


if __name__ == "__main__":
    folders = [Path(word) for word in sys.argv[1:]]
    draw(RUNS, [read_run(folder) for folder in folders], folders[-1])
