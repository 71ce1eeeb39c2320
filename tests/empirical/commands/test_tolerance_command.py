import json
from pathlib import Path

import numpy
import pytest
from scipy.special import ndtri

from lngeom import layer_norm
from lngeom.cli import main


def test_numbers_hold_for_a_correct_kernel_and_fail_a_wrong_one(tmp_path: Path) -> None:
    words = ["tolerance", "--d", "64", "1024", "--dtype", "float32", "bfloat16", "--ratio", "1", "100", "1e4"]
    for name, more in (("any", []), ("declared", ["--algorithm", "two-pass"])):
        assert main([*words, *more, "--json", str(tmp_path / name)]) == 0
    free, declared = (json.loads((tmp_path / name).read_text()) for name in ("any", "declared"))
    # At 1e4 the numbers of bfloat16 are 64 apart. Where float32 loses all digits (d = 1024), ε bounds the scale.
    missing = {(row["dtype"], row["d"]): row["note"] for row in free if row["error"] is None}
    none = "bfloat16 has no such row"
    assert missing == {("bfloat16", 64): none, ("bfloat16", 1024): none}
    for row, smaller in zip(free, declared, strict=True):
        assert row["error"] is None or smaller["error"] <= row["error"]
    for row in (row for row in declared if row["dtype"] == "float32"):
        normal = ndtri((numpy.arange(row["d"]) + 0.5) / row["d"])
        x = (normal / normal.std() + row["ratio"]).astype(numpy.float32)
        centred, right = x - x.mean(), layer_norm(x.astype(numpy.longdouble), eps=1e-5)
        scale = numpy.sqrt((centred * centred).mean() + numpy.float32(1e-5))
        assert abs(centred / scale - right).max() <= row["error"] < abs(x / scale - right).max()


def test_command_refuses_what_is_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tolerance", "--ratio", "-1"]) == 2
    assert "a finite ratio |μ|/σ >= 0" in capsys.readouterr().err
