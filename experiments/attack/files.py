"""Attacks on files: damage, kills, full disks and memory, other processes, and the same command again."""

import errno
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from safetensors.torch import load_file, save_file

from experiments.training.text import train_tokenizer
from lngeom.empirical.models import find_model, load_model, load_tokenizer
from lngeom.empirical.text import TokenPolicy, encoded

from .scene import (
    STAGES,
    Scene,
    area,
    damage,
    hindered,
    in_child,
    in_children,
    read_only,
    refused_or,
    said,
    short_files,
)
from .texts import SOUND, SUFFIXES, onnx_norm, read_corpus, read_line, write_line


def _damage_one(folders: list[Path], generator: random.Random) -> str:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    kept = (path for path in files if not path.name.startswith(".") and path.suffix not in (".svg", ".html"))
    return damage(generator.choice(sorted(kept)), generator)


@area("a stopped sweep, a file damaged")
def stopped_sweep(scene: Scene, generator: random.Random) -> str:
    """A sweep that was stopped, one of its files damaged, and resumed."""
    with scene.copy("stopped") as (run,):
        what = _damage_one([run], generator)
        return scene.judged("sweep", scene.run("sweep", run), run, what)


@area("a finished sweep, a file damaged")
def finished_sweep(scene: Scene, generator: random.Random) -> str:
    """A finished sweep, one of its files damaged, and compared with another."""
    with scene.copy("finished") as (run,):
        what, tables = _damage_one([run], generator), [run.parent / name for name in ("sound.csv", "damaged.csv")]
        sides = zip((scene.base / "finished", run), tables, strict=True)
        sound, done = [said("compare", side, scene.base / "beside", "--csv", table)[0] for side, table in sides]
        right = done == "refused" or (sound == done == "done" and len({table.read_bytes() for table in tables}) == 1)
        return "" if right else f"{what}: {done}"


@area("a model, a file damaged")
def model_files(scene: Scene, generator: random.Random) -> str:
    """A model directory, one of its files damaged: refused, or loaded; its fingerprint says what was."""
    with scene.copy("model") as (model,):
        what = damage(generator.choice([model / "config.json", model / "model.safetensors"]), generator)
        return refused_or(what, lambda: load_model(find_model(str(model)), device="cpu"))


@area("a run gone on with, something changed", 0.3)
def other_things(scene: Scene, generator: random.Random) -> str:
    """A sweep, stopped or finished, with other weights, another text or other options: refused; else as it was."""
    which, what = generator.choice(["stopped", "finished"]), generator.choice(["weights", "text", "options", "nothing"])
    with scene.copy(which, "model") as (run, model):
        ids, more, path = scene.ids.copy(), [], model / "model.safetensors"
        if what == "weights":
            weights = load_file(path)
            changed = weights[generator.choice(sorted(weights))].view(-1)
            changed[generator.randrange(len(changed))] += 1
            save_file(weights, path, {"format": "pt"})
        elif what == "text":
            ids[generator.randrange(len(ids))] ^= 1
        elif what == "options":
            more = generator.choice(["--seed 1", "--directions 3", "--dtype float64", "--sequence-length 8"]).split()
        elif which == "stopped" and generator.random() < 0.5:
            (run / "tokens.npy").unlink()
        np.save(run.parent / "ids.npy", ids)
        told, _ = scene.said("sweep", run, *more, reads=(model, "--corpus", run.parent / "ids.npy"))
        if what == "nothing":
            return scene.judged("sweep", told, run, which) or ("" if told == "done" else f"{which}: {told}")
        return "" if told == "refused" else f"{which}, other {what} {more}: {told}"


@area("a fold, a file damaged", 0.3)
def folds(scene: Scene, generator: random.Random) -> str:
    """A checkpoint with its certificate, one of its files damaged, and verified: never verified where it is wrong."""
    with scene.copy("fold") as (folder,):
        what = _damage_one([folder], generator)
        told, _ = said("fold", "--verify", folder)
        passed = told == "done" and "config.json" not in what  # which has words that no result depends on
    return f"{what}: {told}" if passed or not told.startswith(("done", "refused", "exit code 1: []")) else ""


@area("ONNX files, passages and tokenizers, damaged")
def files_of_others(scene: Scene, generator: random.Random) -> str:
    """A file that another program wrote, damaged: read, refused in one line, or failed by its verdict."""
    kind, folder = generator.choice(["onnx", "npz", "json"]), scene.base / "cases"
    folder.mkdir(exist_ok=True)
    path = folder / ("tokenizer.json" if kind == "json" else f"a.{kind}")
    if kind == "onnx":
        path.write_bytes(onnx_norm())
    elif kind == "npz":
        np.savez(path, labels=np.arange(5), input_ids=np.arange(5))
    else:
        train_tokenizer(["a few words"], 258).save_pretrained(folder)
    what = damage(path, generator)
    words = {"onnx": ("check", path), "npz": ("ablate", scene.model, "--corpus", folder, "--output", "out")}

    def tokenized() -> None:
        tokenizer = load_tokenizer(find_model(str(folder)))
        list(encoded(["a few words"], tokenizer, TokenPolicy.of(tokenizer)))

    told = in_child(lambda: refused_or(what, tokenized) if kind == "json" else said(*words[kind])[0])
    return "" if told in ("", "done", "refused") or told.startswith("exit code 1: []") else f"{what}: {told}"


