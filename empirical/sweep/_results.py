"""What a run leaves behind: state, table, figures, page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import predictions, report, statistics
from ..models import NormSite
from ..runs import RunDirectory, measured_by, replacing


def written_to(path: Path) -> str:
    """The line that says where the results of a run are."""
    return f"written to {path}: report.html, sites.csv, predictions.csv, growth.csv"


def write_results(
    run: RunDirectory,
    states: statistics.States,
    sites: Sequence[NormSite],
    judged: Sequence[predictions.Prediction] = (),
) -> list[dict[str, Any]]:
    """Write everything a finished run holds, ``DONE`` last; returns the table.

    ``judged`` are the predictions that take the model; those that the table alone decides are added to them.
    """
    manifest = run.manifest()
    with replacing(run.state_path) as draft:
        statistics.save(draft, states, {"measured": json.dumps(measured_by(manifest))})
    rows = statistics.rows(states, sites)
    statistics.write_csv(run.path / "sites.csv", rows)
    predictions.write_csv(run.predictions_path, [*judged, *predictions.isotropy(rows)])
    write_pages(run, rows)
    run.finish()
    return rows


def write_pages(run: RunDirectory, rows: Sequence[dict[str, Any]]) -> Path:
    """Write what follows from the table of a run alone: growth, figures and the page; returns the path of the page."""
    statistics.write_growth(run.path / "growth.csv", statistics.growth(rows))
    report.draw_figures(rows, run.path, run.manifest())
    return report.write_report(run.path)
