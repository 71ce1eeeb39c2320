import importlib
from pathlib import Path

import numpy as np
import pictures
import pytest
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3D
from pictures import _axes, _derivative, _fibers, _steps
from pictures._space import around, turned

import lngeom as lg

draw = importlib.import_module("lngeom_library").draw

# Half a dozen operations on numbers below 4 stand between two ways to the same point of a picture.
ROUNDING = 64 * np.finfo(float).eps


def lines(figure: Figure) -> list[np.ndarray]:
    """Vertices of all three-dimensional lines, each of shape (n, 3)."""
    return [
        np.stack([np.asarray(part) for part in line.get_data_3d()], -1)
        for axes in figure.axes
        for line in axes.get_lines()
        if isinstance(line, Line3D)
    ]


def shows(figure: Figure, points: np.ndarray) -> bool:
    expected = turned(points)
    return any(line.shape == expected.shape and np.abs(line - expected).max() <= ROUNDING for line in lines(figure))


@pytest.mark.parametrize("name", pictures.__all__)
def test_every_picture_can_be_drawn(name: str, tmp_path: Path) -> None:
    picture = draw(name, tmp_path).read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    assert picture.count("<path") > 20
    if name == "jacobian":  # the same picture is the same file
        assert draw(name, tmp_path / "again").read_text(encoding="utf-8") == picture


def test_axes_are_the_principal_axes_and_end_on_the_ellipse() -> None:
    figure = pictures.axes()
    for values, _ in _axes.GAINS:
        gain = np.array(values)
        axes = lg.principal_axes(gain)
        for length, direction in zip(axes.semi_axes, axes.directions.T, strict=True):
            end = length * direction
            assert shows(figure, np.stack([-end, end]))
            if np.count_nonzero(gain) > 1:
                ellipsoid = lg.Ellipsoid(gain)
                assert abs(float(ellipsoid.relative_radius(end)) - 1.0) <= ROUNDING
        assert shows(figure, lg.layer_norm(around(), gain, eps=0.0))


def test_steps_end_at_the_output_of_the_layer() -> None:
    figure = pictures.steps()
    ellipse = lg.layer_norm(around(), _steps.GAIN, _steps.BIAS, eps=0.0)
    assert shows(figure, ellipse)
    assert shows(figure, lg.standardize(around(), eps=0.0))
    assert bool(np.all(lg.Ellipsoid(_steps.GAIN, _steps.BIAS).contains(ellipse)))


def test_inputs_drawn_on_one_fiber_are_on_one_fiber() -> None:
    for direction in _fibers.directions(4, 72.0):
        x = _fibers.half_plane(direction)
        # The projection keeps at least 0.3 · REACH of vectors no longer than 4: rounding grows by less than 8.
        assert np.abs(lg.layer_norm(x, eps=0.0) - np.sqrt(3.0) * direction).max() <= 8 * ROUNDING
    for foot in _fibers.feet():
        x = _fibers.line(foot)
        output = lg.layer_norm(foot, eps=_fibers.EPS)
        # 1/√(σ² + ε) is below 1.6.
        assert np.abs(lg.layer_norm(x, eps=_fibers.EPS) - output).max() <= 8 * ROUNDING
        assert np.abs(lg.layer_norm(2.0 * x, eps=_fibers.EPS) - output).max() > 0.01


def test_ellipses_of_the_derivative_are_its_singular_values() -> None:
    for center in _derivative.centers():
        stretched = np.linalg.norm(_derivative.linearized(center) - lg.layer_norm(center, eps=_derivative.EPS), axis=-1)
        s = np.sqrt(lg.moments(center)[1][0] + _derivative.EPS)
        longest, shortest = _derivative.RADIUS / s, _derivative.RADIUS * _derivative.EPS / s**3
        # The points of the circle are 2·half apart, so that one of them is within half of each axis.
        half = np.pi / (stretched.size - 1)
        assert longest * np.cos(half) - ROUNDING <= stretched.max() <= longest + ROUNDING
        assert shortest - ROUNDING <= stretched.min() <= np.hypot(shortest, longest * np.sin(half)) + ROUNDING
