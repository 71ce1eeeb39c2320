"""The quick form of the attack; ``make attack`` is the whole."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from empirical.support import read_table
from experiments.attack.__main__ import AREAS
from experiments.attack.files import stopped_sweep
from experiments.attack.scene import Scene
from experiments.attack.texts import write_line


def child(*words: str) -> str:
    """The output of a Python process: attacks limit memory and fork, which one that runs tests on threads must not."""
    # A threshold that the allocator does not move by itself: else the peaks of processes that do the same differ.
    settled = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=settled)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nothing_wrong_passes(tmp_path: Path) -> None:
    child("-m", "experiments.attack", "--times", "1", "--csv", str(tmp_path / "table.csv"))
    table = read_table(tmp_path / "table.csv")
    assert {row["area"] for row in table} == set(AREAS)
    assert all(row["right"] == row["tried"] >= 1 for row in table)


def test_an_attack_that_goes_unnoticed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("empirical.observe._storage._digest", lambda *_: "")
    monkeypatch.setattr("empirical.support._files._seal", lambda _: "")
    scene, generator = Scene(tmp_path, whole=False), random.Random(0)
    assert any(stopped_sweep(scene, generator) for _ in range(25))


READ = """
import sys
from pathlib import Path
from experiments.attack.scene import in_child
from experiments.attack.texts import read_line
from empirical.text import _packing, _plain
_packing._CHARACTERS_AT_ONCE = _plain._PIECE = 1 << 17  # what is tokenized at once takes time, whatever the length
for name in sys.argv[1:]:
    print(in_child(lambda: read_line(Path(name))))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux lets a process forget its peak")
def test_the_memory_that_a_text_takes_does_not_grow_with_its_length(tmp_path: Path) -> None:
    forms, sizes = (".txt.gz", "lines.txt"), (17_000_000, 26_000_000)
    paths = [tmp_path / f"{size}{form}" for form in forms for size in sizes]
    for path, size in zip(paths, sizes * len(forms), strict=True):
        if "lines" in path.name:
            path.write_text("a few words on a line\n" * (size // 22))
        else:
            write_line(path, size, random.Random(0))
    peaks = [float(line.split()[1]) for line in child("-c", READ, *map(str, paths)).splitlines()]
    for few, many in zip(peaks[::2], peaks[1::2], strict=True):
        # Bytes or characters of the whole would take so much more at least.
        assert many - few < (sizes[1] - sizes[0]) / 1e6
        assert many < 1500
