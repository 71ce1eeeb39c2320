"""The directory of a run: identity, seal, resume and finish; whole at every moment."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from lngeom.errors import RunError
from lngeom.files import Json, lock, read_sealed, replacing, sha256_of, write_sealed, write_text

if TYPE_CHECKING:
    import filelock

Status = Literal["new", "started", "done"]

_RESULTS = ("sites.csv", "predictions.csv", "sequences.csv")
MEASURE_AGAIN = "measure again in another directory"
_SHARD = re.compile(r"(\d{6})\.\w+")


class RunDirectory:
    """A directory that holds one run: of a sweep, of an ablation.

    A run is identified by all that its numbers depend on. It is begun, continued or shown by the same few steps::

        run = RunDirectory(path)
        with run.claim():                           # made, writable, without strangers, and ours until the process ends
            if run.begin(identity, about) == "done":        # refuses the directory of another run
                return run
            ...                                     # files by `replacing`, finished parts as shards
            run.amend(**run.hashes("tokens.npy"))   # seals a file: run.is_sealed("tokens.npy") tells whether it changed
            run.finish()                            # DONE, with the hashes of the results

    The manifest carries its own SHA-256. ``shards/`` holds finished parts until all are there; ``DONE`` comes last. Of
    a sweep ``tokens.npy`` has the token ids, one sequence a row, ``sequences.csv`` where they are from,
    ``state.safetensors`` the merged statistics.

    Args:
        path: The directory.
        manifest: Name of the manifest.
        results: The files whose hashes ``DONE`` has, in the order and form of ``sha256sum``.
    """

    def __init__(self, path: Path, *, results: Sequence[str] = _RESULTS) -> None:
        self.path, self.manifest_path, self._results = path, path / "manifest.json", results
        self.tokens_path, self.sequences_path = path / "tokens.npy", path / "sequences.csv"
        self.state_path, self.predictions_path = path / "state.safetensors", path / "predictions.csv"

    @property
    def is_done(self) -> bool:
        """Whether everything has been written."""
        return (self.path / "DONE").is_file()

    def claim(self) -> filelock.BaseFileLock:
        """Make the directory, make sure that it can be written and holds nothing else, and hold it for this process."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            strangers = [path.name for path in self.path.iterdir() if not path.name.startswith(".")]
            if strangers and not self.manifest_path.exists():
                msg = f"{self.path}: is not empty and holds no run (seen: {min(strangers)}); choose another --output"
                raise RunError(msg)
            # hidden, so that one left behind by a process that died here is not a stranger to the next
            with replacing(self.path / ".writable") as draft:
                draft.touch()
            (self.path / ".writable").unlink()
        except OSError as error:
            msg = f"{self.path}: cannot be written ({error.strerror or error}); choose another --output"
            raise RunError(msg) from None
        return lock(self.path)

    def begin(self, identity: Json, about: Json) -> Status:
        """Write the manifest, or check that the one that is there has the same identity.

        The run of another identity is replaced if it left nothing but its manifest: it met an error at once.
        """
        status: Status = "new"
        if self.manifest_path.exists():
            difference = first_difference(json.loads(json.dumps(identity)), identity_of(self.manifest()))
            if difference is None:
                status = "done" if self.is_done and self.finished_manifest() else "started"
            elif any(f.is_file() and f.name[0] != "." and f != self.manifest_path for f in self.path.rglob("*")):
                name, mine, theirs = difference
                msg = f"{self.path}: holds another run ({name} is {theirs!r} there, {mine!r} here)"
                raise RunError(f"{msg}; choose another --output")
        if status == "new":
            write_sealed(self.manifest_path, {**identity, **about, "identity": list(identity)})
        if status != "done":
            (self.path / "shards").mkdir(exist_ok=True)
        return status

    def manifest(self) -> Json:
        """Read the manifest."""
        try:
            return read_sealed(self.manifest_path)
        except FileNotFoundError:
            name = self.manifest_path.name
            msg = f"{self.path}: holds no {name}, so it is not a run; give the output directory of a sweep"
            raise RunError(msg) from None

    def amend(self, **entries) -> None:
        """Add entries to the manifest."""
        write_sealed(self.manifest_path, {**self.manifest(), **entries})

    def hashes(self, *names: str) -> dict[str, str]:
        """The hashes of files as entries of the manifest: ``tokens_sha256`` for ``tokens.npy``."""
        return {f"{Path(name).stem}_sha256": sha256_of(self.path / name) for name in names}

    def is_sealed(self, *names: str) -> bool:
        """Whether files are there and have the hashes that the manifest says."""
        if not all((self.path / name).is_file() for name in names):
            return False
        return self.hashes(*names).items() <= self.manifest().items()

    def shard_path(self, index: int, suffix: str = ".safetensors") -> Path:
        """A finished part."""
        return self.path / "shards" / f"{index:06}{suffix}"

    def measured_sha256(self) -> str:
        """Hash of all that determines a shard but its inputs: the identity of the run, and its weights."""
        manifest = self.manifest()
        value = [identity_of(manifest), manifest.get("weights_sha256")]
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()

    def finished_shards(self) -> list[int]:
        """Indices of the parts that are there."""
        matches = (_SHARD.fullmatch(path.name) for path in (self.path / "shards").glob("*.safetensors"))
        return sorted(int(match.group(1)) for match in matches if match)

    def write_tokens(self, tokens: np.ndarray) -> None:
        """Store the token ids."""
        with replacing(self.tokens_path) as draft, draft.open("wb") as stream:
            np.save(stream, tokens, allow_pickle=False)

    def tokens(self) -> np.ndarray:
        """The token ids, mapped from disk."""
        return np.load(self.tokens_path, mmap_mode="r", allow_pickle=False)

    def finish(self) -> None:
        """Mark the run as done, with the hashes of its results, and remove the shards."""
        lines = [f"{sha256_of(self.path / name)}  {name}\n" for name in self._written()]
        write_text(self.path / "DONE", "".join(lines))
        shutil.rmtree(self.path / "shards", ignore_errors=True)

    def _written(self) -> list[str]:
        return [name for name in self._results if (self.path / name).exists()]

    def finished_manifest(self) -> Json:
        """Read the manifest of a run that is done, after checking the hashes of results and token ids."""
        manifest = self.manifest()
        if not self.is_done:
            command = manifest.get("command", "lngeom sweep")
            raise RunError(f"{self.path}: is not finished; run its command again first: {command}")
        hashes: dict[str, str | None] = dict.fromkeys(self._written())
        try:
            lines = (self.path / "DONE").read_text(encoding="utf-8").splitlines()
            hashes |= {name: digest for digest, name in (line.split(maxsplit=1) for line in lines)}
        except ValueError:
            hashes |= {"DONE": None}
        if "token_policy" in manifest and self.tokens_path.exists():  # which may be left out of what is published
            hashes |= {self.tokens_path.name: manifest["tokens_sha256"]}
        for name, digest in hashes.items():
            if digest is None or not (path := self.path / name).exists() or sha256_of(path) != digest:
                msg = f"is damaged or gone (another SHA-256 is recorded); {MEASURE_AGAIN}"
                raise RunError(f"{self.path / name}: {msg}")
        return manifest


def identity_of(manifest: Json) -> Json:
    """The entries that determine the results: two runs with equal ones have equal results."""
    return {key: manifest[key] for key in manifest.get("identity", ())}


def first_difference(here: Json, there: Json) -> tuple[str, object, object] | None:
    """The first entry in which two identities differ, and both values; None if they are equal."""
    names = dict.fromkeys([*here, *there])
    return next(((name, here.get(name), there.get(name)) for name in names if here.get(name) != there.get(name)), None)
