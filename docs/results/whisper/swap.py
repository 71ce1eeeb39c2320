"""The bound of rmsnorm.swap on the encoder of Whisper beside the measured change: ``swap.py FOLDER OUTPUT.csv``.

FOLDER is what ``prepare.py FOLDER recorded`` wrote. Norms are taken without gain and bias, which go to the branches.
δ_k is the largest |cos θ| of the first network, s_k the least scale of both, η_k = √d δ_k√(1 + δ_k²). B_k has no finite
value that is known for attention; the script uses a smaller number than any that the theorem allows: the norm of
W_o W_v G, by which attention maps a change that is equal at all positions of equal inputs, and for a feed-forward
branch that of its derivative at one measured state. So the bound of the theorem is at least what is written here.
"""

import copy
import csv
import sys
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers import WhisperForConditionalGeneration as Whisper

import lngeom


def swapped(norm: torch.nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    """RMSNorm with gain and bias in the place of a LayerNorm."""
    return lngeom.rms_norm(x, norm.weight, norm.bias, eps=norm.eps)


def main(folder: Path, output: str) -> None:
    """Write a row for each norm of the encoder."""
    first = Whisper.from_pretrained(folder / "model").eval().double().model.encoder
    other = copy.deepcopy(first)
    networks = [[m for m in each.modules() if isinstance(m, torch.nn.LayerNorm)] for each in (first, other)]
    for norm in networks[1]:
        norm.forward = partial(swapped, norm)
    seen: list[list[list[torch.Tensor]]] = [[[] for _ in norms] for norms in networks]
    for norms, kept in zip(networks, seen, strict=True):
        for norm, states in zip(norms, kept, strict=True):
            norm.register_forward_pre_hook(lambda _, args, states=states: states.append(args[0][0]))
    with torch.inference_mode():
        for path in sorted((folder / "recordings").glob("*.npz")):
            with np.load(path) as case:
                features = torch.from_numpy(case["input_features"])[None].double()
            first(features), other(features)
        d, gap, rows = first.config.d_model, torch.zeros((), dtype=torch.float64), []
        for k, norm in enumerate(networks[0]):
            x, y = (torch.cat(each[k]) for each in seen)
            mean, variance = (m[:, 0] for m in lngeom.moments(x))
            delta = (mean.abs() / (mean**2 + variance).sqrt()).max()
            scale = min(((each**2).mean(-1) + norm.eps).sqrt().min() for each in (x, y))
            eta = d**0.5 * delta * (1 + delta**2).sqrt()
            change = (lngeom.layer_norm(x, eps=norm.eps) - lngeom.rms_norm(y, eps=norm.eps)).norm(dim=-1)
            rows.append((k, f"{delta:.4g}", f"{scale:.4g}", f"{eta:.4g}", f"{eta + gap / scale:.4g}",
                         f"{change.mean():.4g}", f"{change.max():.4g}"))  # fmt: skip
            if k < 2 * len(first.layers):
                layer, gain = first.layers[k // 2], torch.diag(norm.weight)
                if k % 2:
                    at = layer.fc1(norm(x[:1]))[0].requires_grad_(False)
                    slope = functional.gelu(at + 1e-6) - functional.gelu(at - 1e-6)
                    branch = layer.fc2.weight @ torch.diag(slope / 2e-6) @ layer.fc1.weight @ gain
                else:
                    branch = layer.self_attn.out_proj.weight @ layer.self_attn.v_proj.weight @ gain
                gap = gap + torch.linalg.matrix_norm(branch, 2) * (eta + gap / scale)
    with open(output, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(("norm", "delta", "scale", "eta", "bound_at_least", "change_mean", "change_most"))
        table.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
