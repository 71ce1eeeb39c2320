"""The manifest of a run: what was measured, on what, with what."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ENVIRONMENT = ("python", "versions", "platform", "device_name", "threads")
"""Entries that say on what was measured."""

_PACKAGES = ("lngeom", "torch", "transformers", "numpy", "tokenizers", "safetensors")


def environment(device: torch.device) -> dict[str, Any]:
    """Versions, machine and threads: what may differ between two runs that measure the same."""
    from importlib.metadata import version

    import torch

    versions = {name: version(name) for name in _PACKAGES}
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    return {
        "python": platform.python_version(),
        "versions": versions,
        "platform": platform.platform(),
        "device_name": name,
        "threads": torch.get_num_threads(),
    }


def measured_by(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that say what was measured: two runs in which these are equal have equal results."""
    return {key: manifest[key] for key in manifest.get("identity", ())}


def first_difference(here: Any, there: Any, path: str = "") -> tuple[str, Any, Any] | None:
    """Where two JSON values first differ: the dotted path and both values; None if they are equal."""
    if isinstance(here, dict) and isinstance(there, dict):
        for key in [*here, *(key for key in there if key not in here)]:
            found = first_difference(here.get(key), there.get(key), f"{path}.{key}" if path else str(key))
            if found:
                return found
        return None
    return None if here == there else (path, here, there)
