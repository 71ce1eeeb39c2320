"""Which convention the norms of one checkpoint were meant with: what their gains show, and what its text says."""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import lngeom

from ..models import FoundNorm, affine, norms
from ..observe import ratio_interval

_FEWEST = 16
"""Gains that a fingerprint needs: so many numbers lie on the grid by chance with probability 2⁻¹⁶ at most."""
_NEAR = 0.125
"""Below it bfloat16 has numbers between those of the grid."""


class Fingerprint(NamedTuple):
    """A fact about a norm's stored gain that needs no text."""

    path: str
    what: str


def fingerprints(network: nn.Module) -> Iterator[Fingerprint]:
    """Gains that are all exactly 1, and gains on the grid that 1 + w has in bfloat16."""
    for norm in norms(network).found:
        stored = None if norm.gain is None else getattr(network.get_submodule(norm.path), norm.gain, None)
        if stored is None:
            continue
        w = stored.detach().double().cpu().numpy().reshape(-1)
        small = w[(w != 0) & (abs(w) < _NEAR)]
        if (w + norm.gain_offset == 1).all():
            yield Fingerprint(norm.path, "all gains are exactly 1: never loaded, or never moved by steps below 2^-9")
        # In [1/2, 1) bfloat16 has multiples of 2⁻⁸, in [1, 2) those of 2⁻⁷.
        elif small.size >= _FEWEST and (np.where(small < 0, small * 2**8, small * 2**7) % 1 == 0).all():
            few = len(np.unique(small))
            yield Fingerprint(norm.path, f"gains near 0 take {few} values, those of 1 + w in bfloat16, less 1")


class Convention(NamedTuple):
    """How norms may have been meant: gain stored + `shift`, ε times `factor`, and the kind."""

    shift: float = 0.0
    factor: float = 1.0
    kind: str | None = None

    def __str__(self) -> str:
        gain = {1.0: "the gain is 1 + what is stored", -1.0: "the gain is what is stored - 1"}.get(self.shift)
        eps = f"eps is {self.factor:g} times as large" if self.factor != 1 else None
        kind = f"the norm is a {self.kind}" if self.kind else None
        return ", ".join(filter(None, (gain, eps, kind))) or "as it is"


@dataclass(frozen=True)
class Priced:
    """A convention of a group of norms, and what it changes the loss by: nats per token, with interval by document."""

    group: str
    convention: Convention
    nats: float
    low: float
    high: float


def conventions(
    network: nn.Module, batches: Sequence[dict[str, Tensor]], *, least: float, most: int | None = None
) -> list[Priced]:
    """The conventions under which a language model predicts its text better, the whole interval beyond `least` nats.

    All norms together and each group of them, by their names without numbers, are tried under every convention; the
    best is kept, and the others are tried beside it until none is left.

    Args:
        network: A causal language model in evaluation mode.
        batches: ``input_ids`` of shape (1, n) of one document each, at least two, with every other input that the
            network reads, such as audio or a text to translate.
        least: Of the improvement.
        most: How many to name; by default one for each group.
    """
    last_axis = [norm for norm in norms(network).found if norm.axis == -1]
    groups: dict[str, list[FoundNorm]] = {"all norms": last_axis}
    for norm in last_axis:
        groups.setdefault(re.sub(r"\.\d+(?=\.|$)", ".*", norm.path), []).append(norm)
    kept: list[Priced] = []
    while True:
        chosen = [(priced.convention, groups[priced.group]) for priced in kept]
        with _as_if(network, chosen):
            base = _losses(network, batches)
        trials = []
        for group, members in groups.items():
            for convention in _alternatives(members):
                with _as_if(network, [*chosen, (convention, members)]):
                    difference = _losses(network, batches) - base
                trials.append(Priced(group, convention, *ratio_interval(difference[:, 0], base[:, 1], floor=-np.inf)))
        best = min((trial for trial in trials if trial.high < -least), key=lambda trial: trial.nats, default=None)
        if best is not None:
            kept.append(best)
        if best is None or len(kept) == (most or len(groups)):
            return kept


def _alternatives(members: list[FoundNorm]) -> Iterator[Convention]:
    if any(norm.gain is not None for norm in members):
        yield from (Convention(shift=shift) for shift in (1.0, -1.0))
    yield from (Convention(factor=10.0**k) for k in (-3, -2, -1, 1, 2, 3))
    yield from (Convention(kind=kind) for kind in ("layernorm", "rmsnorm") if any(n.kind != kind for n in members))


def _losses(network: Any, batches: Sequence[dict[str, Tensor]]) -> np.ndarray:
    """For each document the sum of its losses and its tokens."""
    rows = []
    with torch.inference_mode():
        for _, group in itertools.groupby(batches, key=lambda batch: batch["input_ids"].shape[1]):
            documents = list(group)
            inputs = {name: torch.cat([batch[name] for batch in documents]) for name in documents[0]}
            ids = inputs["input_ids"]
            logits = network(**inputs).logits[:, :-1].double()
            losses = cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").sum(-1)
            rows += [(float(torch.nan_to_num(loss, nan=np.inf, posinf=1e30)), ids.shape[1] - 1) for loss in losses]
    return np.array(rows, dtype=float)


@contextmanager
def _as_if(network: nn.Module, chosen: Sequence[tuple[Convention, list[FoundNorm]]]) -> Iterator[None]:
    """The network with norms of other conventions inside the block."""
    together: dict[str, tuple[FoundNorm, Convention]] = {}
    for convention, members in chosen:
        for norm in members:
            _, before = together.get(norm.path, (norm, Convention()))
            kind = convention.kind or before.kind
            together[norm.path] = (
                norm,
                Convention(before.shift + convention.shift, before.factor * convention.factor, kind),
            )
    with ExitStack() as undo:
        for path, (norm, convention) in together.items():
            module = network.get_submodule(path)
            object.__setattr__(module, "forward", _formula(norm, module, convention))
            undo.callback(object.__delattr__, module, "forward")
        yield


def _formula(norm: FoundNorm, module: nn.Module, convention: Convention) -> Callable[[Tensor], Tensor]:
    gain, bias = affine(module, norm.gain, norm.gain_offset, norm.bias, norm.d)
    shift = convention.shift if norm.gain is not None else 0.0
    apply = lngeom.layer_norm if (convention.kind or norm.kind) == "layernorm" else lngeom.rms_norm
    weight = torch.from_numpy(gain + shift).float()
    offset = None if bias is None else torch.from_numpy(bias).float()

    def forward(x: Tensor, *_: object, **__: object) -> Tensor:
        return apply(x.float(), weight, offset, eps=norm.eps * convention.factor).to(x.dtype)

    return forward
