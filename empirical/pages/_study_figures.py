"""Figures of the study: d·E[cos²θ] of the uniform direction over steps, over depth, and over sizes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from ..train import TINY, CellSummary, Rows, SeedMean, along_depth
from ._style import BLUE, NEUTRAL, VERMILION, new_figure, save
from ._training_figures import NORM_NAMES, draw_sites, site_label

_COLOURS = {"layer": BLUE, "rms": VERMILION}
OPTIMIZER_NAMES = {"adamw": "AdamW", "sgd": "SGD with momentum"}


def cell_label(cell: tuple[Any, ...]) -> str:
    """Norm, optimizer and weight decay of a cell in words."""
    norm, optimizer, decay, *_ = cell
    return f"{NORM_NAMES[norm]}, {OPTIMIZER_NAMES[optimizer]}, weight decay {decay:g}"


def _tiny_cells(summaries: Sequence[CellSummary]) -> list[tuple[Any, ...]]:
    return [summary.cell for summary in summaries if summary.cell[3:] == TINY]


def _with_interval(panel: Axes, places: Sequence[float], values: Sequence[SeedMean], **style: Any) -> None:
    panel.errorbar(
        places,
        [value.mean for value in values],
        yerr=[[v.mean - v.low for v in values], [v.high - v.mean for v in values]],
        capsize=2.5,
        elinewidth=0.9,
        **style,
    )


def draw_steps(study: Rows, summaries: Sequence[CellSummary], path: Path) -> None:
    """d·E[cos²θ] of 1 over steps, a line per site, a panel per cell at ``tiny``; bands are intervals over seeds."""
    cells = _tiny_cells(summaries)
    steps = sorted({row["step"] for row in study})
    figure, panels = new_figure(-(-len(cells) // 2), 2, (5.4, 3.1), sharex=True, sharey=True)
    for cell, panel in zip(cells, panels.flat, strict=False):
        sites = []
        for site in zip(*(along_depth(study, cell, step) for step in steps), strict=True):
            values = [value for _, value in site]
            interval = ([value[end] for value in values] for end in range(3))
            sites.append((site_label(site[0][0]), *interval))
        draw_sites(panel, steps, sites)
        panel.set(title=cell_label(cell))
        panel.title.set_fontsize(9)
    for panel in panels[-1]:
        panel.set_xlabel("step")
    for panel in panels[:, 0]:
        panel.set_ylabel("d·E[cos²θ] of 1")
    panels[0, -1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, path)


def draw_depth(study: Rows, summaries: Sequence[CellSummary], path: Path) -> None:
    """d·E[cos²θ] of 1 at each site before training, early and after it, LayerNorm beside RMSNorm."""
    cells = [cell for cell in _tiny_cells(summaries) if cell[2] == 0]
    optimizers = list(dict.fromkeys(cell[1] for cell in cells))
    steps = sorted({row["step"] for row in study if row["layer"] is None})
    shown = (0, steps[1], steps[len(steps) // 2], steps[-1])
    figure, panels = new_figure(1, len(optimizers), (5.6, 3.8), sharey=True)
    for cell in cells:
        panel = panels[0, optimizers.index(cell[1])]
        sites = [site_label(row) for row, _ in along_depth(study, cell, 0)]
        for index, step in enumerate(shown):
            values = along_depth(study, cell, step)
            _with_interval(
                panel,
                [place + 0.06 * (index - 1.5) for place in range(len(values))],
                [value for _, value in values],
                color=_COLOURS[cell[0]],
                alpha=0.35 + 0.65 * index / (len(shown) - 1),
                marker="o^sD"[index],
                markersize=3.5,
                linewidth=1,
                label=f"{NORM_NAMES[cell[0]]}, step {step}",
            )
        panel.axhline(1, color=NEUTRAL, linestyle="--", linewidth=0.8)
        panel.set_xticks(range(len(sites)), sites, rotation=40, ha="right", fontsize=7)
        panel.set(title=f"{OPTIMIZER_NAMES[cell[1]]}, no weight decay", yscale="log")
    panels[0, 0].set_ylabel("d·E[cos²θ] of 1")
    panels[0, -1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, path)


def draw_sizes(summaries: Sequence[CellSummary], path: Path) -> None:
    """d·E[cos²θ] of 1 behind block 0 after training, for each size, beside the median random direction."""
    chosen = [s for s in summaries if s.cell[1] == "adamw" and s.cell[2] > 0]
    sizes = sorted({s.cell[3:] for s in chosen})
    figure, panels = new_figure(1, 1, (6.4, 3.6))
    panel = panels[0, 0]
    for shift, norm in ((-0.12, "layer"), (0.12, "rms")):
        of_norm = {s.cell[3:]: s for s in chosen if s.cell[0] == norm}
        places = [place + shift for place, size in enumerate(sizes) if size in of_norm]
        ordered = [of_norm[size] for size in sizes if size in of_norm]
        _with_interval(
            panel,
            places,
            [s.energy for s in ordered],
            color=_COLOURS[norm],
            marker="o",
            linestyle="none",
            label=f"1, {NORM_NAMES[norm]}",
        )
        _with_interval(
            panel,
            [place + 0.06 for place in places],
            [s.random for s in ordered],
            color=NEUTRAL,
            marker="_",
            linestyle="none",
            label="median random direction" if norm == "rms" else None,
        )
    panel.axhline(1, color=NEUTRAL, linestyle="--", linewidth=0.8)
    panel.set_xticks(range(len(sizes)), [f"{layers} blocks\nd = {width}" for layers, width in sizes])
    panel.set(ylabel="d·E[cos²θ] behind block 0", yscale="log", title="AdamW with weight decay, after training")
    panel.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, path)
