"""Date, versions, machine and threads of a run: what may differ between two that measure the same."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from lngeom.files import Json

ENVIRONMENT = ("date", "python", "versions", "platform", "device_name", "threads")
"""Entries of a manifest that say on what was measured."""

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
