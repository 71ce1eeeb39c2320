"""Where outputs lie, and what ε does to them."""

import numpy as np
from matplotlib.figure import Figure

import lngeom as lg
from lngeom.colors import VERMILION

from ._space import components

EPSILONS = (1e-1, 1e-3, 1e-5)
GAIN, BIAS = np.array([1.5, 0.7, 1.0]), np.array([0.2, 0.6, 0.4])


def eps_sweep() -> Figure:
    """Outputs in the ellipse for ε = 10⁻¹, 10⁻³ and 10⁻⁵, and their relative radius against their deviation."""
    figure = Figure(figsize=(12.5, 7.2), layout="constrained")
    rng, panels = np.random.default_rng(3), figure.subplots(2, 3)
    x = rng.normal(size=(500, 3)) * 10 ** rng.uniform(-2.4, 0.0, (500, 1))  # with σ from 0.003 to 1
    for eps, above, below in zip(EPSILONS, *panels, strict=True):
        lg.plot.ellipsoid(GAIN, BIAS, lg.layer_norm(x, GAIN, BIAS, eps=eps), ax=above)
        r = lg.epsilon.relative_radius(x, eps=eps)
        above.set_title(rf"$\varepsilon = 10^{{{round(np.log10(eps))}}}$: {np.mean(r > 0.99):.0%} with $r > 0.99$")
        below.scatter(np.sqrt(lg.moments(x)[1][:, 0]), r, c=r, vmin=0.0, vmax=1.0, s=12, linewidths=0)
        below.axvline(np.sqrt(eps), color=VERMILION, linestyle="--", label=r"$\sigma=\sqrt{\varepsilon}$")
        below.set(xscale="log", xlabel=r"standard deviation $\sigma$ of the input", xlim=(2e-3, 3), ylim=(-0.03, 1.05))
    panels[1, 0].legend(loc="upper left")
    panels[1, 0].set_ylabel("relative radius $r$")
    marks = panels[0, -1].collections[0]
    figure.colorbar(marks, ax=panels[0], shrink=0.9, label="relative radius $r$", location="right")
    figure.suptitle(rf"The same 500 inputs, three values of $\varepsilon$; $g$ = {components(GAIN)}, $d = 3$")
    return figure
