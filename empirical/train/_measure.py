"""The measurement at a checkpoint: the sweep's own statistics on held-out text, the loss there, and the writers.

Of a control arm, whose norms are those of no family that the sweep knows, it is the energy of the stream along 1, along
u, and along random directions.
"""

import copy
from collections.abc import Callable
from contextlib import ExitStack
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

import lngeom

from .. import observe
from ..models import sites_of
from ..observe import Observer, random_directions
from ..support import Rows
from ._data import TokenData
from ._gradients import adam_step, uniform_energy, writer_gradients, writers
from ._model import next_token_loss, projected_direction

SITE_COLUMNS = (
    *("site", "layer", "role", "tokens", "angle_mean_deg", "angle_std_deg", "random_a_angle_mean_deg"),
    *("random_a_angle_std_deg", "random_b_angle_mean_deg", "random_b_angle_std_deg", "d_cos2", "d_cos2_low"),
    *("d_cos2_high", "random_d_cos2_median", "random_d_cos2_low", "random_d_cos2_high", "rank_among_random"),
    "norm_mean",
)
"""The columns kept of the sweep's table: one row per site, for the vectors that enter the norm, at all positions."""

Tables = dict[str, Rows]
TABLES: dict[str, tuple[str, ...]] = {
    "held_out": ("step", "tokens", "loss"),
    "norms": ("step", *SITE_COLUMNS, "directions"),
    "writers": (
        *("step", "writer", "start_size", "start_uniform_size", "size", "uniform_size", "share"),
        *("change_size", "change_share", "step_cv2", "step_share", "step_excess"),
    ),
    "gradients": ("step", "writer", "share", "excess"),
}
"""The tables of a measurement, by name, with their columns.

Of each writer: ``size`` is the Frobenius norm, ``uniform_size`` that of its part along 1, ``share`` the energy along 1,
1 for an average direction; before training (``start_``), now, and of the ``change`` between the two. Of the ``step`` of
AdamW, see :class:`AdamStep`; empty for other optimizers.
"""

_GRADIENT_SEQUENCES = 2


class Measurement:
    """Measures a network at its checkpoints, always on the same text and against the same random directions.

    `model` is the network before its first step, whose writers are remembered. Of the held-out part of `data` it
    measures `tokens` in sequences of `length`, rounded up to whole ones; after the steps `check_gradients` it checks
    the gradients of the writers, too, in float64 on the CPU.
    """

    tables = TABLES

    def __init__(
        self,
        model: GPT2LMHeadModel,
        data: TokenData,
        *,
        length: int,
        tokens: int,
        directions: int,
        check_gradients: tuple[int, ...] = (),
    ) -> None:
        self._text = data.held_out_sequences(length, tokens)
        self._directions = directions
        self._check_gradients = check_gradients
        self._sites = sites_of(model.transformer)
        self._start = {name: parameter.detach().cpu().clone() for name, parameter in writers(model)}

    def __call__(self, model: GPT2LMHeadModel, step: int, optimizer: torch.optim.Optimizer | None = None) -> Tables:
        """Rows of every table of ``TABLES``."""
        loss, sites = self._forward(model)
        steps = {name: adam_step(parameter, optimizer) for name, parameter in writers(model)}
        tables: Tables = {
            "held_out": [{"tokens": self._text[:, 1:].numel(), "loss": loss}],
            "norms": sites,
            "writers": [{**self._writer(name, p), **vars(steps[name])} for name, p in writers(model)],
            "gradients": self._gradients(model) if step in self._check_gradients else [],
        }
        return {name: [{"step": step, **row} for row in rows] for name, rows in tables.items()}

    def _forward(self, model: GPT2LMHeadModel) -> tuple[float, Rows]:
        base, device, total = model.transformer, model.lm_head.weight.device, 0.0
        model.eval()
        with torch.inference_mode(), Observer(base, self._sites, directions=self._directions, seed=0) as observer:
            for part in self._text.split(8):
                total += float(next_token_loss(model, part.to(device), "sum"))
            states = observer.states
        model.train()
        rows = [
            {**{column: row[column] for column in SITE_COLUMNS}, "directions": self._directions}
            for row in observe.rows(states, self._sites)
            if row["side"] == "input" and row["bucket"] == "all"
        ]
        return total / self._text[:, 1:].numel(), rows

    def _writer(self, name: str, parameter: torch.Tensor) -> dict[str, str | float]:
        start, now = self._start[name].double(), parameter.detach().cpu().double()
        change = now - start
        return {
            "writer": name,
            "start_size": float(start.norm()),
            "start_uniform_size": float(lngeom.projection.mean_vector(start).norm()),
            "size": float(now.norm()),
            "uniform_size": float(lngeom.projection.mean_vector(now).norm()),
            "share": uniform_energy(now),
            "change_size": float(change.norm()),
            "change_share": uniform_energy(change),
        }

    def _gradients(self, model: GPT2LMHeadModel) -> Rows:
        exact = copy.deepcopy(model).cpu().double()
        compared = writer_gradients(exact, self._text[:_GRADIENT_SEQUENCES])
        return [{"writer": writer.name, "share": writer.energy, "excess": writer.excess} for writer in compared]


class StreamMeasurement:
    """Measures the energy along 1 and u where blocks and head read the stream; for control arms, as a Measurement.

    ``width`` and ``seed`` are d and the seed of the run, which name u.
    """

    tables: ClassVar[dict[str, tuple[str, ...]]] = {
        "held_out": ("step", "tokens", "loss"),
        "directions": (
            *("step", "site", "direction", "d_cos2", "random_d_cos2_median", "rank_among_random", "directions"),
        ),
    }

    def __init__(self, data: TokenData, *, width: int, seed: int, length: int, tokens: int, directions: int) -> None:
        self._text = data.held_out_sequences(length, tokens)
        named = np.stack([np.full(width, width**-0.5), projected_direction(width, seed)])
        self._columns = torch.from_numpy(np.concatenate([named, random_directions(width, directions, seed=0)]).T)

    def __call__(self, model: GPT2LMHeadModel, step: int, optimizer: torch.optim.Optimizer | None = None) -> Tables:
        """Rows of every table of ``tables``."""
        base = model.transformer
        sites = {**{f"h.{k}": block for k, block in enumerate(base.h)}, "ln_f": base.ln_f}
        energies: dict[str, Tensor] = {}

        def reading(site: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
            def read(_: nn.Module, given: tuple[Tensor, ...]) -> None:
                x = given[0].double().cpu()
                cos2 = (x @ self._columns) ** 2 / (x * x).sum(-1, keepdim=True)
                energies[site] = x.shape[-1] * cos2.flatten(0, -2).mean(0)

            return read

        model.eval()
        with ExitStack() as hooks, torch.inference_mode():
            for site, module in sites.items():
                hooks.enter_context(module.register_forward_pre_hook(reading(site)))
            loss = float(next_token_loss(model, self._text.to(model.lm_head.weight.device)))
        model.train()
        rows = [
            {
                "step": step, "site": site, "direction": direction, "d_cos2": float(energy),
                "random_d_cos2_median": float(each[2:].median()), "rank_among_random": int((each[2:] < energy).sum()),
                "directions": len(each) - 2,
            }
            for site, each in energies.items()
            for direction, energy in zip(("1", "u"), each[:2], strict=True)
        ]  # fmt: skip
        held_out = {"step": step, "tokens": self._text[:, 1:].numel(), "loss": loss}
        return {"held_out": [held_out], "directions": rows}
