"""A port that transformers does not read as it stands: its tensors under the names and in the layout of the source."""

import copy
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from lngeom.files import read_json

from ..models import find_model, loading, text_config
from ..support import ModelError
from .weights import read_gguf

_PICKLED = (".pt", ".pth", ".ckpt", ".bin")
_READ = (".safetensors", ".npz", *_PICKLED)
_WRAPPER = re.compile(r"^(?:_orig_mod\.|module\.)+")
_META = (
    (r"^(?:model\.)?tok_embeddings\.", "model.embed_tokens."),
    (r"^(?:model\.)?norm\.", "model.norm."),
    (r"^(?:model\.)?output\.", "lm_head."),
    (r"^(?:model\.)?layers\.", "model.layers."),
    (r"\.attention\.w([qkvo])\.", r".self_attn.\1_proj."),
    (r"\.attention\.wqkv\.", ".self_attn.qkv_proj."),
    (r"\.feed_forward\.w1\.", ".mlp.gate_proj."),
    (r"\.feed_forward\.w2\.", ".mlp.down_proj."),
    (r"\.feed_forward\.w3\.", ".mlp.up_proj."),
    (r"\.attention_norm\.", ".input_layernorm."),
    (r"\.ffn_norm\.", ".post_attention_layernorm."),
)
"""Names of Meta's checkpoints, which the examples of MLX and gpt-fast have too, and those of transformers."""
_FUSED = {
    ".qkv_proj.": (".q_proj.", ".k_proj.", ".v_proj."),
    ".W_pack.": (".q_proj.", ".k_proj.", ".v_proj."),
    ".gate_up_proj.": (".gate_proj.", ".up_proj."),
}
_ENTRIES: dict[str, tuple[str, type]] = {
    "norm_eps": ("rms_norm_eps", float),
    "rope_theta": ("rope_theta", float),
    "n_heads": ("num_attention_heads", int),
    "n_kv_heads": ("num_key_value_heads", int),
    "n_head": ("n_head", int),
}
"""Entries of Meta's params.json and of nanoGPT's model_args, and those of a configuration of transformers."""
_BUFFERS = re.compile(r"(^rope\.freqs|inv_freq|\.attn\.(masked_)?bias)$")
"""Tables of angles and masks, which are no weights."""


class Renamed(NamedTuple):
    """A port in the architecture of its source, and how its file was read."""

    network: PreTrainedModel
    notes: tuple[str, ...]
    left: str
    """What was not read."""


def renamed(source: PreTrainedModel, path: Path) -> Renamed | None:
    """A network, the source's or that of the port's config.json, with the tensors of the port; None if it has none.

    Raises:
        ModelError: A weight of the source has no counterpart, which it names.
    """
    files = [path] if path.is_file() else sorted(each for each in path.glob("*") if each.suffix in _READ)
    if path.suffix == ".gguf":
        with loading(find_model(str(path))):
            tensors, notes = _of_gguf(source, path)
    elif files and all(each.suffix in _READ for each in files):
        tensors = {_WRAPPER.sub("", name): value for each in files for name, value in _tensors(each)}
        notes = ["its weights in the architecture of the source"]
        if (path / "config.json").is_file():
            notes = ["its weights in the architecture of its config.json"]
    else:
        return None
    tensors = {name: value for name, value in tensors.items() if not _BUFFERS.search(name)}
    tensors, adapters = _adapted(path, tensors)
    notes += adapters
    state, own = dict[str, Tensor](), source.state_dict()
    if any(re.search(r"(^|\.)(tok_embeddings|attention\.w)", name) for name in tensors):
        notes.append("named as by Meta, with the rotary pairs of wq and wk side by side")
        for pattern, name in _META:
            tensors = {re.sub(pattern, name, old): value for old, value in tensors.items()}
        tensors = {name: _unpaired(name, value, source) for name, value in tensors.items()}
    for name, value in tensors.items():
        state |= dict(_split(_own_name(name, own), value, own))
    fused = sorted({key.strip(".") for key in _FUSED for name in tensors if key in name and name not in own})
    notes += [f"the fused {' and '.join(fused)} split"] if fused else []
    columns = [f"{at}.weight" for at, module in source.named_modules() if isinstance(module, Conv1D)]
    if any(name in state and state[name].shape != own[name].shape == state[name].T.shape for name in columns):
        notes.append(f"the {len(columns)} weights of Conv1D are transposed in the file, as those of Linear are")
        state |= {name: state[name].T.contiguous() for name in columns if name in state}
    _tie(source, state)
    lacking = [name for name, value in own.items() if name not in state and value.is_floating_point()]
    bare = [name for name in lacking if name.endswith(".bias")]
    if bare:
        notes.append(f"{len(bare)} biases are not in the file, and count as 0")
        state |= {name: torch.zeros_like(own[name]) for name in bare}
    wrong = [name for name, value in own.items() if name in state and state[name].shape != value.shape]
    lacking = [name for name in lacking if name not in state]
    integers = sorted((name for name in state if not state[name].is_floating_point()), key=lambda name: name not in own)
    if integers and (lacking or wrong or (integers[0] in own and own[integers[0]].is_floating_point())):
        raise ModelError(f"{path}: is stored quantized: {_levels(integers[0], state)}; give floats, or a GGUF file")
    if lacking:
        raise ModelError(f"{path}: {_said(lacking, [name for name in state if name not in own], own)}")
    if wrong:
        shapes = f"has shape {tuple(state[wrong[0]].shape)} for {tuple(own[wrong[0]].shape)}"
        raise ModelError(f"{path}: {wrong[0]} {shapes} of the source, and {len(wrong) - 1} more weights have another")
    network, entries = _configured(source, path, state)
    notes += [f"{entry} of the port" for entry in entries]
    network.load_state_dict({name: value for name, value in state.items() if name in own}, strict=False, assign=True)
    extra = sorted(name for name in state if name not in own)
    notes += [f"not used: {', '.join(extra[:3])}" + (f" and {len(extra) - 3} more" if extra[3:] else "")] * bool(extra)
    beside = f" but for {', '.join(entries)}" if entries else ""
    return Renamed(network.eval(), tuple(notes), f"the configuration of the port{beside}: the source's was used")


