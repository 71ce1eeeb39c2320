"""Which keys a query can single out, without and with ε."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

import lngeom as lg

from ._space import FLOOR
from ._style import BLUE, INK, QUIET, VERMILION


def keys() -> Figure:
    """The keys of thirty inputs in the plane of the outputs: on a circle at ε = 0, and inside it with ε."""
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    panels: Any = figure.subplots(1, 2, sharex=True, sharey=True)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 3)) * 10 ** rng.uniform(-1.5, 0.5, (30, 1))
    plane = (FLOOR / np.linalg.norm(FLOOR, axis=1, keepdims=True)).T
    angle = np.linspace(0.0, 2.0 * np.pi, 241)
    for panel, eps in zip(panels, (0.0, 0.1), strict=True):
        points = lg.standardize(x, eps=eps) @ plane
        corners = ConvexHull(points).vertices
        hidden = np.setdiff1d(np.arange(len(points)), corners)
        panel.plot(np.sqrt(3) * np.cos(angle), np.sqrt(3) * np.sin(angle), color=QUIET, linewidth=1.0)
        panel.fill(*points[corners].T, facecolor=BLUE, alpha=0.1, edgecolor=BLUE)
        panel.scatter(*points[corners].T, color=BLUE, s=26, label=f"{len(corners)} that some query prefers")
        if len(hidden):
            panel.scatter(*points[hidden].T, color=VERMILION, s=26, marker="X", label=f"{len(hidden)} that none does")
        panel.set_aspect("equal")
        panel.set_axis_off()
        panel.set_title(rf"$\varepsilon = {eps:g}$", color=INK)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize=11)
    figure.suptitle("Keys behind a LayerNorm, d = 3: a query prefers the one that lies farthest in its direction")
    return figure
