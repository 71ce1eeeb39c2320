"""Measure every norm layer of a model on a text, in one forward pass: the angle between its hidden states and
the all-ones vector 1, the lengths of the states, and what the layer does to both. No hidden state is stored.

Without arguments: SmolLM2-135M-Instruct on 16,384 tokens of the English Wikipedia, both from installed packages.
The results go to a directory with tables, figures and a report. Repeat the command to continue a run that was stopped.
MODEL may also be one of seven known models (gpt2-xl, gpt-neo-1.3b, pythia-1.4b, gpt-j-6b, pythia-6.9b, llama-2-7b,
llama-3-8b), or all of them, one after another, with a page that compares measured and published angles.

Examples:
    lngeom sweep gpt2-xl --corpus book.txt --tokens 1e6 --out runs/book
    lngeom sweep mymodels:make --tokens 1e5
"""

import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from lngeom.errors import RunError
from lngeom.options import STDOUT, command_line, json_alone, json_option, part

from ..sweep import ALL, Sweep

if TYPE_CHECKING:
    from rich.console import Console

    from ..runs import RunDirectory


@dataclass(frozen=True)
class Options(Sweep):
    """A sweep, and the form of its output."""

    json: str | None = json_option("the table")


def run(options: Options) -> int:
    from rich.console import Console

    from ..sweep import corpus_of, is_live, source_of

    sweep = part(Sweep, options)
    silent = options.json == STDOUT
    # A name may hold :words:, and a file wants no colours.
    console = Console(quiet=silent, emoji=False, highlight=sys.stdout.isatty())
    if not console.is_terminal:
        console.width = 160
    command = command_line("sweep", sweep)
    if sweep.model != ALL and not is_live(sweep.model):  # what is not there is refused before PyTorch is loaded
        corpus_of(sweep)
        source_of(sweep)
    if console.is_terminal:
        console.print("loading PyTorch and transformers", highlight=False)
    from ..sweep import read_finished, run_sweep, sweep_all

    if sweep.model == ALL:
        return 1 if sweep_all(sweep, console=console, command=command) else 0
    if is_live(sweep.model):
        done = _measure_live(sweep, console, command)
    else:
        done = run_sweep(sweep, console=console, command=command, show=not silent)
    if options.json:
        json_alone(read_finished(done.path).rows, options.json)
    return 0


def _measure_live(sweep: Sweep, console: "Console", command: str) -> "RunDirectory":
    from ..sweep import MeasureOptions, load_live, measure

    for field in fields(Sweep):
        if field.name not in ("model", "output", "directions", "seed") and getattr(sweep, field.name) != field.default:
            flag = field.name.replace("_", "-")
            raise RunError(f"--{flag}: has no meaning for {sweep.model}, whose function returns model and batches")
    assert sweep.model is not None
    model, batches = load_live(sweep.model)
    name = sweep.model.replace(":", ".")
    options = MeasureOptions(directions=sweep.directions, seed=sweep.seed, name=name)
    output = sweep.output or f"runs/{name}"
    return measure(model, batches, output, options, console=console, command=command, show=not console.quiet)
