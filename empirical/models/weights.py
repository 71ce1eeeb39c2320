"""Whether the weights in memory are the checkpoint's, and a fingerprint of them."""

import contextlib
import copy
import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import huggingface_hub
import safetensors
import torch
from torch import Tensor, nn
from transformers import AutoModel, PretrainedConfig, PreTrainedModel

from lngeom.files import Json

from ..support import ModelError, sha256_of_tensors
from .calls import text_config
from .sites import NormSite
from .source import ModelSource, shards_of

_UNMEASURED = ("pooler.",)
"""Layers that read the last hidden states and feed no norm; encoders saved with another head lack them."""

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
_FLOATS = tuple(_NAMES.values())
_BLOCK = re.compile(r"\.(\d+)\.")
_STACKS = re.compile(r"n_layers?|num_(hidden_)?layers|(num_)?(en|de)coder_layers")


def _some(names: Collection[str]) -> str:
    first = ", ".join(sorted(names)[:3])
    return first if len(names) <= 3 else f"{first} and {len(names) - 3} more"


def _block(name: str) -> int:
    block = _BLOCK.search(f".{name}")
    return int(block[1]) if block else -1


def _cause(missing: set[str], unused: Mapping[str, int | None], own: Mapping[str, Tensor]) -> str:
    """The likely reason why a checkpoint lacks some of a model's own weights; of the unused, how many numbers each."""
    if any("lora_" in name or ".base_layer." in name for name in unused):
        return "it holds an adapter; merge that into its base model with peft's merge_and_unload, and save the result"
    present = {_block(name) for name in own.keys() - {*missing}}
    blocks = {_block(name) for name in missing}
    if -1 not in blocks and min(blocks) > max(present):
        return f"config.json asks for more blocks than the {max(present) + 1} of the file; correct one of the two"
    lost = {(_block(name), size) for name in own.keys() & missing for size in (own[name].numel(), None)}
    renamed = [name for name, size in unused.items() if (_block(name), size) in lost]
    if len(renamed) >= len(missing):
        return f"the file has {_some(renamed)} instead; give the weights the names of this architecture"
    return "the file is incomplete; save or download it again"


def _files(source: ModelSource, config: PretrainedConfig) -> list[Path]:
    """The files of weights that are read, in the order in which transformers looks for them."""
    folder = Path(source.location)
    if not source.is_local:
        revision = getattr(config, "_commit_hash", None) or source.revision
        cached = huggingface_hub.try_to_load_from_cache(source.location, "config.json", revision=revision)
        if not isinstance(cached, str):
            return []
        folder = Path(cached).parent
    named = getattr(config, "transformers_weights", None)
    usual = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
    path = next((path for path in (folder / name for name in ((named,) if named else usual)) if path.is_file()), None)
    return [] if path is None else shards_of(path, folder) if path.name.endswith(".index.json") else [path]


def _stored(path: Path) -> Iterator[tuple[str, str, int]]:
    """Name, dtype and number of entries of each tensor of a file."""
    if path.suffix == ".bin":
        for name, value in torch.load(path, map_location="meta", weights_only=True).items():
            yield name, _NAMES.get(value.dtype, str(value.dtype)), value.numel()
        return
    with safetensors.safe_open(path, framework="pt") as stream:
        for name in stream.keys():  # noqa: SIM118 - no mapping
            part = stream.get_slice(name)
            yield name, part.get_dtype(), math.prod(part.get_shape())


_ADVICE = "give a checkpoint in float32, float16 or bfloat16, or a GGUF file"


