"""Measure every norm layer of a model on a text: the angle of its hidden states to the uniform direction, their norms,
and what the layer does to both, in one forward pass, nothing stored but the statistics.

Without arguments: SmolLM2-135M on 16,384 tokens of the English Wikipedia, both from installed packages.
The results go to a directory with a table, figures and a page; the same command again continues a run that was
stopped. MODEL may be one of seven known models (gpt2-xl, gpt-neo-1.3b, pythia-1.4b, gpt-j-6b, pythia-6.9b,
llama-2-7b, llama-3-8b), or all: these one after another, with a page that sets measured beside published.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import fields
from typing import TYPE_CHECKING

from ..support import RunError
from ..sweep import ALL, DEFAULT_DIRECTIONS, DEFAULT_LENGTH, DEFAULT_TOKENS, Sweep
from ._numbers import count

if TYPE_CHECKING:
    from rich.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add(
        "model",
        nargs="?",
        metavar="MODEL",
        help="hub id, local directory, .gguf file, known name, all, or MODULE:FUNCTION that returns a model in memory "
        "and its batches (default: bundled SmolLM2-135M)",
    )
    add("--corpus", metavar="TEXT", help="MediaWiki dump, .txt, .jsonl, .npy or .bin token ids, hf:NAME:CONFIG, random")
    add("--tokens", type=count, default=DEFAULT_TOKENS, help="tokens to measure (default: %(default)s)")
    add("--output", metavar="DIR", help="run directory (default: runs/NAME)")
    add("--revision", help="branch, tag or commit of the model on the hub")
    add(
        "--dtype",
        choices=("auto", "float32", "bfloat16", "float16", "float64"),
        default="auto",
        help="default: float32 on the CPU, else the checkpoint's",
    )
    add("--device", default="auto", help="cpu, cuda, cuda:1, ... (default: a GPU if there is one)")
    add("--device-map", metavar="MAP", help="'auto' spreads a model over several devices (accelerate)")
    add(
        "--tensor-parallel",
        type=count,
        default=1,
        metavar="N",
        help="processes of `torchrun --nproc-per-node N -m lngeom sweep ...` that share one copy of the model, by "
        "the plan of its family (default: 1)",
    )
    add("--batch-size", type=count, metavar="N", help="sequences per forward pass (default: by device)")
    add("--sequence-length", type=count, metavar="N", help=f"tokens per sequence (default: {DEFAULT_LENGTH})")
    add("--shard-tokens", type=count, metavar="N", help="tokens between two checkpoints (default: by device)")
    add("--directions", type=count, default=DEFAULT_DIRECTIONS, help="random directions (default: %(default)s)")
    add("--seed", type=int, default=0, help="seed of the random directions (default: %(default)s)")
    add("--compile", action="store_true", help="one compiled kernel for the statistics, for long runs on a CPU")
    add("--random-weights", action="store_true", help="draw the weights at random from the model's configuration")
    add("--quiet", action="store_true", help="print nothing")
    add("--json", action="store_true", help="print the table as JSON, and nothing else")
    add("--allow-pickle", action="store_true", help="load pickled weights, which can run code")


def _command(arguments: argparse.Namespace) -> str:
    """The command that repeats this run."""
    words = ["lngeom", "sweep"]
    for field in fields(Sweep):
        value = getattr(arguments, field.name)
        if value == field.default:
            continue
        option = [] if field.name == "model" else [f"--{field.name.replace('_', '-')}"]
        words += option if value is True else [*option, str(value)]
    return shlex.join(words)


def _measure(sweep: Sweep, console: Console, command: str, *, silent: bool, as_json: bool) -> None:
    """Measure the model that a function returns."""
    from ..sweep import load_live, measure, read

    for field in fields(Sweep):
        if field.name not in ("model", "output", "directions", "seed") and getattr(sweep, field.name) != field.default:
            option = field.name.replace("_", "-")
            msg = f"--{option}: has no meaning for {sweep.model}, whose function returns the model and its batches"
            raise RunError(msg)
    assert sweep.model is not None
    model, batches = load_live(sweep.model)
    name = sweep.model.replace(":", ".")
    found = measure(
        model, batches, sweep.output or f"runs/{name}", directions=sweep.directions, seed=sweep.seed, name=name,
        console=console, command=command, show=not silent,
    )  # fmt: skip
    if as_json:
        print(json.dumps(read(found.path).rows))


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from rich.console import Console

    from ..sweep import show_finished

    sweep = Sweep(**{field.name: getattr(arguments, field.name) for field in fields(Sweep)})
    silent = arguments.quiet or arguments.json
    # A name may hold :words:, and a file wants no colours: to look for them is a tenth of the time of showing a run.
    console = Console(quiet=silent, emoji=False, highlight=sys.stdout.isatty())
    if not console.is_terminal:
        console.width = 160
    command = _command(arguments)
    if not silent and sweep.model != ALL and show_finished(sweep, console, command):
        return 0
    if console.is_terminal:
        console.print("loading PyTorch and transformers", highlight=False)
    from ..runs import leads
    from ..sweep import is_live, read, run_sweep, sweep_all

    if is_live(sweep.model):
        _measure(sweep, console, command, silent=silent, as_json=arguments.json)
        return 0
    if sweep.model == ALL:
        return 1 if sweep_all(sweep, console=console, command=command) else 0
    found = run_sweep(sweep, console=console, command=command, show=not silent)
    if arguments.json and leads():
        print(json.dumps(read(found.path).rows))
    return 0
