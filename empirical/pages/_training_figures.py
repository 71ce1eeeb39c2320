"""Figures of training runs: losses, angles with three directions, and d·E[cos²θ] of the uniform one."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes

from ._style import BLUE, GREEN, NEUTRAL, PINK, VERMILION, new_figure, save

Rows = Sequence[dict[str, Any]]

NORM_NAMES = {"layer": "LayerNorm", "rms": "RMSNorm", "u": "u-Norm", "post": "Post-LN", "none": "no norm"}


class Drawn(NamedTuple):
    """What is drawn of one run."""

    title: str
    width: int
    losses: Rows
    held_out: Rows
    norms: Rows
    unigram_entropy: float


def site_label(row: dict[str, Any]) -> str:
    """Name of a site in a legend: what the norm feeds, and in which block."""
    if row["layer"] is None:
        return "final norm"
    part = {"pre_attn": "attention", "pre_mlp": "MLP"}.get(row["role"], row["role"])
    return f"block {row['layer']}, before {part}"


def _by_site(rows: Rows) -> dict[str, list[dict[str, Any]]]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(row["site"], []).append(row)
    return {site: sorted(of_site, key=lambda row: row["step"]) for site, of_site in grouped.items()}


def shades(count: int) -> np.ndarray:
    """Colours from the first to the last layer."""
    return matplotlib.colormaps["viridis"](np.linspace(0, 0.9, count))


def draw_sites(panel: Axes, steps: Sequence[int], sites: Sequence[Sequence[Any]]) -> None:
    """d·E[cos²θ] over steps, a line for each site: its label, the values, both ends of their intervals, the medians."""
    for (label, values, low, high, *medians), colour in zip(sites, shades(len(sites)), strict=True):
        panel.plot(steps, values, color=colour, linewidth=1.3, label=label)
        panel.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        for median in medians:
            panel.plot(steps, median, color=colour, linestyle=":", linewidth=0.8)
    panel.axhline(1, color=NEUTRAL, linestyle="--", linewidth=0.8)
    panel.set(yscale="log")
    panel.set_xscale("symlog", linthresh=max(1, steps[1]))
    panel.set_xlim(left=0)


def draw_losses(runs: Sequence[Drawn], path: Path) -> None:
    """Training loss of each step, held-out loss at the checkpoints, and the entropy no unigram model can beat."""
    figure, panels = new_figure(1, 1, (7.0, 4.2))
    panel: Axes = panels[0, 0]
    for run, colour in zip(runs, (BLUE, VERMILION, GREEN, PINK), strict=False):
        thin: dict[str, Any] = {"alpha": 0.35, "linewidth": 0.8}
        held: dict[str, Any] = {"marker": "o", "markersize": 3.5, "label": f"{run.title}, held-out text"}
        for rows, style in ((run.losses, thin), (run.held_out, held)):
            panel.plot([row["step"] for row in rows], [row["loss"] for row in rows], color=colour, **style)
    panel.axhline(runs[0].unigram_entropy, color=NEUTRAL, linestyle="--", linewidth=1, label="unigram entropy")
    panel.set(xlabel="step", ylabel="loss (nats per token)", title="Training (thin) and held-out loss")
    panel.legend(fontsize=9)
    save(figure, path)


def draw_angles(runs: Sequence[Drawn], path: Path) -> None:
    """Angle of hidden states with 1 and two random vectors against checkpoint, mean and spread per layer."""
    directions = (
        ("angle", "the uniform vector 1"),
        ("random_a_angle", "random vector ã"),
        ("random_b_angle", "random vector b̃"),
    )
    figure, panels = new_figure(len(runs), 3, (4.6, 3.4), sharex="row", sharey="row")
    for run, row_of_panels in zip(runs, panels, strict=True):
        sites = {k: v for k, v in _by_site(run.norms).items() if v[0]["role"] != "pre_mlp"}
        colours = shades(len(sites))
        steps = [row["step"] for row in next(iter(sites.values()))]
        band = math.degrees(1 / math.sqrt(run.width))
        for panel, (column, name) in zip(row_of_panels, directions, strict=True):
            panel.axhspan(90 - band, 90 + band, color=NEUTRAL, alpha=0.18, linewidth=0, label="isotropic 90° ± 1/√d")
            for index, (rows, colour) in enumerate(zip(sites.values(), colours, strict=True)):
                places = np.arange(len(steps)) + 0.6 * (index / max(1, len(sites) - 1) - 0.5)
                panel.errorbar(
                    places,
                    [row[f"{column}_mean_deg"] for row in rows],
                    yerr=[row[f"{column}_std_deg"] for row in rows],
                    color=colour,
                    marker=".",
                    markersize=4,
                    linewidth=0.9,
                    elinewidth=0.7,
                    label=site_label(rows[0]),
                )
            ticks = range(0, len(steps), max(1, len(steps) // 6))
            panel.set_xticks(list(ticks), [str(steps[i]) for i in ticks])
            panel.set(title=f"{run.title}: {name}", xlabel="checkpoint (step)")
        row_of_panels[0].set_ylabel("angle with hidden states (degrees)")
        row_of_panels[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path)


def draw_energies(runs: Sequence[Drawn], path: Path) -> None:
    """d·E[cos²θ] of 1 at every site against the step, beside the median random direction, log scale."""
    figure, panels = new_figure(1, len(runs), (5.2, 4.0), sharey=True)
    steps = sorted({row["step"] for run in runs for row in run.norms})
    for run, panel in zip(runs, panels[0], strict=True):
        names = ("d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median")
        sites = _by_site(run.norms).values()
        draw_sites(
            panel, steps, [(site_label(rows[0]), *([r[name] for r in rows] for name in names)) for rows in sites]
        )
        panel.set(title=f"{run.title} (dotted: median random direction)", xlabel="step")
    panels[0, 0].set_ylabel("d·E[cos²θ] of 1")
    panels[0, -1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path)
