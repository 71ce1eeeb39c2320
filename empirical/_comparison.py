"""Measured beside published: what is averaged how, so that the two can be compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .models import PUBLISHED, Spread

Row = dict[str, Any]

COLUMNS = (
    "model",
    "weights",
    "tokens",
    "quantity",
    "layers",
    "measured_mean",
    "measured_std",
    "measured_max",
    "published_mean",
    "published_std",
    "published_max",
    "difference",
)
"""Columns of the comparison; angles in degrees. ``difference`` of trained weights is measured minus published mean."""

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


def compare(name: str, manifest: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    """The rows of the comparison for one model.

    Means and standard deviations are those of each norm layer over all its tokens, averaged over the layers of the
    blocks, as the published tables are; the final norm is not among them. A vector read by two norms counts once.

    Parameters
    ----------
    name
        Name of a known model.
    manifest
        Manifest of its run.
    rows
        Its table, as :func:`empirical.statistics.rows` makes it.
    """
    published = PUBLISHED[name]
    random = manifest["weights"] != "trained"
    table = []
    for quantity, (side, roles, mean, std, largest) in _QUANTITIES.items():
        chosen = [
            row
            for row in rows
            if row["side"] == side and row["role"] in roles and row["bucket"] == "all"
            if side == "output" or row["same_input_as"] is None
        ]
        if not chosen:
            continue
        reference = getattr(published, quantity) or Spread(math.nan)
        measured = _average(chosen, mean)
        table.append(
            {
                "model": name,
                "weights": manifest["weights"],
                "tokens": manifest["tokens_measured"],
                "quantity": quantity,
                "layers": len(chosen),
                "measured_mean": measured,
                "measured_std": _average(chosen, std),
                "measured_max": max(row[largest] for row in chosen) if largest else None,
                "published_mean": reference.mean,
                "published_std": reference.std,
                "published_max": reference.maximum,
                "difference": None if measured is None or random else measured - reference.mean,
            }
        )
    return table
