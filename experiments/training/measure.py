"""The measurement at a checkpoint: the sweep's own statistics on held-out text, the loss there, and the writers.

Of the control arm, whose norms are those of no family that the sweep knows, it is the energy of the stream along 1,
along u, and along random directions.
"""

import copy
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

import lngeom
from lngeom.empirical import observe
from lngeom.empirical.models import sites_of
from lngeom.empirical.observe import Observer, random_directions
from lngeom.empirical.support import Rows

from .gradients import uniform_energy, writer_gradients, writers
from .networks import next_token_loss, projected_direction
from .recipe import Recipe

SITE_COLUMNS = (
    *("site", "layer", "role", "tokens", "angle_mean_deg", "angle_std_deg", "random_a_angle_mean_deg"),
    *("random_a_angle_std_deg", "random_b_angle_mean_deg", "random_b_angle_std_deg", "d_cos2", "d_cos2_low"),
    *("d_cos2_high", "random_d_cos2_median", "random_d_cos2_low", "random_d_cos2_high", "rank_among_random"),
    "norm_mean",
)
"""The columns kept of the sweep's table: one row per site, for the vectors that enter the norm, at all positions."""

TABLES = ("held_out", "norms", "directions", "writers", "gradients")
"""The control arm has ``directions``, the others have ``norms``, ``writers`` and ``gradients``.

Of each writer: ``size`` is the Frobenius norm, ``uniform_size`` that of its part along 1, ``share`` the energy along 1,
1 for an average direction; before training (``start_``), now, and of the ``change`` between the two.
"""

CHECKED_PARAMETERS = 50_000_000
"""Networks with more parameters are not copied to float64 for the check of their gradients."""


class Measurement:
    """Measures a network at its checkpoints, always on the same sequences `text` and against the same directions.

    `model` is the network of `recipe` before its first step, whose writers are remembered.
    """

    def __init__(self, model: GPT2LMHeadModel, recipe: Recipe, text: Tensor, directions: int) -> None:
        self._text, self._directions = text, directions
        self._seed, self._control = recipe.seed, recipe.norm == "u"
        self._sites = () if self._control else sites_of(model.transformer)
        self._start = {name: parameter.detach().cpu().clone() for name, parameter in writers(model)}

    def __call__(self, model: GPT2LMHeadModel, *, gradients: bool) -> dict[str, Rows]:
        """The rows of every table; those of `gradients` only if they are asked for."""
        device, total, count = model.lm_head.weight.device, 0.0, self._text[:, 1:].numel()
        seeing: Any = (
            _Energies(model, self._directions, self._seed)
            if self._control
            else Observer(model.transformer, self._sites, directions=self._directions, seed=0)
        )
        model.eval()
        with torch.inference_mode(), seeing:
            for part in self._text.split(8):
                total += float(next_token_loss(model, part.to(device), "sum"))
            states = {} if self._control else seeing.states
        model.train()
        held_out = [{"tokens": count, "loss": total / count}]
        if self._control:
            return {"held_out": held_out, "directions": list(seeing.rows(count))}
        norms = [
            {**{column: row[column] for column in SITE_COLUMNS}, "directions": self._directions}
            for row in observe.rows(states, self._sites)
            if row["side"] == "input" and row["bucket"] == "all"
        ]
        changed = [self._writer(name, parameter) for name, parameter in writers(model)]
        checked = gradients and model.num_parameters() < CHECKED_PARAMETERS
        found = writer_gradients(copy.deepcopy(model).cpu().double(), self._text[:2]) if checked else []
        return {"held_out": held_out, "norms": norms, "writers": changed, "gradients": found}

    def _writer(self, name: str, parameter: nn.Parameter) -> dict[str, Any]:
        start, now = self._start[name].double(), parameter.detach().cpu().double()
        sizes = {
            f"{when}{what}size": float(part.norm())
            for when, each in (("start_", start), ("", now))
            for what, part in (("", each), ("uniform_", lngeom.projection.mean_vector(each)))
        }
        change = {"change_size": float((now - start).norm()), "change_share": uniform_energy(now - start)}
        return {"writer": name, **sizes, "share": uniform_energy(now), **change}


class _Energies(ExitStack):
    """d·E[cos²θ] along 1, u and random directions where blocks and head read the stream, while it is open."""

    def __init__(self, model: GPT2LMHeadModel, directions: int, seed: int) -> None:
        super().__init__()
        width = model.config.hidden_size
        named = np.stack([np.full(width, width**-0.5), projected_direction(width, seed)])
        self._columns = torch.from_numpy(np.concatenate([named, random_directions(width, directions, seed=0)]).T)
        self._sums: dict[str, Tensor] = {}
        blocks = {f"h.{k}": block for k, block in enumerate(model.transformer.h)}
        self._sites = {module: site for site, module in {**blocks, "ln_f": model.transformer.ln_f}.items()}

    def __enter__(self) -> "_Energies":
        for module in self._sites:
            self.enter_context(module.register_forward_pre_hook(self._read))
        return self

    def _read(self, module: nn.Module, given: tuple[Tensor, ...]) -> None:
        x, site = given[0].double().cpu(), self._sites[module]
        cos2 = (x @ self._columns) ** 2 / (x * x).sum(-1, keepdim=True)
        self._sums[site] = self._sums.get(site, 0.0) + x.shape[-1] * cos2.flatten(0, -2).sum(0)

    def rows(self, tokens: int) -> Iterator[dict[str, Any]]:
        """A row for each site and for 1 and u, of the energies over so many tokens."""
        for site, each in ((site, sums / tokens) for site, sums in self._sums.items()):
            for direction, energy in zip(("1", "u"), each[:2], strict=True):
                yield {
                    "site": site, "direction": direction, "d_cos2": float(energy),
                    "random_d_cos2_median": float(each[2:].median()),
                    "rank_among_random": int((each[2:] < energy).sum()), "directions": len(each) - 2,
                }  # fmt: skip
