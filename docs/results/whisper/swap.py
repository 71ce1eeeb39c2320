"""The bound of rmsnorm.swap beside the measured change, on Whisper's encoder: ``swap.py WHISPER OUTPUT.csv``.

WHISPER is what ``prepare.py WHISPER recorded`` wrote. Norms are taken without gain and bias, which go to the branches.
δ_k is the largest |cos θ| of the encoder, s_k the least scale of it and of the one whose norms are swapped,
η_k = √d δ_k√(1 + δ_k²).

What a norm returns lies in the ball of radius √d, and only there must B_k bound a branch: the nearest point of the ball
moves no more than the point. For a feed-forward branch B = 1.13‖W₂‖‖W₁G‖, since no slope of GELU exceeds 1.13. A head
of attention moves by at most ‖W_oW_vG‖(1 + √d L) times the change of its inputs, and B is the sum over the heads: a
change of its logits by ℓ, up to one number for all keys, moves the mean of the inputs by at most √d ℓ, and
ℓ ≤ L = (2√d‖GW_qᵀW_kG‖ + ‖GW_kᵀ(W_q b + b_q)‖)/√(width of the head).
``bound_at_least`` takes a smaller number than any B: ‖W_oW_vG‖, by which attention maps a change that is equal at all
positions of equal inputs, and for a feed-forward branch the norm of its derivative at one measured state.
"""

import copy
import csv
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import WhisperForConditionalGeneration as Whisper

import lngeom

COLUMNS = ("norm", "delta", "scale", "eta", "bound_at_least", "bound", "change_mean", "change_most")


def linear(layer: Any) -> tuple[Tensor, Tensor]:
    """Matrix and offset of a linear map; keys have no offset."""
    return layer.weight, torch.zeros(len(layer.weight)).double() if layer.bias is None else layer.bias


def maps(branch: Any) -> list[tuple[Tensor, Tensor]]:
    """The linear maps of a branch: queries, keys, values and output; or those of a feed-forward branch."""
    if isinstance(branch, list):
        return [linear(layer) for layer in branch[:2]]
    return [linear(layer) for layer in (branch.q_proj, branch.k_proj, branch.v_proj, branch.out_proj)]


def size(matrix: Tensor) -> float:
    """The spectral norm."""
    return float(torch.linalg.matrix_norm(matrix, 2))


def factors(branch: Any, norm: nn.LayerNorm, x: Tensor, heads: int) -> tuple[float, float]:
    """A number below every B, and a B."""
    found, gain, d = maps(branch), torch.diag(norm.weight), len(norm.weight)
    if len(found) == 2:
        (first, offset), (last, _) = found
        read = lngeom.layer_norm(x, norm.weight, norm.bias, eps=norm.eps)
        at = (first @ read + offset).requires_grad_()
        (slope,) = torch.autograd.grad(branch[2](at).sum(), at)
        return size(last @ torch.diag(slope) @ first @ gain), 1.13 * size(last) * size(first @ gain)
    (wq, bq), (wk, _), (wv, _), (wo, _) = found
    parts = zip(wq.chunk(heads), (wq @ norm.bias + bq).chunk(heads), wk.chunk(heads), wv.chunk(heads),
                wo.chunk(heads, 1), strict=True)  # fmt: skip
    total = 0.0
    for queries, start, keys, values, out in parts:
        logits = 2 * d**0.5 * size(gain @ queries.T @ keys @ gain) + float((gain @ keys.T @ start).norm())
        total += size(out @ values @ gain) * (1 + d**0.5 * logits / len(queries) ** 0.5)
    return size(wo @ wv @ gain), total


def swapped(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """RMSNorm with gain and bias in place of a LayerNorm."""
    return lngeom.rms_norm(x, norm.weight, norm.bias, eps=norm.eps)


def rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    """A row for each norm."""
    first: Any = Whisper.from_pretrained(folder / "model").model.encoder.eval().double().requires_grad_(False)
    branches = [
        part for layer in first.layers for part in (layer.self_attn, [layer.fc1, layer.fc2, layer.activation_fn])
    ]
    other = copy.deepcopy(first)
    networks = [[m for m in each.modules() if isinstance(m, nn.LayerNorm)] for each in (first, other)]
    seen: list[list[Any]] = [[[] for _ in norms] for norms in networks]
    for norms, kept in zip(networks, seen, strict=True):
        for norm, states in zip(norms, kept, strict=True):
            norm.register_forward_pre_hook(lambda _, args, states=states: states.append(args[0].flatten(0, 1)))
    for norm in networks[1]:
        norm.forward = partial(swapped, norm)  # pyright: ignore[reportAttributeAccessIssue]
    for path in sorted((folder / "recordings").glob("*.npz")):
        given = torch.from_numpy(np.load(path)["input_features"])[None].double()
        first(given)
        other(given)
    gaps = [0.0, 0.0]
    for k, norm in enumerate(networks[0]):
        x, y = (torch.cat(each[k]) for each in seen)
        mean, variance = (m[:, 0] for m in lngeom.moments(x))
        delta = float((mean.abs() / (mean**2 + variance).sqrt()).max())
        scale = min(float(((each**2).mean(-1) + norm.eps).sqrt().min()) for each in (x, y))
        eta = (x.shape[-1] * delta**2 * (1 + delta**2)) ** 0.5
        bounds = [eta + gap / scale for gap in gaps]
        change = (lngeom.layer_norm(x, eps=norm.eps) - lngeom.rms_norm(y, eps=norm.eps)).norm(dim=-1)
        numbers = (delta, scale, eta, *bounds, float(change.mean()), float(change.max()))
        yield (k, *(f"{number:.4g}" for number in numbers))
        if k < len(branches):
            found = factors(branches[k], norm, x[0], first.config.encoder_attention_heads)
            gaps = [gap + b * bound for gap, b, bound in zip(gaps, found, bounds, strict=True)]


def main(folder: Path, output: str) -> None:
    """Write the table."""
    with open(output, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(COLUMNS)
        table.writerows(rows(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
