"""A killed sweep goes on, and ends with the bits of one that was left in peace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KILLS = 24


def test_killed_runs_resume_to_the_same_bits(model_directory: Path, token_file: Path, tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_and_resume.py")
    words = [sys.executable, str(script), str(model_directory), str(token_file), str(tmp_path), str(KILLS)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["code"] == 0
    assert report["kills"] >= KILLS
    assert report["runs"] >= 1
    assert report["moments"] > 8 * 3  # eight shards, each at least a draft, its permissions and its renaming
    assert report["different"] == []
