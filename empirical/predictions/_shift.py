"""The prediction about whole models: adding c·1 to the stream changes nothing if every norm is a LayerNorm.

Each branch then reads the stream through a norm that forgets the shift, and the final norm forgets it last. RMSNorm
does not forget it. The rounding of a whole model has no bound here, so that the two are told apart by the order of the
effect: the change is measured beside the one that a shift of equal length along a random direction orthogonal to 1
makes, and the ratio is on either side of √u, u the unit roundoff: half the digits of the format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import lngeom as lg

from ..models import LoadedModel, family_of
from ._prediction import MODEL, Prediction, undecided
from ._sample import forward

INVARIANCE = "output unchanged when c·1 is added to the stream"
DEPENDENCE = "output changes when c·1 is added to the stream"
THEOREMS = {INVARIANCE: "rmsnorm.gauge", DEPENDENCE: "irreversibility.rms_norm_injective"}
_POSITIONS = 32  # a ratio of two lengths in thousands of dimensions needs no more
_TOPOLOGIES = ("sequential", "parallel", "shared")


def shift(loaded: LoadedModel, tokens: np.ndarray, *, seed: int = 0) -> Iterator[Prediction]:
    """The verdict on one model; none for models whose norms do not stand before the branches."""
    sites = loaded.sites
    if loaded.topology not in _TOPOLOGIES or sites[-1].role != "final":
        return
    name = INVARIANCE if all(site.kind == "layernorm" for site in sites) else DEPENDENCE
    block = dict(loaded.model.named_modules())[f"{family_of(loaded.model.config).blocks}.0"]
    d = sites[0].d
    random = lg.project(np.random.default_rng(seed).standard_normal(d))
    other = torch.from_numpy(random / np.linalg.norm(random) * np.sqrt(d))
    plain = _shifted(loaded, tokens, block, torch.zeros(d, dtype=torch.float64))
    along, across = (
        float(torch.linalg.norm(_shifted(loaded, tokens, block, v) - plain))
        for v in (torch.ones(d, dtype=torch.float64), other)
    )
    if not (np.isfinite(along) and np.isfinite(across) and across > 0):
        yield undecided(MODEL, name, THEOREMS[name], "a shift along a random direction has no finite effect")
        return
    ratio, limit = along / across, float(torch.finfo(next(loaded.model.parameters()).dtype).eps / 2) ** 0.5
    agrees = ratio <= limit if name == INVARIANCE else ratio > limit
    vectors = int(plain.shape[0])
    reason = "" if agrees else "the rounding of a whole model has no bound"
    verdict = "holds" if agrees else "undecided"
    yield Prediction(MODEL, name, THEOREMS[name], ratio, limit, vectors, verdict, reason=reason)


def _shifted(loaded: LoadedModel, tokens: np.ndarray, block: nn.Module, along: Tensor) -> Tensor:
    """Final output, float64, shape (tokens, d), with the stream's root mean square times `along` added to it."""

    def add(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        stream = args[0] if args else kwargs["hidden_states"]
        size = stream.to(torch.float64).square().mean().sqrt()
        moved = stream + (size * along.to(stream.device)).to(stream.dtype)
        return ((moved, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": moved})

    handle = block.register_forward_pre_hook(add, with_kwargs=True)
    try:
        output = forward(loaded, tokens[:1, :_POSITIONS])
    finally:
        handle.remove()
    return output.reshape(-1, output.shape[-1]).to("cpu", torch.float64)
