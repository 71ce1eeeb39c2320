"""The pictures: each can be drawn, is the same every time, and shows what the library computes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3D

import lngeom as lg
from empirical.illustrations import FIGURES, _axes, _outputs, _steps, draw, save
from empirical.illustrations._space import ONE, around, turned
from lngeom.cli import main
from lngeom.symbolic import dot

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
    return any(
        line.shape == expected.shape and np.abs(line - expected).max() <= ROUNDING for line in lines(figure)
    )


@pytest.mark.parametrize("name", FIGURES)
def test_every_picture_can_be_saved(name: str, tmp_path: Path) -> None:
    picture = save(name, tmp_path).read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    assert picture.count("<path") > 20


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    first, second = (save("critical-points", tmp_path / run).read_bytes() for run in ("first", "second"))
    assert first == second


def test_the_uniform_vector_points_up_and_lengths_are_kept() -> None:
    assert np.abs(turned(np.eye(3)) @ turned(np.eye(3)).T - np.eye(3)).max() <= ROUNDING
    assert np.abs(turned(ONE) - [0.0, 0.0, np.sqrt(3.0)]).max() <= ROUNDING
    assert np.abs(turned(around())[:, 2]).max() <= ROUNDING


def test_axes_are_the_principal_axes_and_end_on_the_ellipse() -> None:
    figure = draw("axes")
    for values, _ in _axes.GAINS:
        gain = np.array(values)
        found = lg.principal_axes(gain)
        for length, direction in zip(found.semi_axes, found.directions.T, strict=True):
            end = length * direction
            assert shows(figure, np.stack([-end, end]))
            if np.count_nonzero(gain) > 1:
                ellipsoid = lg.Ellipsoid(gain)
                assert abs(float(ellipsoid.gauge(end)) - 1.0) <= ROUNDING
        assert shows(figure, lg.layer_norm(around(), gain, eps=0.0))


def test_steps_end_at_the_output_of_the_layer() -> None:
    figure = draw("steps")
    ellipse = lg.layer_norm(around(), _steps.GAIN, _steps.BIAS, eps=0.0)
    assert shows(figure, ellipse)
    assert shows(figure, lg.standardize(around(), eps=0.0))
    assert bool(np.all(lg.Ellipsoid(_steps.GAIN, _steps.BIAS).contains(ellipse)))


def test_points_of_the_sweep_lie_where_the_gauge_says() -> None:
    figure = draw("eps")
    panels = [axes for axes in figure.axes if axes.get_xscale() == "log"]
    assert len(panels) == len(_outputs.EPSILONS)
    for axes, eps in zip(panels, _outputs.EPSILONS, strict=True):
        deviation, gauge = np.asarray(axes.collections[0].get_offsets()).T
        assert np.abs(gauge - np.sqrt(deviation**2 / (deviation**2 + eps))).max() <= ROUNDING
        curve = axes.get_lines()[0]
        sigma, r = np.asarray(curve.get_xdata(), float), np.asarray(curve.get_ydata(), float)
        assert np.abs(r - np.sqrt(sigma**2 / (sigma**2 + eps))).max() <= ROUNDING


def test_the_right_test_of_the_outputs_holds_and_the_wrong_one_fails() -> None:
    z = lg.layer_norm(_outputs._inputs(50, seed=1), _outputs.GAIN, _outputs.BIAS, eps=1e-3)
    assert np.abs(dot(z - _outputs.BIAS, 1 / _outputs.GAIN)).max() <= ROUNDING
    assert np.abs(lg.moments(z)[0]).min() > 1e-3


def test_critical_points_are_where_the_derivative_vanishes() -> None:
    top = draw("critical-points").axes[0]
    marked = {str(line.get_label()): np.asarray(line.get_xdata(), float) for line in top.get_lines()}
    squares = marked["$g_i^2$, the squared gains"]
    roots = marked["squared semi-axes $/\\,d$"]
    expected = np.sort(np.roots(np.polyder(np.poly(squares))).real)
    # The companion matrix of degree 4 has entries up to 60.
    assert np.abs(np.sort(roots) - expected).max() <= 60 * ROUNDING


def test_command_lists_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figure", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in FIGURES)
    assert main(["figure", "critical-points", "--out", str(tmp_path), "--format", "png"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "critical-points.png")
    assert (tmp_path / "critical-points.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["figure"], "no figure is named"),
        (["figure", "nothing"], "'nothing' is no figure: choose one of steps"),
        (["figure", "critical-points", "--out", "/dev/null/x"], "choose another directory with --out"),
    ],
)
def test_command_refuses(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert error in capsys.readouterr().err


def test_pictures_need_no_torch() -> None:
    code = "import empirical.commands.figure, sys; print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
