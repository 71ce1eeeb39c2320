"""What is measured at a checkpoint: the sweep's own statistics on held-out text, the loss there, and the writers."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.nn import functional
from transformers import GPT2LMHeadModel

import lngeom

from .. import statistics
from ..capture import Observer
from ..models import norm_sites
from ._data import TokenData
from ._gradients import writer_gradients
from ._writers import uniform_energy, writers

SITE_COLUMNS = (
    "site",
    "layer",
    "role",
    "tokens",
    "angle_mean_deg",
    "angle_std_deg",
    "random_a_angle_mean_deg",
    "random_a_angle_std_deg",
    "random_b_angle_mean_deg",
    "random_b_angle_std_deg",
    "d_cos2",
    "d_cos2_low",
    "d_cos2_high",
    "random_d_cos2_median",
    "random_d_cos2_low",
    "random_d_cos2_high",
    "rank_among_random",
    "norm_mean",
)
"""The columns kept of the sweep's table: one row per site, for the vectors that enter the norm, at all positions."""

TABLES: dict[str, tuple[str, ...]] = {
    "held_out": ("step", "tokens", "loss"),
    "norms": ("step", *SITE_COLUMNS, "directions"),
    "writers": (
        "step",
        "writer",
        "start_size",
        "start_uniform_size",
        "size",
        "uniform_size",
        "share",
        "change_size",
        "change_share",
    ),
    "gradients": ("step", "writer", "share", "excess"),
}
"""The tables of a measurement, by name, with their columns.

Of each writer: ``size`` is the Frobenius norm, ``uniform_size`` that of its part along 1, ``share`` the energy along 1,
1 for an average direction; before training (``start_``), now, and of the ``change`` between the two.
"""

_GRADIENT_SEQUENCES = 2


class Measurement:
    """Measures a network at its checkpoints, always on the same text and against the same random directions.

    Args:
        model: GPT2LMHeadModel. The network before its first step; its writers are remembered.
        data: TokenData. Its held-out part is measured.
        length: Tokens per sequence.
        tokens: Tokens to measure, rounded up to whole sequences.
        directions: Random directions that the uniform one is ranked among.
        check_gradients: tuple of int. Steps after which the gradients of the writers are checked as well, in float64
            on the CPU.

    >>> import numpy as np
    >>> from empirical.training import Measurement, Shape, TokenData, build_model
    >>> model = build_model(Shape(1, 8, 2, 1e-3, 10, 11, 4, 2, 0.1), "layer", seed=0)
    >>> data = TokenData(np.arange(11), np.arange(9), 11, 0, source={}, tokenizer=None)
    >>> tables = Measurement(model, data, length=4, tokens=8, directions=4)(model, step=0)
    >>> {name: len(rows) for name, rows in tables.items()}  # three norm layers, six writers
    {'held_out': 1, 'norms': 3, 'writers': 6, 'gradients': 0}
    >>> {row["change_size"] for row in tables["writers"]}  # nothing has changed yet
    {0.0}
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
        self._start = {name: parameter.detach().cpu().clone() for name, parameter in writers(model)}

    def __call__(self, model: GPT2LMHeadModel, step: int) -> dict[str, list[dict[str, Any]]]:
        """Rows of every table of ``TABLES``."""
        loss, sites = self._forward(model)
        tables: dict[str, list[dict[str, Any]]] = {
            "held_out": [{"tokens": self._text[:, 1:].numel(), "loss": loss}],
            "norms": sites,
            "writers": [self._writer(name, parameter) for name, parameter in writers(model)],
            "gradients": self._gradients(model) if step in self._check_gradients else [],
        }
        return {name: [{"step": step, **row} for row in rows] for name, rows in tables.items()}

    def _forward(self, model: GPT2LMHeadModel) -> tuple[float, list[dict[str, Any]]]:
        base = model.transformer
        device = model.lm_head.weight.device
        sites = norm_sites(base)
        total = 0.0
        model.eval()
        with torch.inference_mode(), Observer(base, sites, directions=self._directions, seed=0) as observer:
            for part in self._text.split(8):
                ids = part.to(device)
                logits = model(input_ids=ids[:, :-1]).logits
                total += float(
                    functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="sum")
                )
            states = observer.states
        model.train()
        rows = [
            {**{column: row[column] for column in SITE_COLUMNS}, "directions": self._directions}
            for row in statistics.rows(states, sites)
            if row["side"] == "input" and row["bucket"] == "all"
        ]
        return total / self._text[:, 1:].numel(), rows

    def _writer(self, name: str, parameter: torch.Tensor) -> dict[str, Any]:
        start, now = self._start[name].double(), parameter.detach().cpu().double()
        change = now - start
        return {
            "writer": name,
            "start_size": float(start.norm()),
            "start_uniform_size": float(lngeom.mean_vector(start).norm()),
            "size": float(now.norm()),
            "uniform_size": float(lngeom.mean_vector(now).norm()),
            "share": uniform_energy(now),
            "change_size": float(change.norm()),
            "change_share": uniform_energy(change),
        }

    def _gradients(self, model: GPT2LMHeadModel) -> list[dict[str, Any]]:
        exact = copy.deepcopy(model).cpu().double()
        found = writer_gradients(exact, self._text[:_GRADIENT_SEQUENCES])
        return [{"writer": writer.name, "share": writer.energy, "excess": writer.excess} for writer in found]
