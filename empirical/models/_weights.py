"""Whether the weights in memory are those of the checkpoint, and a fingerprint by which others can tell."""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import safetensors
import torch
from torch import nn
from torch.distributed.tensor import DTensor

from ..support import ModelError, sha256_of_tensors
from ._sites import NormSite
from ._source import ModelSource

_UNMEASURED = ("pooler.",)
"""What reads the last hidden states and feeds no norm layer; encoders saved with another head come without it."""

_FLOATS = ("F64", "F32", "F16", "BF16")
_BLOCK = re.compile(r"\.(\d+)\.")


def _some(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _block(name: str) -> int:
    found = _BLOCK.search(f".{name}")
    return int(found[1]) if found else -1


def _cause(missing: Collection[str], unused: Collection[str], names: Collection[str]) -> str:
    """What most likely happened to a checkpoint without some weights."""
    if any("lora_" in name or ".base_layer." in name for name in unused):
        return "it holds an adapter; merge that into its base model with peft's merge_and_unload, and save the result"
    present = {_block(name) for name in names} - {_block(name) for name in missing}
    blocks = {_block(name) for name in missing}
    if -1 not in blocks and min(blocks) > max(present):
        return f"config.json asks for more blocks than the {max(present) + 1} of the file; correct one of the two"
    if len(unused) >= len(missing):
        return f"the file has {_some(unused)} instead; give the weights the names of this architecture"
    return "the file is incomplete; save or download it again"


def _files(source: ModelSource, config: Any) -> Iterator[Path]:
    """The safetensors files that were read."""
    folder = Path(source.location)
    if not source.is_local:
        revision = getattr(config, "_commit_hash", None) or source.revision
        found = huggingface_hub.try_to_load_from_cache(source.location, "config.json", revision=revision)
        if not isinstance(found, str):
            return
        folder = Path(found).parent
    yield from sorted(folder.glob("*.safetensors"))


_ADVICE = "give a checkpoint in float32, float16 or bfloat16, or a GGUF file"


def refuse_declared(source: ModelSource, config: Any) -> None:
    """Refuse a checkpoint whose configuration says that it is quantized; transformers dequantizes GGUF files."""
    declared = getattr(config, "quantization_config", None)
    if source.gguf_file is None and declared is not None:
        method = declared.get("quant_method") if isinstance(declared, dict) else type(declared).__name__
        raise ModelError(f"model {source.spec!r} is stored quantized ({method}); {_ADVICE}")


def refuse_integers(source: ModelSource, config: Any) -> None:
    """Refuse weights stored as scaled integers or in 8 bits, which read as plain numbers are another model."""
    for path in _files(source, config) if source.gguf_file is None else ():
        with safetensors.safe_open(path, framework="pt") as stream:
            for name in stream.keys():  # noqa: SIM118 - no mapping
                number = stream.get_slice(name).get_dtype() if name.endswith(".weight") else "F32"
                if number not in _FLOATS:
                    msg = f"model {source.spec!r} is stored quantized ({path.name}: {name} is {number}); {_ADVICE}"
                    raise ModelError(msg)


def unused_weights(source: ModelSource, model: nn.Module, loading: dict[str, Any]) -> tuple[str, ...]:
    """The weights that the model has no place for, by the report of transformers; refused if any other is lacking."""
    unused = tuple(sorted(loading["unexpected_keys"]))
    missing = {name for name in loading["missing_keys"] if not name.startswith(_UNMEASURED)}
    if missing:
        cause = _cause(missing, unused, dict(model.named_parameters()))
        raise ModelError(f"model {source.spec!r} lacks {len(missing)} weights ({_some(missing)}): {cause}")
    if loading["mismatched_keys"]:
        name, stored, expected = min(loading["mismatched_keys"])
        msg = (
            f"model {source.spec!r}: {name} has shape {tuple(stored)} in the file and {tuple(expected)} by config.json "
            f"({len(loading['mismatched_keys'])} such weights); correct config.json, or save the model again"
        )
        raise ModelError(msg)
    return unused


def _tensors(model: nn.Module, chosen: Callable[[str], bool]) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters and buffers by name, one at a time."""
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, torch.Tensor) and chosen(name):
            # the parts of a distributed tensor lie in several processes, each of which comes here
            yield name, value.full_tensor() if isinstance(value, DTensor) else value


def weights_sha256(model: nn.Module) -> str:
    """SHA-256 of all parameters and buffers: names, dtypes, shapes and bits in the order of the names."""
    return sha256_of_tensors(_tensors(model, lambda _: True))


def fingerprints(model: nn.Module, sites: Collection[NormSite]) -> dict[str, str]:
    """SHA-256 of the weights in memory: ``norm_weights_sha256`` of the norm layers, ``weights_sha256`` of all.

    Names, dtypes, shapes and bits are hashed in the order of the names; of weights that are not in memory (offloaded to
    disk) all but the bits.
    """
    layers = tuple(f"{site.path}." for site in sites)
    norms = _tensors(model, lambda name: name.startswith(layers))
    measured = _tensors(model, lambda name: not name.startswith(_UNMEASURED))
    return {"norm_weights_sha256": sha256_of_tensors(norms), "weights_sha256": sha256_of_tensors(measured)}
