"""What a run leaves behind: state, table, figures, page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import judge, observe, pages
from ..models import NormSite
from ..runs import RunDirectory, measured_by
from ..support import replacing


def written_to(path: Path) -> str:
    """The line that says where the results of a run are."""
    return f"written to {path}: report.html, sites.csv, predictions.csv, growth.csv"


def write_results(
    run: RunDirectory, states: observe.States, sites: Sequence[NormSite], judged: Sequence[judge.Prediction] = ()
) -> list[dict[str, Any]]:
    """Write everything a finished run holds, ``DONE`` last; returns the table.

    ``judged`` are the predictions that take the model; those that the table alone decides are added to them.
    """
    manifest = run.manifest()
    with replacing(run.state_path) as draft:
        observe.save(draft, states, {"measured": json.dumps(measured_by(manifest))})
    rows = observe.rows(states, sites)
    observe.write_csv(run.path / "sites.csv", rows)
    judge.write_csv(run.predictions_path, [*judged, *judge.isotropy(rows)])
    write_pages(run, rows)
    run.finish()
    return rows


def write_pages(run: RunDirectory, rows: Sequence[dict[str, Any]]) -> Path:
    """Write what follows from the table of a run alone: growth, figures and the page; returns the path of the page."""
    observe.write_growth(run.path / "growth.csv", observe.growth(rows))
    pages.draw_figures(rows, run.path, run.manifest())
    return pages.write_report(run.path)
