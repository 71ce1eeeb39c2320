"""Merge finished runs of one model on several parts of a text into one run, as if it had read them all.

The runs must agree in model, weights, dtype, sequence length, random directions and seed; their texts, devices and
batches may differ. Runs over the same tokens are refused.
"""

import argparse
import json
import shlex
from pathlib import Path

from .. import pages
from ..sweep import merge_runs, written_to


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("runs", nargs="+", metavar="DIR", help="output directories of lngeom sweep")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the merged run")
    parser.add_argument("--json", action="store_true", help="print the table as JSON, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    output = Path(arguments.output)
    command = shlex.join(["lngeom", "merge", *arguments.runs, "--output", arguments.output])
    rows = merge_runs([Path(path) for path in arguments.runs], output, command=command)
    if arguments.json:
        print(json.dumps(rows))
        return 0
    pages.print_table(rows)
    print(written_to(output))
    return 0
