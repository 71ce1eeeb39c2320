"""Gains that moved between a norm and the matrices that read it, told in words."""

import re

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from .weights import Weight


def name_folds(source: nn.Module, port: nn.Module, weights: list[Weight]) -> tuple[list[Weight], dict[str, str]]:
    """The changes of the weights, those of a fold named so, and the path of each norm with what became of its gain.

    A norm lost a factor for each component, and a matrix of its block has gained it in the columns that read this.
    """
    mine, theirs = source.state_dict(), port.state_dict()
    turned = {f"{path}.weight" for path, module in source.named_modules() if isinstance(module, Conv1D)}
    moved = [each.name for each in weights if each.state == "changed"]
    moved = [name for name in moved if name in mine and name in theirs and mine[name].shape == theirs[name].shape]
    unit = max(torch.finfo(state[name].dtype).eps for state in (mine, theirs) for name in moved) if moved else 0.0
    factors = {name: _columns(mine[name], theirs[name], name in turned, unit) for name in moved if mine[name].ndim == 2}
    found = dict[str, tuple[bool, list[str]]]()
    for name in (name for name in moved if mine[name].ndim == 1 and name.endswith(".weight")):
        block = name.rpartition(".")[0].rpartition(".")[0]
        for offset in (0.0, 1.0):
            lost = _ratio(mine[name].double() + offset, theirs[name].double() + offset)
            readers = [
                each for each, gained in factors.items()
                if gained is not None and _under(each, block) and _undone(lost, gained, unit)
            ]  # fmt: skip
            if readers:
                found[name] = bool((theirs[name] + offset == 1).all()), readers
                break
    usual = dict[str, set[str]]()
    for norm, (_, readers) in found.items():
        usual.setdefault(_leaf(norm), set()).update(_leaf(each, 2) for each in readers)
    texts, norms = dict[str, str](), dict[str, str]()
    for norm, (ones, readers) in found.items():
        into = [_leaf(each, 2) for each in readers]
        forgotten = sorted(usual[_leaf(norm)] - {*into})
        what = "all ones, its gain multiplied into" if ones else "divided by s, and the columns times s of"
        missed = f", but not {'into' if ones else 'of'} {', '.join(forgotten)}" if forgotten else ""
        texts[norm] = norms[norm.rpartition(".")[0]] = f"{what} {', '.join(into)}{missed}"
        texts |= dict.fromkeys(readers, f"columns times what {norm} lost")
    return [each._replace(text=texts.get(each.name, each.text)) for each in weights], norms


def _ratio(old: Tensor, new: Tensor) -> Tensor:
    """What each number was divided by; 1 of zeros that stayed."""
    return torch.where((old == 0) & (new == 0), 1.0, old / new)


def _columns(old: Tensor, new: Tensor, turned: bool, unit: float) -> Tensor | None:
    """The factor of each input of a matrix, if that is how it changed."""
    old, new = (each.detach().double() for each in ((old.T, new.T) if turned else (old, new)))
    at = old.abs().argmax(0, keepdim=True)
    factor = new.gather(0, at) / old.gather(0, at)
    alike = ((new - factor * old).abs() <= 4 * unit * (factor * old).abs()).all()
    return factor[0] if alike and bool(factor.isfinite().all()) else None


def _undone(lost: Tensor, gained: Tensor, unit: float) -> bool:
    """Whether a matrix gained what a norm lost."""
    return lost.shape == gained.shape and bool(((gained - lost).abs() <= 8 * unit * gained.abs()).all())


def _under(name: str, block: str) -> bool:
    """In the block of a norm; the head reads a norm that stands in none."""
    return name.startswith(f"{block}.") or not re.search(r"\.\d+\.", f"{block}.{name}")


def _leaf(name: str, parts: int = 1) -> str:
    return ".".join(name.removesuffix(".weight").split(".")[-parts:])
