"""The page that shows several models beside one another and beside the published numbers, and its table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lngeom.files import Json

from ..judge import Prediction
from ..models import KNOWN_MODELS, PUBLISHED, PUBLISHED_SOURCE, PublishedSpread
from ..support import Row
from .html import write_page
from .sweep import exact_verdicts


@dataclass(frozen=True)
class Measured:
    """A finished run of a known model: its manifest, its table and the verdicts on the predictions.

    Attributes:
        name: One of :data:`lngeom.empirical.models.KNOWN_MODELS`.
        manifest: ``weights`` and ``tokens_measured`` are read.
        rows: As :func:`lngeom.empirical.observe.rows` makes them.
        predictions: Of the run, if it has any.
    """

    name: str
    manifest: Json
    rows: Sequence[Row]
    predictions: Sequence[Prediction]

    @property
    def is_trained(self) -> bool:
        """Whether its weights are the model's, not random ones."""
        return not str(self.manifest["weights"]).startswith("random")


_BEFORE_ATTENTION = ("pre_attn", "pre_both")
_QUANTITIES = {
    "hidden_angle": ("angle of hidden states to 1", "input", (*_BEFORE_ATTENTION, "pre_mlp")),
    "attn_angle": ("angle to 1 after LN1", "output", _BEFORE_ATTENTION),
    "mlp_angle": ("angle to 1 after LN2", "output", ("pre_mlp",)),
    "hidden_norm": ("norm of hidden states", "input", (*_BEFORE_ATTENTION, "pre_mlp")),
    "attn_norm": ("norm after LN1", "output", _BEFORE_ATTENTION),
    "mlp_norm": ("norm after LN2", "output", ("pre_mlp",)),
    "attn_rotation": ("rotation by LN1", "output", _BEFORE_ATTENTION),
    "mlp_rotation": ("rotation by LN2", "output", ("pre_mlp",)),
}
QUANTITIES = {name: words for name, (words, _, _) in _QUANTITIES.items()}
"""The quantities of the published tables, in words."""


def _average(rows: Sequence[Row], column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return math.fsum(values) / len(values) if values else None


def beside_published(model: Measured) -> list[Row]:
    """The rows of the comparison for one model: for each quantity the average, then every block.

    Means and standard deviations are taken over all tokens of each norm layer, then averaged over the layers of the
    blocks, as in the published tables; the final norm is left out. A vector read by two norms counts once.

    ``layer`` is the block, empty for the average over all blocks, and ``sites`` the norm layers averaged; angles are in
    degrees. Published are averages over all layers: they stand beside each layer for comparison. ``difference`` of
    trained weights is measured minus published mean.
    """
    manifest = model.manifest
    about = {"model": model.name, "weights": manifest["weights"], "tokens": manifest["tokens_measured"]}
    table = []
    for quantity, (_, side, roles) in _QUANTITIES.items():
        what = quantity.rpartition("_")[2]
        unit = "" if what == "norm" else "_deg"
        chosen = [
            row
            for row in model.rows
            if row["side"] == side and row["role"] in roles and row["bucket"] == "all"
            if side == "output" or row["same_input_as"] is None
        ]
        if not chosen:
            continue
        published = PUBLISHED[model.name].get(quantity, PublishedSpread(math.nan))
        for layer in (None, *sorted({row["layer"] for row in chosen})):
            of_layer = [row for row in chosen if layer in (None, row["layer"])]
            average = _average(of_layer, f"{what}_mean{unit}")
            measured = {
                "measured_mean": average,
                "measured_std": _average(of_layer, f"{what}_std{unit}"),
                "measured_max": max(row["norm_max"] for row in of_layer) if what == "norm" else None,
                "published_mean": published.mean,
                "published_std": published.std,
                "published_max": published.maximum,
                "difference": average - published.mean if model.is_trained and average is not None else None,
            }
            table.append({**about, "quantity": quantity, "layer": layer, "sites": len(of_layer), **measured})
    return table


def write_comparison(path: Path, models: Sequence[Measured], failures: Mapping[str, str], about: Json) -> None:
    """Write the page as one HTML file that opens offline."""
    comparison = [row for model in models for row in beside_published(model)]
    angles = [row for row in comparison if row["quantity"] == "hidden_angle" and row["layer"] is None]
    apart = [row for row in angles if row["difference"] is not None]
    write_page(
        path,
        "comparison.html",
        models=[{"name": model.name, "trained": model.is_trained} for model in models],
        exact=exact_verdicts(each for model in models for each in model.predictions),
        apart=max(apart, key=lambda row: abs(row["difference"]), default=None),
        failures=failures,
        comparison=comparison,
        quantities=QUANTITIES,
        known=len(KNOWN_MODELS),
        source=PUBLISHED_SOURCE,
        about=about,
    )
