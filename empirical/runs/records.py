"""What a run records beside its numbers: its environment, and the origins of its sequences."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lngeom.errors import RunError

from ..support import read_records
from .directory import MEASURE_AGAIN

if TYPE_CHECKING:
    import torch

    from lngeom.files import Json

ENVIRONMENT = ("date", "python", "versions", "platform", "device_name", "threads")
"""Entries of a manifest about the machine and its software."""

_PACKAGES = ("torch", "transformers", "numpy", "tokenizers", "safetensors")


def environment(device: torch.device) -> Json:
    """The entries of this process."""
    from datetime import UTC, datetime
    from importlib.metadata import version

    import torch

    import lngeom

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": {"lngeom": lngeom.__version__, **{package: version(package) for package in _PACKAGES}},
        "platform": platform.platform(),
        "device_name": name,
        "threads": torch.get_num_threads(),
    }


@dataclass(frozen=True)
class Origin:
    """Where one sequence of a run comes from; ``sequences.csv`` has a row for each.

    Attributes:
        corpus: Hash of the file, or its specification.
        document: Number of the document in which the sequence begins, from 0; None where the corpus tells none.
        offset: Tokens before it in that document, or in the corpus.
        group: Its independent unit in the intervals: the rank of its document among those measured.
        sha256: First half of the hash of its token ids.
    """

    corpus: str
    document: int | None
    offset: int
    group: int
    sha256: str


def read_origins(path: Path) -> list[Origin]:
    """The origins of the sequences of a run; RunError if the file holds none."""
    origins = read_records(path, Origin, advice=MEASURE_AGAIN)
    if not origins:
        raise RunError(f"{path}: is empty; {MEASURE_AGAIN}")
    return origins
