"""Changes of a network's norms that can be made and taken back."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

import lngeom

from ..models import FoundNorm
from ..observe import random_directions
from ..support import ModelError
from .inputs import sample_inputs
from .network import centered, fold, own, put
from .streams import find_streams
from .tracer import find_norms, trace

_MOST_DIRECTIONS = 1_000

Kind = Literal["none", "folded", "rms_norm", "centred", "u_norm"]


@dataclass(frozen=True)
class Change:
    """A change of a network: its kind, and the norms that it concerns.

    Attributes:
        name: ``none``; ``folded``, the RMSNorm form of the fold; ``rms_norm``, LayerNorms computed as RMSNorms, nothing
            folded; ``centred``, the mean subtracted before RMSNorms, or from all writers; ``u_norm``, the component
            along a random unit vector subtracted in place of the mean.
        site: ``all``, a stack, a norm, ``embeddings`` or ``writers``; for ``u_norm`` the number of the direction.
        norms: The norms that are computed otherwise.
    """

    name: Kind
    site: str
    norms: tuple[FoundNorm, ...] = ()
    index: int | None = None


def _stack(path: str) -> str:
    """The module that holds the blocks and the norms beside them: `model.encoder` of `model.encoder.layers.3.x`."""
    parts = path.split(".")
    numbers = [i for i, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[: numbers[0] - 1] if numbers else parts[:-1])


def plan_changes(network: PreTrainedModel, *, directions: int = 3, sites: bool = True) -> tuple[list[Change], str]:
    """The informative changes of a network, and why it cannot be folded (empty if it can).

    Args:
        network: In evaluation mode.
        directions: How many random unit vectors ``u_norm`` takes.
        sites: Whether each norm is changed by itself as well.

    Raises:
        ModelError: If no norm as wide as the hidden states is found.
    """
    if directions > _MOST_DIRECTIONS:
        raise ModelError(f"--directions {directions}: each is a pass over all tokens; use at most {_MOST_DIRECTIONS:,}")
    config = network.config
    wide = [n for n in find_norms(network, sample_inputs(network)).values() if n.d == config.hidden_size]
    if not wide:
        raise ModelError(f"{type(network).__name__}: no LayerNorm or RMSNorm of width {config.hidden_size} was found")
    layer = tuple(norm for norm in wide if norm.kind == "layernorm")
    chosen, kind = (layer, "rms_norm") if layer else (tuple(wide), "centred")
    changes, reason = [Change("none", "all")], ""
    if layer:
        try:
            fold(network)
            changes.append(Change("folded", "all"))
        except ModelError as error:
            reason = str(error)
    changes.append(Change(kind, "all", chosen))
    if not layer:
        changes += [Change("centred", "embeddings"), Change("centred", "writers")]
    stacks = dict.fromkeys(_stack(norm.path) for norm in chosen)
    if len(stacks) > 1:
        changes += [Change(kind, s, tuple(n for n in chosen if _stack(n.path) == s)) for s in stacks]
    changes += [Change("u_norm", f"direction {k}", chosen, k) for k in range(directions)]
    if sites:
        changes += [Change(kind, norm.path, (norm,)) for norm in chosen]
    return changes, reason


def _formula(norm: FoundNorm, module: nn.Module, direction: Tensor | None, name: Kind) -> Callable[[Tensor], Tensor]:
    gain, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    gain = None if gain is None else gain + norm.gain_offset

    def changed(x: Tensor) -> Tensor:
        if name == "centred":
            return lngeom.layer_norm(x, gain, bias, eps=norm.eps)
        centred = x if direction is None else lngeom.project(x, direction.to(x))
        return lngeom.rms_norm(centred, gain, bias, eps=norm.eps)

    return changed


def _writers(network: nn.Module, *, embeddings: bool) -> dict[str, int]:
    recorded = trace(network, sample_inputs(network))
    names = {recorded.parameters[s]: a for s, a in find_streams(recorded, "rmsnorm").writers.items()}
    tables = {path for path, module in network.named_modules() if isinstance(module, nn.Embedding)}
    return {name: a for name, a in names.items() if not embeddings or name.rpartition(".")[0] in tables}


@contextmanager
def applied(network: nn.Module, change: Change, *, seed: int = 0) -> Iterator[nn.Module]:
    """The changed network, inside a ``with`` block; at its end `network` is as it was."""
    if change.name == "folded":
        yield fold(network).model
        return
    with ExitStack() as undo:
        for norm in change.norms:
            module = network.get_submodule(norm.path)
            u = None
            if change.index is not None:
                u = torch.from_numpy(random_directions(norm.d, change.index + 2, seed)[change.index])
            object.__setattr__(module, "forward", _formula(norm, module, u, change.name))
            undo.callback(object.__delattr__, module, "forward")
        if change.name == "centred" and not change.norms:
            for name, axis in _writers(network, embeddings=change.site == "embeddings").items():
                old = own(network, name)
                path, _, last = name.rpartition(".")
                undo.callback(setattr, network.get_submodule(path), last, old)
                put(network, name, centered(old, axis))
        yield network