@area("corpora of random bytes, and damaged")
def corpora(scene: Scene, generator: random.Random) -> str:
    """A file of random bytes, or a sound one damaged, under each suffix that is known."""
    suffix, sound = generator.choice(list(SOUND)), generator.random() < 0.7
    path = scene.base / f"attacked{suffix}"
    path.write_bytes(SOUND[suffix] if sound else generator.randbytes(generator.randrange(200)))
    what = damage(path, generator) if sound else f"random bytes as {suffix}"
    return refused_or(f"{what}: {path.read_bytes()[:80]!r}", lambda: read_corpus(path))


@area("texts on one line", 0.001)
def long_lines(scene: Scene, generator: random.Random) -> str:
    """A text on one line, in each form: read as it was written, in less than 1.5 GB."""
    for suffix in SUFFIXES:
        path = scene.base / f"line{suffix}"
        written = write_line(path, scene.longest, generator)
        read, *peak = in_child(lambda path=path: read_line(path), seconds=3600).split(" ")
        path.unlink()
        if read != written or float(*peak) > 1500:
            return f"{scene.longest} bytes of {suffix}: {read}, not {written}, {peak} MB"
    return ""


@contextmanager
def _begun(scene: Scene, stage: str) -> Iterator[Path]:
    """A directory for a stage to write to."""
    with tempfile.TemporaryDirectory(dir=scene.base) as folder:
        if STAGES[stage].within:
            with scene.copy(STAGES[stage].within) as (run,):
                yield run
        else:
            yield Path(folder, "out")


def _resumed(scene: Scene, stage: str, first: str, output: Path, what: str) -> str:
    """The faults of a first start that was hindered, and of the same command again."""
    if first not in ("done", "refused", "killed"):
        return f"{stage} {what}: {first}"
    again = scene.run(stage, output)
    if again == "refused" and stage == "fold":  # which takes a new directory only: the first start was done
        again = "done" if output.exists() else again
    wrong = scene.judged(stage, again, output, f"{what}, then again")
    return wrong or (f"{stage} {what}, then again: refused" if again == "refused" else "")


@area("kill -9, then again")
def kills(scene: Scene, generator: random.Random) -> str:
    """kill -9 at a random moment, twice, and the same command again."""
    stage, moments = generator.choice(list(STAGES)), [generator.randrange(1, 40) for _ in range(2)]

    def dying(moment: int, output: Path) -> str:
        with hindered(output.parent, moment, 0):
            return scene.run(stage, output)

    with _begun(scene, stage) as output:
        ended = [in_child(lambda moment=moment: dying(moment, output)) for moment in moments][-1]
        # A second start of what takes a new directory only is refused if the first came to its end before its moment.
        return _resumed(scene, stage, "killed" if ended == "refused" else ended, output, f"{moments}")


@area("two processes on one directory", 0.3)
def two_at_once(scene: Scene, generator: random.Random) -> str:
    """The same command twice at the same time, the other a moment later: one does it, and the result is right."""
    stage, later = generator.choice(list(STAGES)), generator.choice([0, 0.05, 0.2, 0.5])

    def second() -> str:
        time.sleep(later)
        return scene.run(stage, output)

    with _begun(scene, stage) as output:
        told = in_children([lambda: scene.run(stage, output), second])
        right = "done" in told and set(told) <= {"done", "refused"}
        return scene.judged(stage, "done", output, f"{told}") if right else f"{stage}, {later} s later: {told}"


@area("disk full, then again", 0.3)
def full_disk(scene: Scene, generator: random.Random) -> str:
    """A disk without space for a file, or with space for its first bytes only, and then space again."""
    stage, moment, short = generator.choice(list(STAGES)), generator.randrange(1, 40), generator.random() < 0.5
    size, until = int(2 ** generator.uniform(4, 15)), moment + generator.choice([1, 10**9])
    with _begun(scene, stage) as output:
        with short_files(size) if short else hindered(output.parent, moment, errno.ENOSPC, until):
            first = scene.run(stage, output)
        return _resumed(scene, stage, first, output, f"{size} bytes a file" if short else f"full at change {moment}")


@area("disk read-only, then again", 0.3)
def read_only_disk(scene: Scene, generator: random.Random) -> str:
    """A disk that becomes read-only; a finished run is shown from one."""
    stage, moment = generator.choice([*STAGES, "shown"]), generator.randrange(1, 40)
    if stage == "shown":
        with scene.copy("finished") as (run,), read_only(run):
            shown, _ = said("sweep", scene.model, "--corpus", scene.base / "ids.npy", "--output", run)
            return "" if scene.run("sweep", run) == "done" and shown == "refused" else f"not shown: {shown}"
    with _begun(scene, stage) as output:
        with hindered(output.parent, moment, errno.EROFS):
            first = scene.run(stage, output)
        return _resumed(scene, stage, first, output, f"read-only from change {moment}")


@area("memory full, then again", 0.3)
def full_memory(scene: Scene, generator: random.Random) -> str:
    """A process that gets so many more bytes of memory and no more, and then memory again."""
    stage, more = generator.choice(list(STAGES)), int(2 ** generator.uniform(12, 27))

    def starved() -> str:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return scene.run(stage, output)

    with _begun(scene, stage) as output:
        return _resumed(scene, stage, in_child(starved), output, f"{more} bytes of memory")
