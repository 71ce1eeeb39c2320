"""Growth of the residual stream over depth: a figure with both laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from ..statistics import LAWS, Growth, growth, stream
from ._console import growth_words
from ._style import NEUTRAL, RANDOM_A, STYLE, UNIFORM, label_decades

Row = dict[str, Any]

_COLORS = {0: RANDOM_A, 1: UNIFORM}


def growth_figure(rows: Sequence[Row], title: str) -> Figure | None:
    """Norm of the stream by depth on a log axis, with each law where it is a straight line; None without a stream."""
    found, fits = stream(rows), growth(rows)
    if found.reason:
        return None
    depths = np.arange(len(found.norms))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.2, 4.3), layout="constrained")
        panels = figure.subplots(1, len(LAWS), sharey=True)
        for axes, law in zip(panels, LAWS, strict=True):
            axes.set_yscale("log")
            for fit in fits:
                if fit.law == law and fit.estimate is not None:
                    _law(axes, fit)
            axes.plot(depths, found.norms, color=NEUTRAL, marker="o", linewidth=0, label="mean norm", zorder=3)
            axes.set_title(f"{law} law")
            axes.legend(loc="lower right")
            _depth_axis(axes, law, len(depths) - 1)
        # Bands may reach far beyond what was measured.
        panels[0].set_ylim(found.norms.min() / 3, found.norms.max() * 2)
        label_decades(panels[0])
        panels[0].set_ylabel("norm of the residual stream")
        figure.suptitle(title, fontsize=12)
    return figure


def _depth_axis(axes: Axes, law: str, last: int) -> None:
    if law == "exponential":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        doubled = [2**power - 1 for power in range(int(math.log2(last + 1)) + 1)]
        axes.xaxis.set_major_locator(FixedLocator([*doubled, last] if last > 1.25 * doubled[-1] else doubled))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("depth: blocks passed" + (", axis in log(depth + 1)" if law == "power" else ""))


def _law(axes: Axes, fit: Growth) -> None:
    assert fit.last_depth is not None
    color = _COLORS[fit.first_depth]
    depths = np.arange(fit.first_depth, fit.last_depth + 1)
    low, high = fit.band(depths)
    if np.isfinite(high).all():
        axes.fill_between(depths, low, high, color=color, alpha=0.16, linewidth=0)
    axes.plot(depths, fit.norms(depths), color=color, label=f"from {fit.first_depth}: {growth_words(fit)}")
