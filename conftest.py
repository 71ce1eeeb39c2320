"""Settings of every test run: Hypothesis profiles, and no network."""

import fcntl
import gc
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

if TYPE_CHECKING:
    from lngeom.proofs._coqc import Library

# Model hubs are never needed: what is tested runs on local files.
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def own_folder(name: str) -> Path:
    """A folder that is kept between runs, under a name that others can guess: it is this user's, or nothing is run."""
    folder = Path(tempfile.gettempdir(), f"lngeom-{name}-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022:
        raise pytest.UsageError(f"{folder}: others can write to it; remove it")
    return folder


# Hypothesis would read all files of the project for numbers to draw, and draw others after another import.
providers._get_local_constants = Constants  # pyright: ignore[reportPrivateUsage]

# What Hypothesis keeps about failures is no part of the tree.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(own_folder("hypothesis")))

# No clock decides: a busy machine draws as it will.
settings.register_profile("dev", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_finish() -> None:
    """What was imported stays: a search for garbage, with which models are loaded and trained, need not visit it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> "Callable[[Library], Path]":
    """A folder with a library of Coq, which is compiled once for its content; a skip where there is no Coq."""
    from lngeom.errors import InputError

    def folder_of(library: "Library") -> Path:
        folder, store = tmp_path_factory.mktemp(library.name), own_folder("coq")
        try:
            content = f"{library.run(folder, 'coqc', '-print-version')} {sorted(library.hashes().items())}"
            kept = store / hashlib.sha256(content.encode()).hexdigest()
            with (store / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not kept.exists():
                    library.build(folder)
                    shutil.copytree(folder, f"{kept}.{os.getpid()}")
                    Path(f"{kept}.{os.getpid()}").rename(kept)
        except InputError as error:
            pytest.skip(f"{error}")
        return shutil.copytree(kept, folder, dirs_exist_ok=True)

    return folder_of
