"""States on disk: one safetensors file, histograms stored by their non-empty bins."""

import hashlib
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from lngeom.errors import RunError

from .state import ANGLE_BINS, BUCKETS, NORM_BINS, SIDES, SiteState, States

_FORMAT = "lngeom-state-10"
_ENTRY = "lngeom"
_HISTOGRAMS = {"angles": ANGLE_BINS, "norms": NORM_BINS}


def save_states(path: Path, states: States, metadata: dict[str, str]) -> None:
    """Write states to a file; equal states are equal files."""
    tensors: dict[str, np.ndarray] = {}
    for (site, side), state in states.items():
        for field in fields(state):
            value = np.ascontiguousarray(getattr(state, field.name))
            name = f"{site}/{side}/{field.name}"
            if field.name in _HISTOGRAMS:
                places = np.flatnonzero(value)
                tensors[f"{name}.bins"] = places.astype(np.int32)
                tensors[f"{name}.counts"] = value.reshape(-1)[places]
            else:
                tensors[name] = value
    # One entry: the order of several differs from write to write.
    about = {**metadata, "format": _FORMAT}
    about = json.dumps({**about, "sha256": _digest(tensors, about)}, sort_keys=True)
    safetensors.numpy.save_file(tensors, path, {_ENTRY: about})


def _digest(tensors: dict[str, np.ndarray], about: dict[str, str]) -> str:
    """SHA-256 over all that a file says."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"\0{name}\0{value.dtype.str}\0{value.shape}\0".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def load_states(path: Path, advice: str = "remove it and run again") -> tuple[States, dict[str, str]]:
    """Read states and metadata from a file written by :func:`save_states`."""
    try:
        with safetensors.safe_open(path, framework="numpy") as stream:
            metadata = json.loads((stream.metadata() or {}).get(_ENTRY, "{}"))
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 - no mapping
        damaged = metadata.pop("sha256", None) != _digest(tensors, metadata)
    except (OSError, ValueError, AttributeError, TypeError, safetensors.SafetensorError) as error:
        raise RunError(f"{path}: cannot be read as a state ({error}); {advice}") from None
    if damaged and metadata.get("format") == _FORMAT:
        raise RunError(f"{path}: is damaged (its SHA-256 does not match); {advice}")
    if metadata.pop("format", None) != _FORMAT:
        raise RunError(f"{path}: holds no state of this version ({_FORMAT}); {advice}")
    keys = {name.rsplit("/", 2)[0] for name in tensors}
    return {(site, side): _state(tensors, f"{site}/{side}") for site in sorted(keys) for side in SIDES}, metadata


def _state(tensors: dict[str, np.ndarray], prefix: str) -> SiteState:
    values: dict[str, np.ndarray] = {}
    for field in fields(SiteState):
        name = f"{prefix}/{field.name}"
        if field.name in _HISTOGRAMS:
            dense = np.zeros((len(BUCKETS), _HISTOGRAMS[field.name]), np.int64)
            dense.reshape(-1)[tensors[f"{name}.bins"]] = tensors[f"{name}.counts"]
            values[field.name] = dense
        else:
            values[field.name] = tensors[name]
    return SiteState(**values)
