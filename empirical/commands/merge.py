"""Merge finished runs of one model on several parts of a text into one run, as if it had read them all.

The runs must agree in model, weights, dtype, sequence length, random directions and seed; their texts, devices and
batches may differ. Runs that share tokens are refused. If the texts were cut at different places, an overlap is found
if it has at least 16 tokens, or, for sequences below 32 tokens, half a sequence twice; shorter ones are not searched.

Example: lngeom merge runs/part-1 runs/part-2 --out runs/whole
"""

from dataclasses import dataclass, replace
from pathlib import Path

from lngeom.options import REQUIRED, argument, command_line, json_alone, json_option, option

from .. import pages
from ..sweep import merge_runs, written_to


@dataclass(frozen=True)
class Options:
    """The parts and the whole."""

    runs: tuple[Path, ...] = argument("DIR", "output directories of lngeom sweep")
    output: Path = option(REQUIRED, "directory of the merged run", metavar="DIR")
    json: str | None = json_option("the table")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    command = command_line("merge", replace(options, json=None))
    rows = merge_runs(options.runs, options.output, command=command)
    if not json_alone(rows, options.json):
        pages.print_table(rows)
        print(written_to(options.output))
    return 0
