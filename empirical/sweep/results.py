"""The files of a finished run: state, table, verdicts, figures, page; and how the run is shown from them."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from lngeom.files import replacing

from .. import judge, observe, pages
from ..models import NormSite
from ..runs import MEASURE_AGAIN, RunDirectory, identity_of
from ..support import Rows, read_records, say, write_records, write_table


def write_results(
    run: RunDirectory, states: observe.States, sites: Sequence[NormSite], judged: Sequence[judge.Prediction] = ()
) -> Rows:
    """Write everything a finished run holds, ``DONE`` last; returns the table.

    ``judged`` are the predictions that take the model; those that the table alone decides are added to them.
    """
    with replacing(run.state_path) as draft:
        observe.save_states(draft, states, {"measured": json.dumps(identity_of(run.manifest()))})
    rows = observe.rows(states, sites)
    write_table(run.path / "sites.csv", rows, observe.COLUMNS)
    write_records(run.predictions_path, judge.Prediction, [*judged, *judge.isotropy(rows)])
    pages.draw_figures(rows, run.path, run.manifest())
    pages.write_report(run.path)
    run.finish()
    return rows


def check_state(run: RunDirectory) -> None:
    """Raise RunError if the statistics of a finished run are damaged; they may be left out of what is published."""
    if run.state_path.exists():
        observe.load_states(run.state_path, MEASURE_AGAIN)


def written_to(path: Path) -> str:
    """The line that says where the results of a run are."""
    return f"written to {path}: report.html, sites.csv, predictions.csv"


def show_run(run: RunDirectory, console: Console) -> None:
    """Print the table of a finished run, if its files are unchanged."""
    run.finished_manifest()
    pages.print_table(observe.read_sites(run.path / "sites.csv"), console)
    print_verdicts(run, console)
    console.print(f"see {run.path / 'report.html'}", markup=False, soft_wrap=True)


def print_verdicts(run: RunDirectory, console: Console) -> None:
    """Print what became of the predictions, if the run has any."""
    if run.predictions_path.exists():
        say(console, "\n".join(judge.summary_lines(read_records(run.predictions_path, judge.Prediction))))
