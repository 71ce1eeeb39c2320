"""Compare finished runs: before and after fine-tuning, two checkpoints, two models of the same shape.

The table has, for each norm layer that all runs have, angle, energy along the uniform direction, norms, and how they
change.

Examples:
    lngeom compare runs/before runs/after
    lngeom compare runs/before runs/after --csv change.csv
"""

from dataclasses import dataclass
from pathlib import Path

from lngeom.options import argument, json_alone, json_option, option, written


@dataclass(frozen=True)
class Options:
    """The runs, and where the table goes."""

    runs: tuple[str, ...] = argument("RUN", "output directories of lngeom sweep")
    csv: Path | None = option(None, "write the table", metavar="FILE", type=written)
    json: str | None = json_option("the table")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..observe import false_alarms
    from ..pages import print_rows
    from ..sweep import compare_runs

    rows = compare_runs(options.runs, options.csv)
    if not json_alone(rows, options.json):
        heads = {"angle_mean_deg": "angle", "d_cos2": "d·E", "norm_mean": "norm"}
        lines = [
            {"norm layer": row["site"], "": "in" if row["side"] == "input" else "out"}
            | {
                f"{head} {k}": row[f"{name}_{k}"]
                for name, head in heads.items()
                for k in range(1, len(options.runs) + 1)
            }
            for row in rows
        ]
        print_rows(lines)
        for k in range(2, len(options.runs) + 1):
            halves = [(row[f"d_cos2_change_{k}"], row[f"d_cos2_change_{k}_half"]) for row in rows]
            pairs = [(abs(change), half) for change, half in halves if None not in (change, half)]
            print(
                f"d·E of run {k}: beyond the 95 % interval of no change at {sum(c > h for c, h in pairs)} of "
                f"{len(pairs)} places, where by chance {false_alarms(len(pairs)):.3g} are on average; else not "
                "distinguished"
            )
    return 0
