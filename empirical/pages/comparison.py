"""The page that shows several models beside one another and beside the published numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lngeom.files import Json
from lngeom.verdicts import MEANINGS, PREDICTION_VERDICTS, Verdict

from ..models import KNOWN_MODELS, PUBLISHED_SOURCE
from ..support import Row
from .html import write_page
from .measured import QUANTITIES, Measured, beside_published
from .sweep import VerdictLine, exact_verdicts, verdict_lines


def _verdicts(models: Sequence[Measured]) -> Iterator[Row]:
    """All predictions together, then one by one: its theorems (LayerNorm and RMSNorm have their own), its verdicts."""
    tables = [verdict_lines(model.predictions) for model in models]
    theorems: dict[str, dict[str, None]] = {}
    for line in (line for table in tables for line in table):
        theorems.setdefault(line.prediction, {})[line.theorem] = None
    if theorems:
        yield {"prediction": "all predictions", "theorems": [], "by_model": [_counts(table) for table in tables]}
    for name, ids in theorems.items():
        counts = [_counts([line for line in table if line.prediction == name]) for table in tables]
        yield {"prediction": name, "theorems": list(ids), "by_model": counts}


def _counts(lines: Sequence[VerdictLine]) -> Mapping[Verdict, int] | None:
    return sum((Counter(line.counts) for line in lines), Counter[Verdict]()) if lines else None


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
        verdicts=list(_verdicts(models)),
        signs=[(word, MEANINGS[word]) for word in PREDICTION_VERDICTS],
        comparison=comparison,
        quantities=QUANTITIES,
        known=len(KNOWN_MODELS),
        source=PUBLISHED_SOURCE,
        about=about,
    )