def refuse_declared(source: ModelSource, config: PretrainedConfig, *, of_files: bool = True) -> None:
    """Refuse a configuration without blocks, or that its files cannot fulfil: quantized, larger, foreign kernels.

    Before memory is taken; Python takes -1 blocks for none. transformers dequantizes GGUF files.
    """
    for name, value in (config.to_dict() | text_config(config).to_dict()).items():
        if _STACKS.fullmatch(name) and isinstance(value, int) and value < 1:
            raise ModelError(f"model {source.spec!r}: {name} is {value}: a model has a block; correct config.json")
    if not of_files:
        return
    kernel = str(getattr(config, "_attn_implementation", None) or "")
    if "/" in kernel:
        msg = f"model {source.spec!r}: config.json asks for the attention {kernel!r}, which runs code of the hub"
        raise ModelError(f"{msg}; remove that entry")
    declared = getattr(config, "quantization_config", None)
    if source.gguf_file is None and declared is not None:
        entries = declared if isinstance(declared, dict) else {"quant_method": type(declared).__name__}
        method = entries.get("quant_method") or f"{entries.get('bits', 'few')} bits"
        raise QuantizedError(f"model {source.spec!r} is stored quantized ({method}); {_ADVICE}")
    names, entries = _capacity(source, config)
    blocks = getattr(text_config(config), "num_hidden_layers", 0)
    if not names or not isinstance(blocks, int):
        return
    expected = blocks if blocks > names else 0
    with contextlib.suppress(Exception):  # loading it later says why it cannot be built
        expected = expected or _size(config)
    if expected > (names if blocks > names else 2 * entries):  # twice for an embedding that is also the head
        what = "blocks" if blocks > names else "numbers"
        holds = f"{names:,} tensors" if blocks > names else f"{entries:,}"
        msg = f"model {source.spec!r}: config.json asks for {expected:,} {what}, and the files hold {holds}"
        raise ModelError(f"{msg}; correct config.json, or download the weights again")


def _capacity(source: ModelSource, config: PretrainedConfig) -> tuple[int, int]:
    """How many tensors the files of weights hold, and at most how many numbers; none if they cannot be read."""
    if source.gguf_file is not None:
        path = Path(source.location, source.gguf_file)
        with path.open("rb") as stream:
            return int.from_bytes(stream.read(16)[8:], "little"), 8 * path.stat().st_size
    try:
        stored = [each for path in _files(source, config) if path.suffix != ".bin" for each in _stored(path)]
    except (OSError, safetensors.SafetensorError):
        return 0, 0
    return len(stored), sum(entries for _, _, entries in stored)


def _size(config: PretrainedConfig) -> int:
    """The numbers of a base model, which is built without memory."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in AutoModel.from_config(config).parameters())


def refuse_larger(source: ModelSource, config: PretrainedConfig) -> None:
    """Refuse a network that no memory here holds, at two bytes a number, before its blocks are made one by one."""
    size, blocks = 0, getattr(text_config(config), "num_hidden_layers", 0)
    with contextlib.suppress(Exception):  # making it later says why it cannot be made
        one, two = copy.deepcopy(config), copy.deepcopy(config)
        text_config(one).num_hidden_layers, text_config(two).num_hidden_layers = 1, 2
        size = _size(one) + (blocks - 1) * (_size(two) - _size(one))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    devices = range(torch.cuda.device_count()) if 2 * size > memory else ()
    memory += sum(torch.cuda.get_device_properties(each).total_memory for each in devices)
    if 2 * size > memory:
        msg = f"model {source.spec!r}: config.json asks for {size:,} parameters, and memory here holds"
        raise ModelError(f"{msg} {memory // 2:,} in 16 bits; correct config.json")


def refuse_integers(source: ModelSource, model: PreTrainedModel, loading: Json) -> None:
    """Refuse weights stored as integers, complex or in 8 bits, which read as plain numbers are another model."""
    ignored = [*map(re.escape, loading["unexpected_keys"]), *(model._keys_to_ignore_on_load_unexpected or ())]
    entries = {name: value.is_floating_point() for name, value in model.state_dict().items()}

    def is_loaded(name: str) -> bool:
        """As a number, by its name with or without the prefix of the base model."""
        of = [real for own, real in entries.items() if name == own or f".{name}".endswith(f".{own}")]
        of = of or [real for own, real in entries.items() if own.endswith(f".{name}")]
        return any(of) if of else not any(re.search(pattern, name) for pattern in ignored)

    for path in _files(source, model.config) if source.gguf_file is None else ():
        for name, number, _ in _stored(path):
            if number not in _FLOATS and is_loaded(name):
                msg = f"model {source.spec!r} is stored quantized ({path.name}: {name} is {number}); {_ADVICE}"
                raise ModelError(msg)


def _hidden(source: ModelSource, model: PreTrainedModel) -> Iterator[str]:
    """Weights with names like the model's that transformers skips, by a pattern meant for masks."""
    patterns, prefix = model._keys_to_ignore_on_load_unexpected or (), f"{model.base_model_prefix}."
    own = set(model.state_dict())
    endings = {".".join(name.split(".")[-2:]) for name in own}
    for path in _files(source, model.config) if source.gguf_file is None and patterns else ():
        for name, _, _ in _stored(path):
            namesakes = own & {name, name.removeprefix(prefix), prefix + name}
            ending = ".".join(name.split(".")[-2:])
            if not namesakes and ending in endings and any(re.search(pattern, name) for pattern in patterns):
                yield name


