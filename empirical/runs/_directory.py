"""The directory of a run: manifest, tokens, shards, results; whole at every moment."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..support import RunError, read_sealed, replacing, sha256_of, write_sealed, write_text
from ._manifest import first_difference, measured_by

Status = Literal["new", "started", "done"]

_RESULTS = ("sites.csv", "predictions.csv", "sequences.csv")
"""What is read again, in ``sha256sum``'s order and form."""


_SHARD = re.compile(r"(\d{6})\.safetensors")


class RunDirectory:
    """A directory that holds one run.

    ``manifest.json`` says what is measured (``measured``) and with what; ``tokens.npy`` the token ids, one sequence a
    row, and ``sequences.csv`` where they are from; ``shards/`` the states of finished shards until all are there; then
    ``state.safetensors``, ``sites.csv``, ``predictions.csv``, figures and the report, and last of all ``DONE`` with the
    SHA-256 of the tables. The manifest carries its own and those of tokens and sequences, each state its own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest_path, self.state_path = path / "manifest.json", path / "state.safetensors"
        self.tokens_path, self.sequences_path = path / "tokens.npy", path / "sequences.csv"
        self.predictions_path = path / "predictions.csv"

    @property
    def is_done(self) -> bool:
        """Whether everything has been written."""
        return (self.path / "DONE").is_file()

    def shard_path(self, index: int) -> Path:
        """The state of one shard."""
        return self.path / "shards" / f"{index:06}.safetensors"

    def finished_shards(self) -> list[int]:
        """Indices of the shards whose state is there."""
        found = (_SHARD.fullmatch(path.name) for path in (self.path / "shards").glob("*.safetensors"))
        return sorted(int(match.group(1)) for match in found if match)

    def manifest(self) -> dict[str, Any]:
        """Read the manifest."""
        try:
            return read_sealed(self.manifest_path)
        except FileNotFoundError:
            msg = f"{self.path}: holds no manifest.json, so it is not a run; give the output directory of a sweep"
            raise RunError(msg) from None

    def finished_manifest(self) -> dict[str, Any]:
        """Read the manifest of a run that is done."""
        manifest = self.manifest()
        if not self.is_done:
            command = manifest.get("command", "lngeom sweep")
            raise RunError(f"{self.path}: is not finished; run its command again first: {command}")
        self._check_results()
        return manifest

    def _check_results(self) -> None:
        """Compare the results with the hashes in ``DONE``."""
        hashes = dict.fromkeys(self._results())
        try:
            lines = (self.path / "DONE").read_text(encoding="utf-8").splitlines()
            hashes |= {Path(name): digest for digest, name in (line.split(maxsplit=1) for line in lines)}
        except ValueError:
            hashes |= {Path("DONE"): None}
        for name, digest in hashes.items():
            if digest is None or sha256_of(self.path / name) != digest:
                msg = f"{self.path / name}: is damaged (DONE has another SHA-256); measure again in another directory"
                raise RunError(msg)

    def _results(self) -> list[Path]:
        return [path for path in map(Path, _RESULTS) if (self.path / path).exists()]

    def prepare(self) -> None:
        """Make the directory and make sure that it can be written and holds nothing else."""
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

    def begin(self, measured: dict[str, Any], about: dict[str, Any]) -> Status:
        """Write the manifest, or check that the one that is there measures the same."""
        if not self.manifest_path.exists():
            write_sealed(self.manifest_path, {**measured, **about, "identity": list(measured)})
            (self.path / "shards").mkdir(exist_ok=True)
            return "new"
        there = measured_by(self.manifest())
        difference = first_difference(json.loads(json.dumps(measured)), there)
        if difference is not None and not self.tokens_path.exists() and not self.is_done:
            # The other run met an error before it had read its text: nothing would be lost.
            self.manifest_path.unlink()
            return self.begin(measured, about)
        if difference is not None:
            name, mine, theirs = difference
            msg = f"{self.path}: holds another run ({name} is {theirs!r} there, {mine!r} here); choose another --output"
            raise RunError(msg)
        if self.is_done:
            return "done"
        (self.path / "shards").mkdir(exist_ok=True)
        return "started"

    def amend(self, **entries: Any) -> dict[str, Any]:
        """Add entries to the manifest."""
        manifest = {**self.manifest(), **entries}
        write_sealed(self.manifest_path, manifest)
        return manifest

    def write_tokens(self, tokens: np.ndarray) -> None:
        """Store the token ids."""
        with replacing(self.tokens_path) as draft, draft.open("wb") as stream:
            np.save(stream, tokens, allow_pickle=False)

    def tokens(self) -> np.ndarray:
        """The token ids, mapped from disk."""
        return np.load(self.tokens_path, mmap_mode="r", allow_pickle=False)

    def tokens_are_sound(self) -> bool:
        """Whether tokens and sequences are those that the manifest has the hashes of."""
        manifest = self.manifest()
        pairs = (("tokens_sha256", self.tokens_path), ("sequences_sha256", self.sequences_path))
        return all(path.is_file() and manifest.get(key) == sha256_of(path) for key, path in pairs)

    def finish(self) -> None:
        """Mark the run as done, and remove the shards that are merged."""
        lines = [f"{sha256_of(self.path / name)}  {name}\n" for name in self._results()]
        write_text(self.path / "DONE", "".join(lines))
        shutil.rmtree(self.path / "shards", ignore_errors=True)
