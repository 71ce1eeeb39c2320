import importlib

import numpy as np
import pictures
import pytest
from pictures import _fibers, _gauge

import lngeom as lg

draw = importlib.import_module("lngeom_library").draw

# Half a dozen operations on numbers below 4 stand between two ways to the same point of a picture.
ROUNDING = 64 * np.finfo(float).eps


@pytest.mark.parametrize("name", pictures.__all__)
def test_every_picture_can_be_drawn(name: str, tmp_path) -> None:
    picture = draw(name, tmp_path).read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    assert picture.count("<path") > 20
    if name == "axes":  # the same picture is the same file
        assert draw(name, tmp_path / "again").read_text(encoding="utf-8") == picture


def test_measured_pictures_show_their_tables() -> None:
    lines = [line for axes in pictures.gauge_angles().axes for line in axes.lines]
    rows = [row for name in _gauge.NETWORKS for row in _gauge.table(f"{name}-angles")]
    assert np.array_equal(np.concatenate([line.get_ydata() for line in lines]), [row["angle_mean_deg"] for row in rows])


def test_inputs_drawn_on_one_fiber_are_on_one_fiber() -> None:
    for direction in _fibers.DIRECTIONS:
        x = _fibers.half_plane(direction)
        # The projection keeps at least 0.3 · REACH of vectors no longer than 4: rounding grows by less than 8.
        assert np.abs(lg.layer_norm(x, eps=0.0) - np.sqrt(3.0) * direction).max() <= 8 * ROUNDING
    for foot in _fibers.FEET:
        x = _fibers.line(foot)
        output = lg.layer_norm(foot, eps=_fibers.EPS)
        # 1/√(σ² + ε) is below 1.6.
        assert np.abs(lg.layer_norm(x, eps=_fibers.EPS) - output).max() <= 8 * ROUNDING
        assert np.abs(lg.layer_norm(2.0 * x, eps=_fibers.EPS) - output).max() > 0.01
