import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection

import lngeom as lg
from lngeom.empirical.observe import read_sites
from lngeom.plot import around, turned

matplotlib.use("Agg")

# Half a dozen operations on numbers below 4 stand between two ways to the same point of a picture.
ROUNDING = 64 * np.finfo(float).eps
X, GAIN, BIAS = np.array([1.8, 0.6, -0.3]), np.array([1.0, 0.5, -0.8]), np.array([0.4, 0.0, 0.3])
TABLE = Path(__file__).parents[2] / "docs/results/smollm2/sites-16k.csv"
ROWS = read_sites(TABLE)


def space() -> Any:
    return Figure().add_subplot(projection="3d")


def drawn(axes: Any) -> list[np.ndarray]:
    """Where the arrows begin and end, and the points of all lines, each of shape (n, 3)."""
    arrows = [np.array(each._segments3d)[0, ::-1] for each in axes.collections if isinstance(each, Line3DCollection)]
    return [*arrows, *(np.stack(line.get_data_3d(), -1) for line in axes.lines)]


def shows(axes: Any, points: np.ndarray) -> bool:
    there = turned(points)
    return any(line.shape == there.shape and np.abs(line - there).max() <= ROUNDING for line in drawn(axes))


@pytest.mark.parametrize("eps", [0.0, 0.5])
def test_steps_end_where_the_library_says(eps: float) -> None:
    y, z = lg.standardize(X, eps=eps), lg.layer_norm(X, GAIN, BIAS, eps=eps)
    zero = np.zeros(3)
    wanted = {
        "project": [(zero, X), (zero, lg.projection.mean_vector(X)), (zero, lg.project(X))],
        "normalize": [(zero, y / np.sqrt(3))],
        "scale": [(zero, y)],
        "gain": [(BIAS, z)],
    }
    for step, arrows in wanted.items():
        axes = space()
        assert lg.plot.steps(X, GAIN, BIAS, eps=eps, step=step, ax=axes) is axes
        assert all(shows(axes, np.stack(arrow)) for arrow in arrows), step
    assert shows(lg.plot.steps(X, GAIN, BIAS, eps=eps, ax=space()), lg.layer_norm(around(), GAIN, BIAS, eps=0.0))


def test_outputs_lie_in_the_ellipse_and_are_coloured_by_their_radius() -> None:
    rng = np.random.default_rng(0)
    for d, centered in ((3, True), (48, True), (48, False)):
        gain, bias, x = rng.normal(size=d), rng.normal(size=d), rng.normal(size=(40, d))
        z = (lg.layer_norm if centered else lg.rms_norm)(x, gain, bias, eps=0.3)
        parameters = torch.tensor(gain, requires_grad=True), torch.tensor(bias)
        axes = lg.plot.ellipsoid(*parameters, z, centered=centered, ax=Figure().add_subplot())
        body = lg.Ellipsoid(gain, bias, centered=centered)
        at = np.asarray(axes.collections[0].get_offsets())
        assert np.allclose(axes.collections[0].get_array(), body.relative_radius(z), rtol=ROUNDING, atol=0)
        assert np.allclose(at, (z - bias) @ body.axes.directions[:, :2], atol=ROUNDING * d)
        assert np.all(np.sum((at / body.semi_axes[:2]) ** 2, -1) < 1)
        assert np.allclose(axes.lines[0].get_xydata().max(0), body.semi_axes[:2], rtol=ROUNDING)
    axes = lg.plot.ellipsoid(GAIN, BIAS, ax=space())
    assert shows(axes, lg.layer_norm(around(), GAIN, BIAS, eps=0.0))
    longest = lg.principal_axes(GAIN).semi_axes[0] * lg.principal_axes(GAIN).direction(0)
    assert shows(axes, BIAS + np.stack([-longest, longest]))