def _configured(source: PreTrainedModel, path: Path, state: dict[str, Tensor]) -> tuple[PreTrainedModel, list[str]]:
    """A network of the source's class with what the port says of it beside its weights, and the entries that were read.

    Raises:
        ModelError: An entry is no such number, or asks for weights of other shapes.
    """
    file, said = _said_beside(path)
    config, read = copy.deepcopy(source.config), list[str]()
    own = text_config(config)
    places = {"rope_theta": getattr(own, "rope_parameters", None) or {}}
    for entry, (name, kind) in _ENTRIES.items():
        there, value = places.get(entry, vars(own)), said.get(entry)
        if value is None or name not in there:
            continue
        if type(value) not in (int, kind) or not value > 0:
            whole = "whole " * (kind is int)
            raise ModelError(f"{file}: {entry} is {value!r}, which is no {whole}number above 0; correct it")
        there[name] = value
        read.append(entry)
        if entry == "n_heads" and getattr(own, "head_dim", None):
            own.head_dim = own.hidden_size // value
    network = type(source)._from_config(config) if read else copy.deepcopy(source)
    for name, value in network.state_dict().items():
        if name in state and state[name].shape != value.shape:
            shapes = f"{tuple(state[name].shape)}, and the file asks for {tuple(value.shape)}"
            raise ModelError(f"{file}: {name} has shape {shapes}; correct it")
    return network, read


def _said_beside(path: Path) -> tuple[Path, dict[str, Any]]:
    """The params.json of a folder of Meta's, or the arguments in a checkpoint of nanoGPT's, and which file it is."""
    params = (path if path.is_dir() else path.parent) / "params.json"
    if params.is_file():
        try:
            said = read_json(params)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise ModelError(f"{params}: is no JSON object; correct it, or take it away")
        # Keys and values have as many heads as queries, if nothing else is said.
        return params, {**said, "n_kv_heads": said.get("n_kv_heads") or said.get("n_heads")}
    if path.suffix in _PICKLED:  # its numbers were read, and stay on the disk where they can
        held = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
        said = held.get("model_args") if isinstance(held, dict) else None
        return path, said if isinstance(said, dict) else {}
    return path, {}


