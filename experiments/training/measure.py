"""The measurement at a checkpoint: the sweep's own statistics on held-out text, the loss there, and the writers.

A writer is a parameter whose rows are added to the residual stream. In a network where every reader of the stream
begins with LayerNorm, the loss is unchanged when c·1 is added to the stream at any point, because
LayerNorm(x + c1) = LayerNorm(x). A writer w (an embedding row, a bias, a row of an output projection) enters the
stream only as s·w with a scalar s that does not depend on w, so the loss is unchanged under w → w + c1, and its
gradient has no component along 1.
"""

import copy
import re

import numpy as np
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

import lngeom
from lngeom.empirical.models import NormSite
from lngeom.empirical.observe import Observer, compute
from lngeom.empirical.support import Row, Rows

from .networks import DIRECTIONS, build_model, next_token_loss
from .recipe import Recipe

_ANGLES = {
    f"{prefix}angle_{number}_deg": f"{name}_{number}"
    for prefix, name in (("", "angle"), ("random_a_", "angle_a"), ("random_b_", "angle_b"))
    for number in ("mean", "std")
}
"""Of hidden states to 1 and to two random directions."""

CHECKED_PARAMETERS = 50_000_000
"""Networks with more parameters are not copied to float64 for the check of their gradients."""

_WRITER = re.compile(r"(?:^|\.)(?:w[tp]e\.weight|h\.\d+\.(?:attn|mlp)\.c_proj\.(?:weight|bias))$")


def writers(model: nn.Module) -> dict[str, nn.Parameter]:
    """Writers of a GPT-2 network by name: token and position embeddings, both output projections and their biases.

    In each of them the last axis is that of the residual stream (Hugging Face's ``Conv1D`` stores [in, out]), so a
    row is a vector that is added to the stream. The LM head reads the stream and is not a writer; gains and biases of
    the norms act behind the stream.
    """
    return {name: parameter for name, parameter in model.named_parameters() if _WRITER.search(name)}


def uniform_energy(rows: Tensor) -> float:
    r"""Energy of vectors along 1, in units of an average direction's: d·Σ(x·1̂)²/Σ‖x‖², over all rows x.

    1 for rows without a preferred direction, 0 for rows orthogonal to 1, d for multiples of 1; NaN if all rows
    are zero. Computed in float64.
    """
    wide = rows.detach().double()
    return float(wide.shape[-1] * (lngeom.projection.mean_vector(wide) ** 2).sum() / (wide**2).sum())


def gradients(model: nn.Module, tokens: Tensor) -> Rows:
    """Of every writer ``share``, the energy along 1 of the gradient of the next-token loss on `tokens`.

    `tokens`, int64 of shape (sequences, length + 1): each but the first of a sequence is predicted. Behind LayerNorm a
    share is 0 in exact arithmetic, and the square of a rounding error in floats.
    """
    named = writers(model)
    found = torch.autograd.grad(next_token_loss(model, tokens), [*named.values()])
    return [{"writer": name, "share": uniform_energy(each)} for name, each in zip(named, found, strict=True)]


def sizes(model: nn.Module, untrained: nn.Module) -> Rows:
    """Of every writer the Frobenius norm, that of its part along 1, and the energy along 1.

    ``size``, ``uniform_size``, ``share``: now; ``start_``: before training; ``change_``: of the difference.
    """
    found: Rows = []
    for (name, now), start in zip(writers(model).items(), writers(untrained).values(), strict=True):
        states = {"start_": start.detach().double(), "": now.detach().cpu().double()}
        states["change_"] = states[""] - states["start_"]
        row: Row = {"writer": name}
        for when, each in states.items():
            row[f"{when}size"] = float(each.norm())
            row[f"{when}uniform_size"] = float(lngeom.projection.mean_vector(each).norm())
            row[f"{when}share"] = uniform_energy(each)
        found.append(row)
    return found


def sites(model: GPT2LMHeadModel, recipe: Recipe, text: Tensor) -> Rows:
    """A row for each norm: ``d_cos2``, the energy d·E[cos²θ] along 1 of the vectors that enter it, and its rank.

    They are the tokens of the sequences `text`, on which ``held_out_loss`` is the loss. Networks with u-Norm have a
    second row for ``direction`` u.
    """
    base, device, total = model.transformer, model.lm_head.weight.device, 0.0
    kind = "layernorm" if recipe.norm == "layer" else "rmsnorm"
    paths = [name for name, _ in base.named_modules() if re.search(r"\bln_\w$", name)]
    places = [NormSite(path, None, "norm", kind, base.config.layer_norm_epsilon, recipe.width) for path in paths]
    with torch.inference_mode(), Observer(base, places, directions=DIRECTIONS + recipe.seed + 1) as observer:
        for part in text.split(8):
            total += float(next_token_loss(model, part.to(device), "sum"))
        states = observer.states
    found: Rows = []
    for path in paths:
        values = compute(states[path, "input"], "input")["all"]
        one, *others, u = recipe.width * states[path, "input"].cos2[-1] / values["null_tokens"]
        random = np.array(others[:DIRECTIONS])
        for direction, energy in (("1", one), ("u", u))[: 2 if recipe.norm == "u" else 1]:
            angles = {column: float(values[name]) for column, name in _ANGLES.items() if direction == "1"}
            found.append({
                "site": path, "direction": direction, **angles, "norm_mean": float(values["norm_mean"]),
                "d_cos2": float(energy), "random_d_cos2_median": float(np.median(random)),
                "rank_among_random": int((random < energy).sum()), "directions": DIRECTIONS,
                "held_out_loss": total / text[:, 1:].numel(),
            })  # fmt: skip
    return found


def measure(model: GPT2LMHeadModel, recipe: Recipe, text: Tensor, *, ends: bool) -> dict[str, Rows]:
    """All tables of a checkpoint by name; those of writers and their gradients only at both ends of a run."""
    found = {"sites": sites(model, recipe, text)}
    if ends:
        found["writers"] = sizes(model, build_model(recipe))
        if model.num_parameters() < CHECKED_PARAMETERS:
            found["gradients"] = gradients(copy.deepcopy(model).cpu().double(), text[:2])
    return found