@pytest.mark.parametrize("gain", [(1.0, 2.0, 4.0), (1.0, 1.0, 1.0), (1.0, 1.0, -0.5), (1.2, 0.7, 0.0)])
def test_an_ellipse_in_space_is_seen_from_above_and_every_coordinate_axis_reaches_beyond_it(gain: Any) -> None:
    axes = lg.plot.ellipsoid(np.array(gain), ax=space())
    elevation, azimuth = np.radians([axes.elev, axes.azim])
    onlooker = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    flat = [line - np.outer(line @ onlooker, onlooker) for line in (np.stack(x.get_data_3d(), -1) for x in axes.lines)]
    *coordinates, surface = flat[:4]
    second = lg.principal_axes(np.array(gain)).semi_axes[1]
    # At most 45° from the normal no radius is seen shorter than by √½; the view is rounded to six digits. Of n points
    # all around, the sum of squares along any radius is n/2 times its square; the last point is the first again.
    least = np.linalg.svd(surface, compute_uv=False)[1] / np.sqrt((len(surface) - 1) / 2)
    assert least >= second * (np.sqrt(0.5) - 1e-5)
    reach = np.linalg.norm(surface, axis=1).max()
    assert all(np.linalg.norm(each[1]) > 1.1 * reach for each in coordinates)
    assert [each.get_text() for each in axes.texts] == ["$x_1$", "$x_2$", "$x_3$"]


def test_an_ellipsoid_on_a_figure_of_its_own_says_what_its_lines_and_colours_are() -> None:
    names = ["surface, $r = 1$", "longest axis", "second axis"]
    for gain in (np.array([1.0, 2.0, 4.0]), np.linspace(0.5, 2.0, 8)):
        x = np.random.default_rng(0).normal(size=(5, len(gain)))
        figure = lg.plot.ellipsoid(gain, outputs=lg.layer_norm(x, gain, eps=1e-5)).figure
        (legend,) = figure.legends
        assert [each.get_text() for each in legend.get_texts()] == names
        assert [each.get_ylabel() for each in figure.axes[1:]] == ["relative radius $r$"]


@pytest.mark.parametrize(
    ("draw", "label", "formula"),
    [
        (lg.plot.angles, "all-ones vector", lambda row: row["angle_mean_deg"]),
        (lg.plot.energies, "all-ones vector", lambda row: row["d_cos2"]),
        (lg.plot.outliers, "largest / mean ‖x‖", lambda row: row["norm_max"] / row["norm_mean"]),
        (lg.plot.outliers, "largest / mean x_i²", lambda row: row["d"] * row["top_1_share"]),
    ],
)
def test_a_run_is_drawn_norm_by_norm(draw: Any, label: str, formula: Any) -> None:
    rows = [row for row in ROWS if (row["side"], row["bucket"]) == ("input", "all")]
    for table in (ROWS, pd.read_csv(TABLE)):
        axes = draw(table, ax=Figure().add_subplot())
        (line,) = [line for line in axes.lines if line.get_label() == label]
        assert np.array_equal(line.get_ydata(), [formula(row) for row in rows])
        assert [axes.xaxis.get_major_formatter()(k) for k in (0, 1, 2, 60, 61)] == ["0", "0", "1", "final", ""]
        assert axes.get_ylabel()


def test_an_energy_that_rounding_explains_is_a_gap() -> None:
    rows = [{**row, "d_cos2": 1e-14} if row["site"] == "layers.3.input_layernorm" else row for row in ROWS]
    lines = lg.plot.energies(rows, ax=Figure().add_subplot()).lines
    (line,) = [line for line in lines if line.get_label() == "all-ones vector"]
    assert np.flatnonzero(np.isnan(line.get_ydata())).tolist() == [6]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lg.plot.steps(np.ones(4), eps=1.0), r"x has shape \(4,\)"),
        (lambda: lg.plot.steps(np.ones(3), eps=0.0), "the standardized vector holds a NaN"),
        (lambda: lg.plot.steps(X, eps=0.0, step="divide"), "step is 'divide': it is one of project, "),
        (lambda: lg.plot.steps(X, eps=0.0, ax=Figure().add_subplot()), 'ax is flat: .* projection="3d"'),
        (lambda: lg.plot.ellipsoid(np.array([1.0, 0.0, 0.0])), "the outputs have dimension 1"),
        (lambda: lg.plot.ellipsoid(np.ones(3), None, np.ones((2, 6))), r"outputs has shape \(2, 6\)"),
        (lambda: lg.plot.ellipsoid(np.ones(5), ax=space()), "ax is in space: for d = 5"),
        (lambda: lg.plot.angles([{"side": "input"}]), "table has no column angle_mean_deg, "),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Any, words: str) -> None:
    with pytest.raises(lg.errors.InputError, match=words):
        call()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match="pictures need Matplotlib; run: pip install matplotlib"):
        lg.plot.steps(X, eps=0.0)
