"""Files that are either whole or absent, whenever the process dies."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from lngeom.errors import RunError

if TYPE_CHECKING:
    import filelock

_SEAL = "sha256"


def sync(path: Path) -> None:
    """Have the operating system write a file or the entries of a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Name the file in errors of writing it, of safetensors too."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    except SafetensorError as error:
        raise RunError(f"{path}: cannot be written ({error}); free space, then run the same command again") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a draft beside ``path``; on leaving it is on the disk and takes the place of ``path`` at once.

    If the block raises, ``path`` is left as it was and the draft is removed. A device or a pipe is written in place,
    and a link stays one: what it points to is replaced.
    """
    if path.exists() and not path.is_file():
        with _whole(path):
            yield path
        return
    path = path.resolve() if path.is_symlink() else path
    draft = path.with_name(f".{path.name}.draft")
    try:
        with _whole(path):
            yield draft
        sync(draft)
        # Some libraries write for the owner alone.
        os.umask(mask := os.umask(0))
        draft.chmod(0o666 & ~mask)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Hash of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Replace a file by ``text`` at once."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Replace a file by a JSON value at once."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """The JSON value of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


Json = dict[str, Any]
"""A JSON object: a manifest, a state, what a run says of itself."""


def _seal(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_sealed(path: Path, value: Json) -> None:
    """Replace a file by a JSON object that carries its own SHA-256."""
    write_json(path, {**value, _SEAL: _seal(json.loads(json.dumps(value)))})


def read_sealed(path: Path) -> Json:
    """The object that :func:`write_sealed` wrote.

    Raises:
        RunError: If the file is not such an object, or another one than was written.
    """
    try:
        value = read_json(path)
        if not isinstance(value, dict) or value.pop(_SEAL, None) != _seal(value):
            reason = "its SHA-256 is not the one it carries, or it is of another version"
        else:
            return value
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error)
    raise RunError(f"{path}: cannot be read ({reason}); remove the directory and run again")


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make `folder` by filling a draft beside it and renaming that; a folder that exists is left as it is."""
    if folder.exists():
        return
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        with _whole(folder):
            fill(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    for path in draft.rglob("*"):
        sync(path)
    draft.rename(folder)
    sync(folder.parent)


@contextmanager
def lock_beside(directory: Path) -> Iterator[None]:
    """Hold a directory by a file beside it, which goes with the hold, also where SIGTERM ends it."""
    with lock(directory, beside=True) as hold:
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)) if main else None
        try:
            yield
        finally:
            Path(hold.lock_file).unlink()
            if main:
                signal.signal(signal.SIGTERM, before)


def lock(directory: Path, *, beside: bool = False) -> filelock.BaseFileLock:
    """Hold a directory for this process, by a file in it or beside it; the hold ends with the process, however."""
    import filelock

    directory = directory.resolve()  # a path like "." has no name
    hold = filelock.FileLock(directory.with_name(f".{directory.name}.lock") if beside else directory / ".lock")
    Path(hold.lock_file).touch()  # where no file can be made the lock waits, as for another process
    try:
        hold.acquire(timeout=0)
    except filelock.Timeout:
        msg = f"{directory}: another process is writing this run; wait for it, or choose another directory"
        raise RunError(msg) from None
    return hold
