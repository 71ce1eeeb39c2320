import json
import subprocess
import sys

import pytest

from lngeom.empirical.runs import RunDirectory, first_difference
from lngeom.files import lock, replacing, write_json

from ..conftest import message

MEASURED = {"model": "m", "dtype": "float32", "seed": 0}


def test_a_failed_write_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})

    def fail() -> None:
        with replacing(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert json.loads(path.read_text()) == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_have_the_usual_permissions(tmp_path) -> None:
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "written") as draft:
        draft.touch(mode=0o600)
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_status_follows_what_is_there(tmp_path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.claim().release()
    assert run.begin(MEASURED, {"command": "lngeom sweep"}) == "new"
    assert run.begin(MEASURED, {}) == "started"
    run.shard_path(3).touch()
    run.shard_path(0).touch()
    (run.path / "shards" / ".000001.safetensors.draft").touch()
    assert run.finished_shards() == [0, 3]
    run.finish()
    assert run.begin(MEASURED, {}) == "done"
    assert run.finished_shards() == []
    assert run.manifest()["command"] == "lngeom sweep"


def test_a_finished_run_that_is_damaged_is_not_done(tmp_path) -> None:
    run = RunDirectory(tmp_path)
    run.begin(MEASURED, {})
    for name in ("sites.csv", "predictions.csv"):
        (tmp_path / name).write_text("a\n")
    run.finish()
    assert run.begin(MEASURED, {}) == "done"
    damaged = f"{tmp_path / 'sites.csv'}: is damaged or gone (another SHA-256 is recorded); measure again in "
    damaged += "another directory"
    (tmp_path / "sites.csv").unlink()
    assert message(lambda: run.begin(MEASURED, {})) == damaged
    (tmp_path / "sites.csv").write_text("b\n")
    assert message(lambda: run.begin(MEASURED, {})) == damaged
    run.finish()
    (tmp_path / "DONE").write_text("".join((tmp_path / "DONE").read_text().splitlines(keepends=True)[:1]))
    assert message(run.finished_manifest) == damaged.replace("sites", "predictions")


def test_another_run_is_refused(tmp_path) -> None:
    run = RunDirectory(tmp_path)
    run.begin({**MEASURED, "dtype": "float16"}, {})
    assert run.begin(MEASURED, {}) == "new"  # the first came to nothing
    run.tokens_path.touch()
    other = {**MEASURED, "seed": 1}
    assert message(lambda: run.begin(other, {})) == (
        f"{tmp_path}: holds another run (seed is 0 there, 1 here); choose another --output"
    )
    assert first_difference(MEASURED, {**MEASURED, "more": 1}) == ("more", None, 1)
    assert first_difference(MEASURED, dict(MEASURED)) is None


def test_strange_directories_are_refused(tmp_path) -> None:
    (tmp_path / "thesis.tex").touch()
    assert message(RunDirectory(tmp_path).claim) == (
        f"{tmp_path}: is not empty and holds no run (seen: thesis.tex); choose another --output"
    )
    assert message(RunDirectory(tmp_path).manifest) == (
        f"{tmp_path}: holds no manifest.json, so it is not a run; give the output directory of a sweep"
    )


HOLD = """
import signal, sys
from pathlib import Path
from lngeom.files import lock
hold = lock(Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""


def test_two_processes_cannot_write_one_run(tmp_path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "held\n"
        assert message(lambda: lock(tmp_path)) == (
            f"{tmp_path}: another process is writing this run; wait for it, or choose another directory"
        )
        holder.kill()
    lock(tmp_path).release()  # a killed process holds nothing
