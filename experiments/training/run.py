"""One run: a network trained by a recipe, its losses, and the energy along 1 before every norm on the way."""

import copy
import math
import time
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lngeom.empirical.observe import sign_directions
from lngeom.empirical.support import Rows

from .network import SIZES, Decoder, Recipe
from .text import Text, cut, spread

DIRECTIONS = 256
"""Sign directions of each seed that 1 is ranked among."""

HELD_OUT, MEASURED = 32_768, 4_096
"""Bytes of the validation and of the test part on which losses are taken, and of the former before the norms."""

CHECKPOINTS = (0, 0.01, 0.03, 0.1, 0.3, 1)
"""Parts of a run after which the norms are measured."""


@torch.inference_mode()
def measure(model: Decoder, pieces: Tensor, seed: int) -> Rows:
    """Before every norm the angle to 1, its energy d·E[cos²θ], and its rank among the sign directions of the seed.

    ``centred_``: of the states less their mean over all bytes.
    """
    seen: dict[str, Tensor] = {}
    watched, rows = copy.deepcopy(model), list[dict[str, Any]]()
    for name, module in watched.named_modules():
        if name.endswith("_norm"):
            module.register_forward_pre_hook(lambda _, given, name=name: seen.update({name: given[0]}))
    watched(pieces[:, :-1])
    for name, found in seen.items():
        states = found.flatten(0, 1).cpu().double()
        width = states.shape[1]
        axes = torch.ones(1 + DIRECTIONS, width).double() / width**0.5
        axes[1:] = torch.from_numpy(sign_directions(width, DIRECTIONS, seed))
        row: dict[str, Any] = {"site": name, "norm_mean": float(states.norm(dim=1).mean())}
        for prefix, each in (("", states), ("centred_", states - states.mean(0))):
            cosines = nn.functional.normalize(each) @ axes.T
            energy, *others = (width * (cosines**2).mean(0)).tolist()
            row[f"{prefix}angle_mean"] = float(cosines[:, 0].clamp(-1, 1).acos().rad2deg().mean())
            row |= {f"{prefix}energy": energy, f"{prefix}rank": sum(other < energy for other in others)}
        rows.append(row)
    return rows


def train(recipe: Recipe, text: Text) -> Rows:
    """Rows of every norm at every checkpoint, with the losses at the end; those of a run that diverged are infinite."""
    start, size, steps = time.perf_counter(), SIZES[recipe.size], recipe.steps
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Decoder(recipe).to(device)
    matrices, others = ([p for p in model.parameters() if (p.ndim == 2) == wanted] for wanted in (True, False))
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer, draws = torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True), np.random.default_rng(recipe.seed)
    rate = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, steps + 1, pct_start=0.05, cycle_momentum=False, div_factor=10, final_div_factor=1
    )
    measured = spread(text.validation, size.length, MEASURED // size.length).to(device)
    checkpoints, rows = {round(part * steps) for part in CHECKPOINTS}, []
    for step in range(steps + 1):
        if step in checkpoints:
            rows += [{"step": step, **row} for row in measure(model, measured, recipe.seed)]
        if step < steps:
            starts = draws.integers(0, len(text.train) - size.length, size.batch)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = model.loss(cut(text.train, starts, size.length).to(device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            optimizer.step()
            rate.step()
    common = asdict(recipe)
    with torch.inference_mode():
        for name in ("validation", "test"):
            held = spread(getattr(text, name), size.length, HELD_OUT // size.length).to(device)
            total = sum(float(model.loss(some, "sum")) for some in held.split(64)) / held[:, 1:].numel()
            common[f"{name}_loss"] = total if math.isfinite(total) else math.inf
    common["seconds"] = round(time.perf_counter() - start, 1)
    return [common | row for row in rows]
