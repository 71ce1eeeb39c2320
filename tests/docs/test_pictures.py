"""The pictures: each can be drawn, is the same every time, and shows what the library computes."""

import importlib
from pathlib import Path

import numpy as np
import pictures
import pytest
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3D
from pictures import _axes, _derivative, _fibers, _outputs, _rms, _runs, _steps
from pictures._space import ONE, around, turned

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
    """Whether one of the lines goes through exactly these points."""
    expected = turned(points)
    return any(line.shape == expected.shape and np.abs(line - expected).max() <= ROUNDING for line in lines(figure))


@pytest.mark.parametrize("name", pictures.__all__)
def test_every_picture_can_be_drawn(name: str, tmp_path: Path) -> None:
    picture = draw(name, tmp_path).read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    assert picture.count("<path") > 20
    if name == "critical_points":  # the same picture is the same file
        assert draw(name, tmp_path / "again").read_text(encoding="utf-8") == picture


def test_the_uniform_vector_points_up_and_lengths_are_kept() -> None:
    assert np.abs(turned(np.eye(3)) @ turned(np.eye(3)).T - np.eye(3)).max() <= ROUNDING
    assert np.abs(turned(ONE) - [0.0, 0.0, np.sqrt(3.0)]).max() <= ROUNDING
    assert np.abs(turned(around())[:, 2]).max() <= ROUNDING


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


def test_points_of_the_sweep_lie_where_the_relative_radius_says() -> None:
    figure = pictures.eps_sweep()
    panels = [axes for axes in figure.axes if axes.get_xscale() == "log"]
    assert len(panels) == len(_outputs.EPSILONS)
    for axes, eps in zip(panels, _outputs.EPSILONS, strict=True):
        deviation, radius = np.asarray(axes.collections[0].get_offsets()).T
        assert np.abs(radius - np.sqrt(deviation**2 / (deviation**2 + eps))).max() <= ROUNDING
        curve = axes.get_lines()[0]
        sigma, r = np.asarray(curve.get_xdata(), float), np.asarray(curve.get_ydata(), float)
        assert np.abs(r - np.sqrt(sigma**2 / (sigma**2 + eps))).max() <= ROUNDING


def test_critical_points_are_where_the_derivative_vanishes() -> None:
    top = pictures.critical_points().axes[0]
    marked = {str(line.get_label()): np.asarray(line.get_xdata(), float) for line in top.get_lines()}
    squares = marked["$g_i^2$, the squared gains"]
    roots = marked["squared semi-axes $/\\,d$"]
    expected = np.sort(np.roots(np.polyder(np.poly(squares))).real)
    # The companion matrix of degree 4 has entries up to 60.
    assert np.abs(np.sort(roots) - expected).max() <= 60 * ROUNDING


def test_distance_of_the_two_norms_is_the_chord_of_the_theorem() -> None:
    theta = np.radians([1.0, 30.0, 52.0, 90.0, 135.0, 179.0])
    expected = 2.0 * np.sin(np.abs(np.pi / 2 - theta) / 2)
    # What LayerNorm subtracts leaves sin θ of the vector, so that rounding grows by 1/sin θ.
    assert np.all(np.abs(_rms.distance(theta) - expected) <= ROUNDING / np.sin(theta))
    axes = pictures.layer_norm_rms_norm().axes[1]
    curve, mark = axes.get_lines()[:2]
    shown, height = np.radians(np.asarray(curve.get_xdata(), float)), np.asarray(curve.get_ydata(), float)
    sine = 2.0 * np.sin(np.abs(np.pi / 2 - shown) / 2)
    assert np.all(np.abs(height - sine) <= ROUNDING / np.sin(shown))
    assert np.ravel(np.asarray(mark.get_ydata(), float))[0] == _rms.distance(_rms.THETA)


def test_range_of_the_model_is_marked() -> None:
    low, high = _rms.angle_range()
    inputs = [row for row in _runs.ROWS if row["side"] == "input" and row["bucket"] == "all"]
    assert all(low <= row["angle_p01_deg"] <= row["angle_p99_deg"] <= high for row in inputs)
    assert low in {row["angle_p01_deg"] for row in inputs}
    axes = pictures.layer_norm_rms_norm().axes[1]
    (band,) = axes.patches
    extent = band.get_extents().transformed(axes.transData.inverted())
    # Between degrees and pixels of the screen and back stand a few operations on numbers below 2,000.
    assert np.abs(np.array([extent.x0, extent.x1]) - [low, high]).max() <= 2_000 * ROUNDING


def test_inputs_drawn_on_one_fiber_are_on_one_fiber() -> None:
    for direction in _fibers.directions(4, 72.0):
        x = _fibers.half_plane(direction)
        assert np.all(lg.fibers.same_fiber(x, x[:1], eps=0.0))
        # The projection keeps at least 0.3 · REACH of vectors no longer than 4: rounding grows by less than 8.
        assert np.abs(lg.layer_norm(x, eps=0.0) - np.sqrt(3.0) * direction).max() <= 8 * ROUNDING
    for foot in _fibers.feet():
        x = _fibers.line(foot)
        assert np.all(lg.fibers.same_fiber(x, x[:1], eps=_fibers.EPS))
        assert not np.any(lg.fibers.same_fiber(2.0 * x, x, eps=_fibers.EPS))


def test_ellipses_of_the_derivative_are_its_singular_values() -> None:
    for center in _derivative.centers():
        stretched = np.linalg.norm(_derivative.linearized(center) - lg.layer_norm(center, eps=_derivative.EPS), axis=-1)
        s = np.sqrt(lg.moments(center)[1][0] + _derivative.EPS)
        longest, shortest = _derivative.RADIUS / s, _derivative.RADIUS * _derivative.EPS / s**3
        # The points of the circle are 2·half apart, so that one of them is within half of each axis.
        half = np.pi / (stretched.size - 1)
        assert longest * np.cos(half) - ROUNDING <= stretched.max() <= longest + ROUNDING
        assert shortest - ROUNDING <= stretched.min() <= np.hypot(shortest, longest * np.sin(half)) + ROUNDING


def test_stream_of_the_model_counts_each_vector_once() -> None:
    inputs = {(row["site"], row["bucket"]): row["norm_median"] for row in _runs.ROWS if row["side"] == "input"}
    blocks = 1 + max(row["layer"] for row in _runs.ROWS if row["layer"] is not None)
    expected = [inputs[f"layers.{layer}.input_layernorm", "rest"] for layer in range(blocks)]
    assert _runs.entering_blocks("norm_median") == [*expected, inputs["norm", "rest"]]


def test_angles_by_layer_shows_every_norm_of_the_model() -> None:
    rows = [row for row in _runs.entering() if row["layer"] is not None]
    axes = pictures.angles_by_layer().axes
    roles = list(dict.fromkeys(row["role"] for row in rows))
    assert len(axes) == 2 * len(roles)
    for panel, role in zip(axes, roles, strict=False):
        means = [row["angle_mean_deg"] for row in rows if row["role"] == role]
        spread = np.degrees(1 / np.sqrt(rows[0]["d"]))
        lines = {str(line.get_label()): np.asarray(line.get_ydata(), float) for line in panel.get_lines()}
        assert lines["uniform direction 1"].tolist() == means
        assert f"90° ± {spread:.2f}°" in str(panel.patches[0].get_label())
    for panel, role in zip(axes[len(roles) :], roles, strict=True):
        energies = [row["d_cos2"] for row in rows if row["role"] == role]
        drawn = [np.asarray(line.get_ydata(), float).tolist() for line in panel.get_lines()]
        assert any(line[: len(energies)] == energies for line in drawn)
