"""Figures of the study: d·E[cos²θ] of the uniform direction over steps, over depth, and over sizes."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..support import Rows
from ..train import TINY, CellKey, CellSummary, SeedMean, along_depth
from ._style import BLUE, NULL, VERMILION, Layout, panels
from ._training_figures import NORM_NAMES, draw_sites, site_label

_COLOURS = {"layer": BLUE, "rms": VERMILION}
OPTIMIZER_NAMES = {"adamw": "AdamW", "sgd": "SGD with momentum"}


def cell_label(cell: CellKey) -> str:
    """Norm, optimizer and weight decay of a cell in words."""
    norm, optimizer, decay, *_ = cell
    return f"{NORM_NAMES[norm]}, {OPTIMIZER_NAMES[optimizer]}, weight decay {decay:g}"


def _with_interval(axes: Axes, places: Sequence[float], values: Sequence[SeedMean], **style) -> None:
    below, above = [value.mean - value.low for value in values], [value.high - value.mean for value in values]
    axes.errorbar(places, [value.mean for value in values], [below, above], capsize=2.5, elinewidth=0.9, **style)


def step_figure(study: Rows, summaries: Sequence[CellSummary]) -> Figure:
    """d·E[cos²θ] of 1 over steps, a line per site, a panel per cell at ``tiny``; bands are intervals over seeds."""
    steps = sorted({row["step"] for row in study})

    def draw(axes: Axes, cell: CellKey) -> None:
        sites = []
        for site in zip(*(along_depth(study, cell, step) for step in steps), strict=True):
            values = [value for _, value in site]
            sites.append((site_label(site[0][0]), *([value[end] for value in values] for end in range(3))))
        draw_sites(axes, steps, sites)

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
                style = {"alpha": 0.35 + 0.65 * index / (len(shown) - 1), "marker": "o^sD"[index], "linewidth": 1}
                _with_interval(
                    axes,
                    [place + 0.06 * (index - 1.5) for place in range(len(values))],
                    [value for _, value in values],
                    color=_COLOURS[cell[0]],
                    label=f"{NORM_NAMES[cell[0]]}, step {step}",
                    **style,
                )
            sites = [site_label(row) for row, _ in along_depth(study, cell, 0)]
            axes.set_xticks(range(len(sites)), sites, rotation=40, ha="right", fontsize=8)

    optimizers = dict.fromkeys(cell[1] for cell in cells)
    contents = [(f"{OPTIMIZER_NAMES[name]}, no weight decay", name) for name in optimizers]
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
            beside = [place + 0.06 for place in places]
            for where, values, color, marker, size, label in (
                (places, [s.energy for s in of_norm], _COLOURS[norm], "o", 6, f"1, {NORM_NAMES[norm]}"),
                (beside, [s.random for s in of_norm], NULL, "_", 8, "median random direction"),
            ):
                style = {"color": color, "marker": marker, "markersize": size, "label": label}
                _with_interval(axes, where, values, linestyle="none", **style)
        axes.set_xticks(range(len(sizes)), [f"{layers} blocks\nd = {width}" for layers, width in sizes])

    contents = [("AdamW with weight decay, after training", chosen)]
    return panels(contents, draw, Layout((8.6, 3.8), 1, "d·E[cos²θ] behind block 0", legend="beside"))