def _adapted(path: Path, tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """The weights below the adapters of PEFT, where these change nothing, and a note on them."""
    adapters = {name: value for name, value in tensors.items() if ".lora_" in f".{name}"}
    rest = {name.replace(".base_layer.", "."): value for name, value in tensors.items() if name not in adapters}
    if not adapters:
        return tensors, []
    if not rest:
        how = "merge them into their base model with peft's merge_and_unload, and save that"
        raise ModelError(f"{path}: these are only the adapters of a model, not its weights; {how}")
    factors = {name: re.search(r"\blora_([AB])\b", name) for name in adapters}
    if any(not known or (known[1] == "B" and adapters[name].any()) for name, known in factors.items()):
        raise ModelError(f"{path}: holds LoRA adapters that are not merged; call merge_and_unload() first")
    return rest, ["its LoRA adapters are 0, and change nothing"]


def _levels(name: str, state: dict[str, Tensor]) -> str:
    """The format of a weight stored as integers, and the scales beside it."""
    beside = (each.removeprefix(f"{name.rpartition('.')[0]}.") for each in state)
    scales = next((each for each in beside if each in ("SCB", "scales", "weight_scale", "absmax")), "")
    kind = str(state[name].dtype).removeprefix("torch.")
    return f"{name} is {kind}" + f" with scales {scales}" * bool(scales)


def _tensors(path: Path) -> Iterator[tuple[str, Tensor]]:
    """The tensors of one file, of a pickled one no other object; those of an optimizer aside."""
    try:
        if path.suffix == ".safetensors":
            yield from safetensors.torch.load_file(path).items()
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                yield from ((name, torch.from_numpy(arrays[name])) for name in arrays.files)
        else:
            yield from _most(torch.load(path, map_location="cpu", weights_only=True)).items()
    except (OSError, ValueError, RuntimeError, EOFError, UnpicklingError, zipfile.BadZipFile,
            safetensors.SafetensorError) as error:  # fmt: skip
        reason = " ".join(str(error).split()).partition(". ")[0][:160]  # PyTorch's advice is to trust the file
        raise ModelError(f"{path}: cannot be read as weights alone ({reason}); save its state_dict") from None


def _most(held: Any) -> dict[str, Tensor]:
    """The dictionary of tensors inside of a checkpoint, whatever it is called there."""
    if not isinstance(held, dict):
        return {}
    own = {str(name): value for name, value in held.items() if isinstance(value, Tensor) and value.ndim}
    inner = (_most(value) for name, value in held.items() if not str(name).startswith("optim"))
    return max([own, *inner], key=len)


def _of_gguf(source: PreTrainedModel, path: Path) -> tuple[dict[str, Tensor], list[str]]:
    """The tensors of a GGUF file that has the name of another architecture, by the names of the source's."""
    import gguf

    kind = text_config(source.config).model_type
    said, held = read_gguf(source, path, kind)
    values = {name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for name, tensor in held.items()}
    tensors = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in values.items()}
    return tensors, [f"the file calls its architecture {said}, and has the weights of {kind}"]


def _own_name(name: str, own: dict[str, Tensor]) -> str:
    """The source's name: the same, or the one that it ends in or that ends in it."""
    if name in own:
        return name
    alike = [each for each in own if each.endswith(f".{name}") or name.endswith(f".{each}")]
    return alike[0] if len(alike) == 1 else name


def _split(name: str, value: Tensor, own: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The parts of a fused weight that the source has one by one."""
    for fused, parts in _FUSED.items():
        names = [_own_name(name.replace(fused, part), own) for part in parts] if fused in name else []
        sizes = [len(own[each]) for each in names if each in own]
        if name not in own and len(sizes) == len(parts) and sum(sizes) == len(value):
            yield from zip(names, (part.contiguous() for part in value.split(sizes)), strict=True)
            return
    yield name, value


def _unpaired(name: str, value: Tensor, source: PreTrainedModel) -> Tensor:
    """The rows of a query or key in the order of transformers: all first numbers of the rotary pairs, then the others.

    Of a fused weight the queries and the keys, by the sizes of the heads.
    """
    config = text_config(source.config)
    heads = {"q": config.num_attention_heads, "k": getattr(config, "num_key_value_heads", config.num_attention_heads)}

    def ordered(rows: Tensor, count: int) -> Tensor:
        return rows.unflatten(0, (count, -1, 2)).transpose(1, 2).reshape(rows.shape)

    if which := re.search(r"self_attn\.([qk])_proj\.", name):
        return ordered(value, heads[which[1]])
    if "self_attn.qkv_proj." in name:
        size = len(value) // (heads["q"] + 2 * heads["k"])
        q, k, v = value.split([heads["q"] * size, heads["k"] * size, heads["k"] * size])
        return torch.cat([ordered(q, heads["q"]), ordered(k, heads["k"]), v])
    return value


def _tie(source: PreTrainedModel, state: dict[str, Tensor]) -> None:
    """A weight that shares its memory in the source is there where its twin is."""
    for name, value in (own := source.state_dict(keep_vars=True)).items():
        twin = next((each for each, other in own.items() if other is value and each in state), None)
        if name not in state and twin is not None:
            state[name] = state[twin]


def _said(lacking: list[str], unknown: list[str], own: dict[str, Tensor]) -> str:
    """What of the source is missing, and what the file has instead."""
    first = f"{', '.join(lacking[:3])}" + (f" and {len(lacking) - 3} more" if lacking[3:] else "")
    if unknown:
        kinds = dict.fromkeys(re.sub(r"\.\d+\.", ".N.", each) for each in unknown)
        has = ", ".join(f"`{each}`" for each in list(kinds)[:4])
        return f"your file has {has}, which is no name known here; the source's {first} found no counterpart"
    rest = len(own) - len(lacking)
    norms = all(own[each].ndim == 1 for each in lacking)
    return f"the {'norm' if norms else 'weight'} {first} is missing; the other {rest} weights are there"
