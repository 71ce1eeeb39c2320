"""LayerNorm step by step."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg

from ._space import components

X, GAIN, BIAS = np.array([1.8, 0.6, -0.3]), np.array([1.0, 0.55, 0.85]), np.array([0.4, 0.0, 0.3])
TITLES = {
    "project": r"project: $\Pi x = x - \mu\mathbf{1}$, orthogonal to $\mathbf{1}$",
    "normalize": r"normalize: $y/\sqrt{d} = \Pi x/\|\Pi x\|$, of length 1",
    "scale": r"scale by $\sqrt{d}$: the standardized vector $y$",
    "gain": r"gain and bias: $z = g\circ y + b$",
}


def steps() -> Figure:
    """The four steps of LayerNorm on one vector of three components."""
    figure = Figure(figsize=(8.8, 7.2), layout="constrained")
    for k, (name, title) in enumerate(TITLES.items(), start=1):
        axes = figure.add_subplot(2, 2, k, projection="3d")
        lg.plot.steps(X, GAIN, BIAS, eps=0.0, step=name, ax=axes).set_title(title)
    figure.suptitle(f"$x$ = {components(X)}; $\\mathbf{{1}}$ points up, the grey disc is $\\mathbf{{1}}^\\perp$")
    return figure
