"""The page that shows several models beside one another and beside the published numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lngeom.verdicts import MEANINGS, PREDICTION_VERDICTS, Verdict

from ..models import KNOWN_MODELS, PUBLISHED_SOURCE
from ..observe import growth
from ..support import write_text
from ._comparison_figures import FIGURES, comparison_figures
from ._html import drawn, render
from ._measured import PUBLISHED_GROWTH, PUBLISHED_GROWTH_SOURCE, QUANTITIES, Measured, compare
from ._page import VerdictLine, verdict_lines
from ._remarks import of_models

Row = dict[str, Any]
_SIGNS = tuple((word, MEANINGS[word].sign, MEANINGS[word].tone) for word in PREDICTION_VERDICTS)


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


def _shown(model: Measured, rows: Sequence[Row]) -> Row:
    """What the page shows of one model: its table has lines for what is published, measured, and for every block."""
    quantities = list(dict.fromkeys(row["quantity"] for row in rows))
    found = {(row["quantity"], row["layer"]): row for row in rows}
    layers = sorted({row["layer"] for row in rows if row["layer"] is not None})

    def cells(layer: int | None, column: str = "measured_mean") -> list[float | None]:
        return [found[name, layer][column] if (name, layer) in found else None for name in quantities]

    lines = [("published", cells(None, "published_mean")), ("all blocks", cells(None))]
    return {
        "name": model.name,
        "weights": model.manifest["weights"],
        "tokens": model.manifest["tokens_measured"],
        "growth": growth(model.rows),
        "quantities": quantities,
        "lines": [*lines, *((str(layer), cells(layer)) for layer in layers)],
    }


def write_comparison(
    path: Path, models: Sequence[Measured], failures: Mapping[str, str], about: Mapping[str, Any]
) -> None:
    """Write the page as one HTML file that opens offline."""
    compared = [compare(model) for model in models]
    comparison = [row for rows in compared for row in rows]
    page = render(
        "comparison.html",
        models=[_shown(model, rows) for model, rows in zip(models, compared, strict=True)],
        verdicts=list(_verdicts(models)),
        signs=_SIGNS,
        figures=[(name, drawn(figure, name), FIGURES[name][-1]) for name, figure in comparison_figures(models).items()],
        comparison=comparison,
        quantities=QUANTITIES,
        published_growth=PUBLISHED_GROWTH,
        growth_source=PUBLISHED_GROWTH_SOURCE,
        remarks=of_models(models, comparison, failures),
        known=len(KNOWN_MODELS),
        source=PUBLISHED_SOURCE,
        about=about,
    )
    write_text(path, page)
