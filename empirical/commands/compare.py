"""Set finished runs side by side: before and after fine-tuning, two checkpoints, two models of one shape.

For each norm layer that all runs have: angle, energy along the uniform direction, norms, and how they change.
"""

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="output directories of lngeom sweep")
    parser.add_argument("--csv", metavar="FILE", help="write the table")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from ..pages import print_rows
    from ..sweep import compare

    rows = compare(arguments.runs, arguments.csv)
    if arguments.json:
        print(json.dumps(rows))
        return 0
    kept = ("site", "side", "angle_mean_deg", "d_cos2", "norm_mean")
    print_rows([{name: value for name, value in row.items() if name.startswith(kept)} for row in rows])
    return 0
