"""The weights of two forms of one model, name by name: the same, one of them rounded, or changed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from ..models import text_config
from .change import chance, change, projected
from .orders import order

_FORMATS = (torch.bfloat16, torch.float16, torch.float32)
_LEVELS = {
    "Q2_K": 4, "Q3_K": 8, "Q4_0": 16, "Q4_1": 16, "Q4_K": 16, "Q5_0": 32, "Q5_1": 32, "Q5_K": 32, "Q6_K": 64,
    "Q8_0": 255, "Q8_K": 255,
}  # fmt: skip
"""Numbers that a block of a quantized GGUF tensor can hold, equally far apart."""
_GGUF = {"BF16": torch.bfloat16, "F16": torch.float16}


class Weight(NamedTuple):
    """A weight of two forms: ``same``; ``rounded``, and to which format; or ``changed``, and how."""

    name: str
    state: Literal["same", "rounded", "changed"]
    text: str = ""


def stored(model: nn.Module) -> torch.dtype:
    """The format that the matrices of a model are stored in: the coarsest that holds them all exactly."""
    matrices = [w.detach() for w in model.parameters() if w.ndim > 1]
    fits = (kind for kind in _FORMATS if all(torch.equal(w.to(kind).double(), w.double()) for w in matrices))
    return next(fits, torch.float64)


def compare_weights(source: nn.Module, port: nn.Module, quantized: Mapping[str, str] | None = None) -> list[Weight]:
    """Each weight of either model; `quantized` tells the GGUF type of those that one of them read from such a file.

    A weight is rounded if all its numbers are the other's nearest in the coarser format, or all are cut off there.
    """
    mine, theirs = ({n: w for n, w in m.state_dict().items() if w.is_floating_point()} for m in (source, port))
    formats, kinds = (stored(source), stored(port)), quantized or {}
    columns = {f"{path}.weight" for path, m in source.named_modules() if isinstance(m, Conv1D)}
    heads = _heads(source)
    moved = {n: w for n, w in mine.items() if n not in theirs or not torch.equal(w.double(), theirs[n].double())}
    found = []
    for name in dict.fromkeys((*mine, *theirs)):
        if name not in mine or name not in theirs:
            found.append(Weight(name, "changed", f"missing in the {'port' if name in mine else 'source'}"))
        elif name not in moved:
            found.append(Weight(name, "same"))
        else:
            old, new, kind = mine[name].detach().double(), theirs[name].detach().double(), kinds.get(name, "")
            to = _rounded(old, new, formats, kind, name in columns)
            unit = max(torch.finfo(each).eps for each in (*formats, mine[name].dtype))
            others = ((n, w) for n, w in moved.items() if n != name)
            adopted = torch.where(near(old, new, formats)[0], new, old) if old.shape == new.shape else old
            how = "" if to else change(adopted, new, unit, others)
            if how == "permuted":
                how = order(*((old.T, new.T) if name in columns else (old, new)), unit, heads)
            found.append(Weight(name, "rounded", to) if to else Weight(name, "changed", how))
    texts = {each.name: each.text for each in found}
    pairs = {name: text.removeprefix("that of ") for name, text in texts.items()}
    mutual = {name: f"exchanged with {other}" for name, other in pairs.items() if texts.get(other) == f"that of {name}"}
    return [each._replace(text=mutual.get(each.name, each.text)) for each in found]


def _heads(source: nn.Module) -> tuple[int, ...]:
    """How many heads its queries and keys have, their ratio, and one."""
    config = text_config(getattr(source, "config", None))
    queries = getattr(config, "num_attention_heads", None) or 1
    keys = getattr(config, "num_key_value_heads", None) or queries
    return queries, keys, queries // keys, 1


def _rounded(old: Tensor, new: Tensor, formats: tuple[torch.dtype, torch.dtype], kind: str, columns: bool) -> str:
    """The format that the one weight is the other's rounding to; nothing if it is none."""
    if old.shape != new.shape or not new.isfinite().all():
        return ""
    if kind in _LEVELS:
        return kind if old.ndim == 2 and _quantized(old.T if columns else old, new.T if columns else new, kind) else ""
    if old.ndim == 1 and torch.equal((old.float() + 1) - 1, new.float()):
        return "1 + w in float32"
    alike, to = near(old, new, (_GGUF[kind], _GGUF[kind]) if kind in _GGUF else formats)
    return str(to).removeprefix("torch.") if alike.all() else ""


