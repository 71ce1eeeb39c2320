"""What a run leaves behind: state, table, figures, page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import report, statistics
from ._files import replacing
from ._manifest import measured_by
from ._run import RunDirectory
from .models import NormSite


def write_results(
    run: RunDirectory, states: statistics.States, sites: Sequence[NormSite]
) -> list[dict[str, Any]]:
    """Write everything a finished run holds, ``DONE`` last; returns the table."""
    manifest = run.manifest()
    with replacing(run.state_path) as draft:
        statistics.save(draft, states, {"measured": json.dumps(measured_by(manifest))})
    rows = statistics.rows(states, sites)
    with replacing(run.path / "sites.csv") as draft:
        statistics.write_csv(draft, rows)
    report.draw_figures(rows, run.path, manifest)
    report.write_report(run.path)
    run.finish()
    return rows
