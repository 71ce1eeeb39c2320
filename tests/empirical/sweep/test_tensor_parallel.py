"""One copy of a model shared by several processes: the numbers of one process, each token counted once."""

from pathlib import Path

import pytest

from empirical.observe import read_sites
from lngeom.cli import main

from ..conftest import Refused, Words, tiny_model
from ..runs.test_ranks import OPTIONS, command, together

COLUMNS = ("angle_mean_deg", "d_cos2", "norm_mean", "norm_max")


def apart(first: Path, second: Path) -> float:
    """The largest difference of the tables of two runs; what is counted must be equal."""
    pairs = list(zip(*(read_sites(path / "sites.csv") for path in (first, second)), strict=True))
    assert all(a[name] == b[name] for a, b in pairs for name in ("site", "bucket", "tokens", "sequences"))
    return max(abs(a[name] - b[name]) for a, b in pairs for name in COLUMNS)


@pytest.mark.usefixtures("without_pages")
def test_teams_of_processes_measure_what_one_process_does(tmp_path: Path) -> None:
    tiny_model("llama").save_pretrained(tmp_path / "model")
    words = ["sweep", str(tmp_path / "model"), "--corpus", "random", *OPTIONS]
    for name in ("float32", "float64"):
        assert main([*words, "--dtype", name, "--output", str(tmp_path / name), "--quiet"]) == 0
    # Float32 and float64 differ by the roundings of the one; the same sums in another order differ by those of float64,
    # 2⁻²⁹ as large each. The factor of 2⁶ is there because single roundings may happen to be small.
    allowed = apart(tmp_path / "float32", tmp_path / "float64") * 2.0**-29 * 2**6
    assert allowed > 0
    team = ["--tensor-parallel", "2", "--dtype", "float64", "--output", str(tmp_path / "teams")]
    together(4, command, [*words, *team])
    assert apart(tmp_path / "float64", tmp_path / "teams") <= allowed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tensor-parallel", "2"], "--tensor-parallel 2: 1 processes are not a whole number of teams"),
        (["--tensor-parallel", "2", "--random-weights"], "--tensor-parallel: takes weights from files"),
    ],
)
def test_what_cannot_be_shared_is_told(more: list[str], message: str, words: Words, refused: Refused) -> None:
    assert message in refused(*words("run", *more, corpus="random"))
