"""The quick form of the attack; ``make attack`` is the whole."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.attack.__main__ import AREAS
from experiments.attack.files import stopped_sweep
from experiments.attack.scene import Scene
from experiments.attack.texts import write_line
from lngeom.empirical.support import read_table

FORMS, SIZES = (".txt.gz", "lines.txt"), (1_500_000, 4_500_000)
PROGRAM = """
import sys
from pathlib import Path
from experiments.attack.__main__ import main
from experiments.attack.scene import in_child
from experiments.attack.texts import read_line
from lngeom.empirical.text import _packing, _plain
table, *texts = sys.argv[1:]
whole = _packing._CHARACTERS_AT_ONCE, _plain._PIECE
_packing._CHARACTERS_AT_ONCE = _plain._PIECE = 1 << 17  # what is tokenized at once takes time, whatever the length
for name in texts:
    print(in_child(lambda: read_line(Path(name))))
_packing._CHARACTERS_AT_ONCE, _plain._PIECE = whole
sys.argv[1:] = ["--times", "1", "--csv", table]
sys.exit(main())
"""


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """What reading texts of two sizes took, and the table of an attack.

    By one process: attacks limit memory and fork, which one that runs tests on threads must not.
    """
    folder = tmp_path_factory.mktemp("attacked")
    paths = [folder / f"{size}{form}" for form in FORMS for size in SIZES]
    for path, size in zip(paths, SIZES * len(FORMS), strict=True):
        if "lines" in path.name:
            path.write_text("a few words on a line\n" * (size // 22))
        else:
            write_line(path, size, random.Random(0))
    # A threshold that the allocator does not move by itself: else the peaks of processes that do the same differ.
    settled = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
    words = [sys.executable, "-c", PROGRAM, folder / "table.csv", *paths]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=settled)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines(), folder / "table.csv"


def test_nothing_wrong_passes(attacked: tuple[list[str], Path]) -> None:
    table = read_table(attacked[1])
    assert {row["area"] for row in table} == set(AREAS)
    assert all(row["right"] == row["tried"] >= 1 for row in table)


def test_an_attack_that_goes_unnoticed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lngeom.empirical.observe.storage._digest", lambda *_: "")
    monkeypatch.setattr("lngeom.files._seal", lambda _: "")
    scene, generator = Scene(tmp_path, more=()), random.Random(0)
    assert any(stopped_sweep(scene, generator) for _ in range(25))


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux lets a process forget its peak")
def test_the_memory_that_a_text_takes_does_not_grow_with_its_length(attacked: tuple[list[str], Path]) -> None:
    peaks = [float(line.split()[1]) for line in attacked[0][: len(FORMS) * len(SIZES)]]
    for few, many in zip(peaks[::2], peaks[1::2], strict=True):
        # Bytes or characters of the whole would take so much more at least.
        assert many - few < (SIZES[1] - SIZES[0]) / 1e6
        assert many < 1500