class QuantizedError(ModelError):
    """The configuration of a checkpoint says that its weights are quantized."""


class LackingError(ModelError):
    """A checkpoint lacks weights, or has them in another shape."""


def unused_weights(source: ModelSource, model: PreTrainedModel, loading: Json) -> tuple[str, ...]:
    """The weights that the model does not need, by the report of transformers; refused if any is missing."""
    unused = tuple(sorted({*loading["unexpected_keys"], *_hidden(source, model)}))
    missing = {name for name in loading["missing_keys"] if not name.startswith(_UNMEASURED)}
    if missing:
        held = {n: k for path in _files(source, model.config) if source.gguf_file is None for n, _, k in _stored(path)}
        many = f"{len(missing)} weight{'s' * (len(missing) > 1)} ({_some(missing)})"
        cause = _cause(missing, {name: held.get(name) for name in unused}, model.state_dict())
        raise LackingError(f"model {source.spec!r} lacks {many}: {cause}")
    if loading["mismatched_keys"]:
        name, stored, expected = min(loading["mismatched_keys"])
        raise LackingError(
            f"model {source.spec!r}: {name} has shape {tuple(stored)} in the file and {tuple(expected)} by config.json "
            f"({len(loading['mismatched_keys'])} such weights); correct config.json, or save the model again"
        )
    return unused


def stored_otherwise(source: ModelSource, network: Any, planned: nn.Module) -> list[str]:
    """Tensors in the files of a network that the planned one lacks, or has in another format."""
    faults, prefix, state = list[str](), f"{network.base_model_prefix}.", planned.state_dict()
    for path in _files(source, network.config):
        for name, number, _ in _stored(path):
            own = [state[n] for n in (name, prefix + name, name.removeprefix(prefix)) if n in state]
            ignored = not own and any(re.search(p, name) for p in network._keys_to_ignore_on_load_unexpected or ())
            if ignored or name in network.unused_weights:
                faults.append(f"{name} is in {path.name}, but the network does not use it")
            elif number not in {_NAMES.get(value.dtype, number) for value in own or state.values()}:
                faults.append(f"{name} is {number} in {path.name}, in another format than follows from the original")
    return faults


def unused_line(names: Collection[str]) -> str:
    """The line about weights that the model does not need, such as a head of a base model."""
    return f"not needed and not loaded: {_some(names)}"


def refuse_lost_blocks(network: nn.Module, unused: Collection[str]) -> None:
    """Refuse a network that leaves out whole blocks of its checkpoint."""
    lost = {_block(name) for name in unused} - {_block(name) for name, _ in network.named_parameters()} - {-1}
    if lost:
        msg = f"config.json leaves out block {min(lost)} of the checkpoint ({_some(unused)})"
        raise ModelError(f"{msg}: a fold would lose it; correct config.json")


def refuse_nan_weights(network: nn.Module) -> None:
    """Refuse a network whose outputs cannot be compared."""
    name = next((name for name, weight in network.named_parameters() if not weight.isfinite().all()), None)
    if name is not None:
        raise ModelError(f"{name} holds a NaN or an infinity: check how the checkpoint was made")


def _tensors(model: nn.Module, chosen: Callable[[str], bool]) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters and buffers by name, one at a time."""
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, torch.Tensor) and chosen(name):
            yield name, value


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