def near(old: Tensor, new: Tensor, formats: tuple[torch.dtype, torch.dtype]) -> tuple[Tensor, torch.dtype]:
    """Which numbers are roundings of the other weight to its format: nearest, or toward zero, as fits best."""
    pairs = ((old, new, formats[1]), (new, old, formats[0]))
    found = [(fine.to(to).double() == rough, to) for fine, rough, to in pairs]
    found += [(_cut(fine, to) == rough, to) for fine, rough, to in pairs]
    return max(found, key=lambda each: int(each[0].sum()))


def folded(moved: Tensor, old: Tensor) -> Tensor:
    """Where a fold put numbers: a matrix, row or column of whose numbers but 0 half moved; single ones of a vector."""
    if old.ndim < 2:
        return moved
    flat, own = moved.flatten(1), (moved | (old != 0)).flatten(1)
    every, row, column = (flat.sum(d, True) * 2 >= own.sum(d, True).clamp(min=1) for d in ((0, 1), 1, 0))
    return (every | row | column).reshape(moved.shape)


def adopt(old: Tensor, new: Tensor, formats: tuple[torch.dtype, torch.dtype]) -> None:
    """Give `old` the rounded numbers of `new` but where a fold put others."""
    alike = near(old, new, formats)[0]
    old.copy_(torch.where(alike & ~folded(~alike, old), new, old))


def _cut(w: Tensor, to: torch.dtype) -> Tensor:
    """The numbers without the digits that a format does not hold."""
    info = torch.finfo(to)
    step = torch.ldexp(torch.full_like(w, info.eps), torch.frexp(w).exponent - 1).clamp(min=info.tiny * info.eps)
    return (w / step).trunc() * step


def _quantized(old: Tensor, new: Tensor, kind: str) -> bool:
    """Whether each block lies within the bound of its type, and a factor of the whole is chance.

    A step is 2 max|w|/(levels - 1). Types without a search hold the largest number of a block: half a step by the
    nearest level, one where the other end is cut off. Those with one (K) may leave out one step at each end, and their
    own scales of 4 to 8 bits move a level by at most half a step of the super-block: two. A scale is a float16. Worse
    than all zeros is no quantization.
    """
    block = 256 if kind.endswith("K") else 32
    if old.shape[-1] % block:
        return False
    a, b = (w.reshape(-1, block) for w in (old, new))
    largest, levels = a.abs().amax(1, keepdim=True), _LEVELS[kind]
    step = 2 * largest / (levels - 1)
    limit = step * (2 if block > 32 else 1) + levels * 2**-25  # half the distance of the smallest float16 scales
    worse = ((a - b).norm(dim=1) >= a.norm(dim=1)) & (largest > limit / 4).flatten() & (a != b).any(1)
    inside = a.abs() < largest - step  # not cut off, which would take the factor below 1
    if ((a - b).abs() > limit).any() or worse.any() or not a[inside].any():
        return False
    factor, rest = projected(a[inside], b[inside])
    return chance(factor, rest, int(inside.sum()))


def read_gguf(network: nn.Module, path: Path, kind: str = "") -> tuple[str, dict[str, Any]]:
    """The architecture that a file names, and its tensors by the names of a network of that one, or of a `kind`."""
    import gguf

    reader = gguf.GGUFReader(path)
    field = reader.get_field("general.architecture")
    said, held = field.contents() if field else "", {tensor.name: tensor for tensor in reader.tensors}
    arch = next((key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == (kind or said)), None)
    if arch is None:
        return said, {}
    names = gguf.get_tensor_name_map(arch, 1000)
    theirs = {name: names.get_name(name, (".weight", ".bias")) for name in network.state_dict()}
    return said, {name: held[their] for name, their in theirs.items() if their in held}


def gguf_types(network: nn.Module, path: Path) -> dict[str, str]:
    """The GGUF type of each weight that transformers read from a file."""
    return {name: tensor.tensor_type.name for name, tensor in read_gguf(network, path)[1].items()}
