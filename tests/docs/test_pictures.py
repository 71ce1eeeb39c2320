import importlib

import numpy as np
import pictures
import pytest
from pictures import _gauge

draw = importlib.import_module("lngeom_library").draw


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
