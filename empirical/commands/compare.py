"""Set finished runs side by side: before and after fine-tuning, two checkpoints, two models of one shape.

For each norm layer that all runs have: angle, energy along the uniform direction, norms, and how they change.

Example: lngeom compare runs/before runs/after --csv changes.csv
"""

from dataclasses import dataclass

from lngeom.options import argument, json_alone, json_option, option


@dataclass(frozen=True)
class Options:
    """The runs, and where the table goes."""

    runs: tuple[str, ...] = argument("RUN", "output directories of lngeom sweep")
    csv: str | None = option(None, "write the table", metavar="FILE")
    json: str | None = json_option("the table")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..pages import print_rows
    from ..sweep import compare_runs

    rows = compare_runs(options.runs, options.csv)
    if not json_alone(rows, options.json):
        kept = ("site", "side", "angle_mean_deg", "d_cos2", "norm_mean")
        print_rows([{name: value for name, value in row.items() if name.startswith(kept)} for row in rows])
    return 0
