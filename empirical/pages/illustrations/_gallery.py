"""All pictures by name, and how they are saved."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from lngeom.errors import InputError

from .. import _style
from . import _axes, _derivative, _fibers, _outputs, _relatives, _rms, _runs, _steps, _stream


class Illustration(NamedTuple):
    """A picture: the function that draws it, what it shows, and whether it is drawn from a run of a model.

    Attributes:
        build: Draws it; takes the run if one is given.
        shows: What it shows, in one line.
        run: Whether it shows a measured model.
    """

    build: Callable[..., Figure]
    shows: str
    run: Literal["unused", "optional", "required"] = "unused"


FIGURES: dict[str, Illustration] = {
    "steps": Illustration(_steps.six_steps, "the six steps of LayerNorm on a vector of three components"),
    "three-steps": Illustration(_steps.three_steps, "project, normalize, scale: many vectors in one space"),
    "eps": Illustration(_outputs.eps_sweep, "outputs on the ellipsoid for ε = 10⁻¹, 10⁻³, 10⁻⁵"),
    "fibers": Illustration(_fibers.fibers, "which inputs have the same output, without and with ε"),
    "outputs": Illustration(_outputs.outputs, "where outputs lie, and why mean zero is the wrong test"),
    "axes": Illustration(_axes.axes, "principal axes of the outputs for six gains, zeros included"),
    "critical-points": Illustration(_axes.critical_points, "semi-axes as critical points between the squared gains"),
    "jacobian": Illustration(_derivative.derivative, "what LayerNorm does to small changes of its input"),
    "layer-norm-rms-norm": Illustration(
        _rms.layer_norm_and_rms_norm, "how far LayerNorm and RMSNorm are apart, and where a run lies", "optional"
    ),
    "angles-by-layer": Illustration(
        _runs.angles_by_layer, "angles to 1 layer by layer, and the energy that they hide", "required"
    ),
    "residual-growth": Illustration(
        _stream.residual_growth, "how the norm of a sum grows, and that of a measured stream", "optional"
    ),
    "mirror": Illustration(_relatives.mirror, "LayerNorm, u-Norm, and the mirror that exchanges them"),
    "keys": Illustration(_outputs.keys, "which keys a query can single out, without and with ε"),
    "squashing": Illustration(_relatives.squashing, "why weights behind a norm grow, and what DyT and Derf do instead"),
}
"""All pictures by name."""

FORMATS = ("svg", "png")


def draw(name: str, run: Path | None = None) -> Figure:
    """The picture of :data:`FIGURES` called `name`; `run` is a directory of ``lngeom sweep``, if the picture shows one.

    >>> from empirical.pages import draw
    >>> len(draw("critical-points").axes)
    2
    """
    if name not in FIGURES:
        raise InputError(f"{name!r} is not a figure: choose one of {', '.join(FIGURES)}")
    build, _, use = FIGURES[name]
    if use == "required" and run is None:
        raise InputError(f"{name} is drawn from a run: give the directory that `lngeom sweep` wrote, with --run")
    with matplotlib.rc_context(_style.ILLUSTRATION):
        if run is None or use == "unused":
            return build()
        table = _runs.read_run(run)
        try:
            return build(table)
        except KeyError as error:
            msg = f"{run / 'sites.csv'}: has no column {error}; give a directory that `lngeom sweep` wrote"
            raise InputError(msg) from None


def save(name: str, directory: Path, *, format: str = "svg", run: Path | None = None) -> Path:
    """Draw a picture into a directory, which is made if it is missing; returns ``NAME.svg`` or ``NAME.png`` there.

    `name` and `run` are those of :func:`draw`; a ``png`` has 150 pixels per inch.
    """
    if format not in FORMATS:
        raise InputError(f"{format!r} is not a format: choose one of {', '.join(FORMATS)}")
    figure, path = draw(name, run), directory / f"{name}.{format}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _style.write_figure(figure, path, _style.ILLUSTRATION)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; choose another directory with --out") from None
    return path
