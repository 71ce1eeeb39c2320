"""Measured beside published: what is averaged how, so that the two can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..models import PUBLISHED, Spread
from ..predictions import Prediction

Row = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """What a finished run of a known model left: its manifest, its table and the verdicts on the predictions.

    Attributes:
        name: One of :data:`empirical.models.KNOWN_MODELS`.
        manifest: ``weights`` and ``tokens_measured`` are read.
        rows: As :func:`empirical.statistics.rows` makes them.
        predictions: Of the run, if it has any.

    >>> from empirical.report import Measured
    >>> Measured("gpt2-xl", {"weights": "random, seed 0", "tokens_measured": 512}, rows=[], predictions=[]).label
    'gpt2-xl (random weights)'
    """

    name: str
    manifest: Mapping[str, Any]
    rows: Sequence[Row]
    predictions: Sequence[Prediction]

    @property
    def is_trained(self) -> bool:
        """Whether its weights are those of the model, not random ones."""
        return self.manifest["weights"] == "trained"

    @property
    def label(self) -> str:
        """Its name, marked where the weights are random."""
        return self.name if self.is_trained else f"{self.name} (random weights)"


COLUMNS = (
    "model",
    "weights",
    "tokens",
    "quantity",
    "layer",
    "sites",
    "measured_mean",
    "measured_std",
    "measured_max",
    "published_mean",
    "published_std",
    "published_max",
    "difference",
)
"""Columns of the comparison; angles in degrees.

``layer`` is the block, empty for the average over all blocks, and ``sites`` the norm layers averaged. Published are
averages over all layers: they stand beside each layer for comparison. ``difference`` of trained weights is measured
minus published mean.
"""

# quantity: (side, roles, column of the mean, of the standard deviation, of the maximum)
_QUANTITIES: dict[str, tuple[str, tuple[str, ...], str, str | None, str | None]] = {
    "hidden_angle": ("input", ("pre_attn", "pre_mlp", "pre_both"), "angle_mean_deg", "angle_std_deg", None),
    "attn_angle": ("output", ("pre_attn", "pre_both"), "angle_mean_deg", "angle_std_deg", None),
    "mlp_angle": ("output", ("pre_mlp",), "angle_mean_deg", "angle_std_deg", None),
    "hidden_norm": ("input", ("pre_attn", "pre_mlp", "pre_both"), "norm_mean", "norm_std", "norm_max"),
    "attn_norm": ("output", ("pre_attn", "pre_both"), "norm_mean", "norm_std", "norm_max"),
    "mlp_norm": ("output", ("pre_mlp",), "norm_mean", "norm_std", "norm_max"),
    "attn_rotation": ("output", ("pre_attn", "pre_both"), "rotation_mean_deg", "rotation_std_deg", None),
    "mlp_rotation": ("output", ("pre_mlp",), "rotation_mean_deg", "rotation_std_deg", None),
}

PUBLISHED_GROWTH = {"gpt2-xl": 1.045}
"""Factors by which the norm of the residual stream was found to grow per block."""

PUBLISHED_GROWTH_SOURCE = (
    "Heimersheim and Turner, Residual stream norms grow exponentially over the forward pass (2023)"
)

QUANTITIES = {
    "hidden_angle": "angle of hidden states to 1",
    "attn_angle": "angle to 1 after LN1",
    "mlp_angle": "angle to 1 after LN2",
    "hidden_norm": "norm of hidden states",
    "attn_norm": "norm after LN1",
    "mlp_norm": "norm after LN2",
    "attn_rotation": "rotation by LN1",
    "mlp_rotation": "rotation by LN2",
}
"""The quantities of the published tables, in words."""


def _average(rows: Sequence[Row], column: str | None) -> float | None:
    values = [row[column] for row in rows if column is not None and row[column] is not None]
    return math.fsum(values) / len(values) if values else None


def compare(model: Measured) -> list[Row]:
    """The rows of the comparison for one model: for each quantity the average, then every block.

    Means and standard deviations are those of each norm layer over all its tokens, averaged over the layers of the
    blocks, as the published tables are; the final norm is not among them. A vector read by two norms counts once.
    """
    manifest = model.manifest
    about = {"model": model.name, "weights": manifest["weights"], "tokens": manifest["tokens_measured"]}
    table = []
    for quantity, (side, roles, mean, std, largest) in _QUANTITIES.items():
        chosen = [
            row
            for row in model.rows
            if row["side"] == side and row["role"] in roles and row["bucket"] == "all"
            if side == "output" or row["same_input_as"] is None
        ]
        if not chosen:
            continue
        published = getattr(PUBLISHED[model.name], quantity) or Spread(math.nan)
        for layer in (None, *sorted({row["layer"] for row in chosen})):
            of_layer = [row for row in chosen if layer in (None, row["layer"])]
            measured = _measured(of_layer, mean, std, largest)
            found = measured["measured_mean"]
            table.append(
                about
                | {"quantity": quantity, "layer": layer, "sites": len(of_layer)}
                | measured
                | {
                    "published_mean": published.mean,
                    "published_std": published.std,
                    "published_max": published.maximum,
                    "difference": found - published.mean if model.is_trained and found is not None else None,
                }
            )
    return table


def _measured(rows: Sequence[Row], mean: str, std: str | None, largest: str | None) -> Row:
    return {
        "measured_mean": _average(rows, mean),
        "measured_std": _average(rows, std),
        "measured_max": max(row[largest] for row in rows) if largest else None,
    }
