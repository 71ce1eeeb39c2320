"""All pictures by name, and how they are saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.figure import Figure

from lngeom._errors import InputError

from . import _axes, _outputs, _steps
from ._style import SETTINGS


class Illustration(NamedTuple):
    """A picture: the function that draws it, and what it shows."""

    build: Callable[[], Figure]
    shows: str


FIGURES: dict[str, Illustration] = {
    "steps": Illustration(_steps.six_steps, "the six steps of LayerNorm on a vector of three components"),
    "three-steps": Illustration(_steps.three_steps, "project, normalize, scale: many vectors in one space"),
    "eps": Illustration(_outputs.eps_sweep, "outputs on the ellipsoid for ε = 10⁻¹, 10⁻³, 10⁻⁵"),
    "outputs": Illustration(_outputs.outputs, "where outputs lie, and why mean zero is the wrong test"),
    "axes": Illustration(_axes.axes, "principal axes of the outputs for six gains, zeros included"),
    "critical-points": Illustration(
        _axes.critical_points, "semi-axes as critical points between the squared gains"
    ),
}
"""All pictures by name."""

FORMATS = ("svg", "png")


def draw(name: str) -> Figure:
    """The picture called `name`.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in FIGURES:
        msg = f"{name!r} is no figure: choose one of {', '.join(FIGURES)}"
        raise InputError(msg)
    with matplotlib.rc_context(SETTINGS):
        return FIGURES[name].build()


def save(name: str, directory: Path, *, format: str = "svg") -> Path:
    """Draw a picture into a directory, which is made if it is missing; returns the file.

    Raises
    ------
    InputError
        If there is no such figure or format, or the directory cannot be written.
    """
    if format not in FORMATS:
        msg = f"{format!r} is no format: choose one of {', '.join(FORMATS)}"
        raise InputError(msg)
    figure = draw(name)
    path = directory / f"{name}.{format}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(SETTINGS):
            # No date in the file, so that the same picture is the same file.
            metadata = {"Date": None} if format == "svg" else None
            figure.savefig(path, format=format, dpi=150, metadata=metadata)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}; choose another directory with --out"
        raise InputError(msg) from None
    return path
