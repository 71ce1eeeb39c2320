import io
import json
import os
import random
import re
import shutil
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from rich.console import Console

from lngeom.empirical.folding import fold
from lngeom.empirical.pages import panels, print_rows
from lngeom.empirical.pages.style import figure_bytes
from lngeom.empirical.runs import RunDirectory
from lngeom.empirical.support import ModelError, read_table, say, write_table
from lngeom.files import lock_beside
from tests.empirical.scene import Scene, short_files
from tests.support import refused, said

from ..conftest import rewritten, tiny_model


def _npy(head: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(16)


TEXTS: dict[str, tuple[str, bytes, str]] = {
    "ids above 2^63": (
        "a.npy", _npy(b"{'descr': '<u8', 'fortran_order': False, 'shape': (2,)}\n")[:-1] + b"\x80",
        "token id 9223372036854775808 is outside the model's vocabulary of 16; encode the text with",
    ),
    "no tokenizer": (
        "a.txt", b"some words " * 99, r"no tokenizer .* \(the one that transformers .* special tokens\); save",
    ),
}  # fmt: skip
"""A file, its content, what a sweep says of it."""


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_cannot_be_swept(name: str, scene: Scene, tmp_path) -> None:
    file, content, line = TEXTS[name]
    (tmp_path / file).write_bytes(content)
    refused(scene.said("sweep", tmp_path / "run", "--corpus", tmp_path / file, "--sequence-length", 2), line)


@pytest.mark.parametrize(
    ("stage", "options", "line"),
    [
        ("sweep", ["--directions", "1e9"], "1,000,000,000 random directions of dimension 8: use at most 16,777,216"),
        ("sweep", ["--corpus", "random", "--tokens", "1e18"], "--tokens 1,000,.*: take 2,000,000,000 GB and .*; lower"),
        ("sweep", ["--corpus", "/dev/zero"], "'/dev/zero': is a pipe or a device; give one file"),
        ("sweep", ["--corpus", "PIPE"], "pipe': is a pipe or a device; give one file"),
    ],
)
def test_options_that_cannot_be(stage: str, options: list[str], line: str, scene: Scene, tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    words = (tmp_path / "pipe" if word == "PIPE" else word for word in options)
    refused(scene.said(stage, tmp_path / "run", *words), line)


@pytest.mark.parametrize("output", ["loop", "dangling", "link", "", "a\0b", "/proc/x"])
@pytest.mark.parametrize("stage", ["fold", "sweep"])
def test_outputs_that_cannot_be(stage: str, output: str, scene: Scene, tmp_path) -> None:
    links = {"loop": "loop", "dangling": "nowhere/x", "link": "folder"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(tmp_path / target)
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    done, line = scene.said(stage, tmp_path / output if output in links else output)  # type: ignore[arg-type]
    if stage == "sweep" and output == "link":  # a run is written where it leads
        assert (done, (tmp_path / output / "DONE").is_file()) == ("done", True)
        return
    refused(
        (done, line), "is a link; c|exists already; c|is no name of a folder: give one|(File exists|No such file).*; c"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_more_parameters_than_memory_are_refused_before_any_is_made(scene: Scene, tmp_path) -> None:
    rewritten(model := Path(shutil.copytree(scene.model, tmp_path / "model")), n_layer=10**9)
    words = (model, "--corpus", scene.base / "ids.npy", "--random-weights", "--sequence-length", 8)
    refused(said("sweep", *words, "--output", tmp_path / "run"), "872,000,000,.* parameters, and memory here holds")


@pytest.mark.parametrize("started", [False, True])
def test_a_run_on_no_device_or_with_too_many_directions_is_left_as_it_is(started: bool, scene: Scene) -> None:
    with scene.copy("stopped" if started else "finished") as (run,):
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        refused(
            scene.said("sweep", run, "--device", "meta"),
            r"--device meta: cannot be used \(.*meta tensors\); use auto(, cpu)? or (cpu|cuda)",
        )
        refused(scene.said("sweep", run, "--directions", "1e9"), "directions is 2 there, 1000000000 here")
        assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _not_json(path: Path) -> None:
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header["__metadata__"] = dict.fromkeys(header["__metadata__"], "{")
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + raw[8 + size :])


@pytest.mark.parametrize(
    ("file", "change", "line"),
    [
        ("tokens.npy", _cut, "is damaged or gone; drawn again"),
        ("tokens.npy", lambda path: np.save(path, np.load(path) + 1), "is damaged or gone; drawn again"),
        ("shards/000002.safetensors", _not_json, "000002.damaged and measured again"),
        ("shards/000002.safetensors", _cut, "000002.damaged and measured again"),
        ("shards/000002.safetensors", lambda path: shutil.copy(path.with_name("000001.safetensors"), path),
         "holds other tokens than its number says; set aside as 000002.damaged and measured again"),
        ("shards/000002.safetensors", lambda path: shutil.copy(path, path.with_name("000099.safetensors")),
         "000099.safetensors: is beyond the last shard; set aside"),
    ],
)  # fmt: skip
def test_what_can_be_made_again_is(file: str, change: Any, line: str, scene: Scene) -> None:
    with scene.copy("stopped") as (run,):
        change(run / file)
        done, told = scene.said("sweep", run)
        assert scene.judged(done, run) == ""
        assert re.search(line, told), told
        assert done == "done"


@pytest.mark.parametrize("change", [_cut, _not_json])
def test_the_state_of_a_finished_run_is_read_before_it_is_shown(change: Any, scene: Scene) -> None:
    with scene.copy("finished") as (run,):
        change(run / "state.safetensors")
        refused(scene.said("sweep", run), r"state\.safetensors: .*; measure again in another directory")


@pytest.mark.parametrize("sealed", [True, False])
def test_a_flipped_bit_changes_no_result(sealed: bool, scene: Scene, tmp_path, monkeypatch) -> None:
    generator, wrong = random.Random(0), list[str]()
    if not sealed:
        monkeypatch.setattr("lngeom.empirical.observe.storage._digest", lambda *_: "")
        monkeypatch.setattr("lngeom.files._seal", lambda _: "")
        scene = Scene(tmp_path)
    for _ in range(25):
        with scene.copy("stopped") as (run,):
            files = sorted(path for path in run.rglob("*") if path.is_file() and not path.name.startswith("."))
            path = generator.choice(files)
            data = bytearray(path.read_bytes())
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
            path.write_bytes(data)
            wrong += filter(None, [scene.judged(scene.run("sweep", run), run)])
        if wrong:
            break
    assert bool(wrong) is not sealed, wrong


@pytest.mark.parametrize(
    ("size", "file"), [(100, "manifest.json: File too large"), (4000, "000000.safetensors: cannot be")]
)
def test_a_full_disk_is_told_and_the_same_command_goes_on(size: int, file: str, scene: Scene, tmp_path) -> None:
    with short_files(size):
        refused(scene.said("sweep", tmp_path / "run"), f"{file}.*; .*the same command")
    assert scene.judged(scene.run("sweep", tmp_path / "run"), tmp_path / "run") == ""


def test_a_finished_run_is_shown_from_a_disk_that_nobody_can_write_to(scene: Scene, monkeypatch) -> None:
    for name in ("claim", "amend", "finish"):
        monkeypatch.setattr(RunDirectory, name, lambda *_: pytest.fail("it is written to"))
    done, told = scene.said("sweep", scene.base / "finished")
    assert (done, "this run is done" in told) == ("done", True)


def test_names_reach_terminals_pictures_and_tables_without_their_commands(tmp_path) -> None:
    name, stream = "a\x1b[2J\x07\u202e", io.StringIO()
    say(Console(file=stream), name)
    print_rows([{"site": name}], Console(file=stream))
    ElementTree.fromstring(figure_bytes(panels([(name, 0)], lambda *_: None, (2, 2))))
    assert not {"\x1b", "\u202e"} & set(stream.getvalue())
    for cell in ("=cmd|' /C calc'!A0", "@x", "'a", "'='"):
        write_table(tmp_path / "a.csv", [{"site": cell}])
        assert (tmp_path / "a.csv").read_text().splitlines()[1].strip('"')[0] == "'"
        assert read_table(tmp_path / "a.csv") == [{"site": cell}]


def test_weights_without_numbers_are_refused() -> None:
    with torch.device("meta"):
        network = tiny_model("gpt2")
    with pytest.raises(ModelError, match="device meta, without numbers; load them first"):
        fold(network)


def test_a_pipe_or_a_link_is_written_and_stays_one(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR)
    write_table(tmp_path / "pipe", [{"site": 1}])
    assert (tmp_path / "pipe").is_fifo()
    assert os.read(reader, 99) == b"site\n1\n"
    (tmp_path / "link").symlink_to(tmp_path / "table")
    write_table(tmp_path / "link", [{"site": 1}])
    assert (tmp_path / "link").readlink() == tmp_path / "table"
    assert (tmp_path / "table").read_bytes() == b"site\n1\n"


def test_a_process_that_is_told_to_end_leaves_no_lock(tmp_path) -> None:
    with pytest.raises(SystemExit, match="143"), lock_beside(tmp_path / "fold"):
        os.kill(os.getpid(), signal.SIGTERM)
    assert [*tmp_path.iterdir()] == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_name_that_is_no_text_is_refused() -> None:
    done, line = said("sweep", "model", "--output=bad\udcff")
    assert done == "refused"
    assert line.startswith(r"lngeom: '--output=bad\udcff' has bytes that are no UTF-8")
