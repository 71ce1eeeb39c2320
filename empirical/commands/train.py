"""Train GPT-2 with LayerNorm or RMSNorm, and measure on the way what becomes of the uniform direction.

At each checkpoint (1 %, 2 %, ..., 10 %, 20 %, ..., 100 % of the run, and before it) the network's hidden states on
held-out text are measured at every norm layer by the code of `lngeom sweep`, which also loads the saved networks.
The same command again continues a run that was stopped, to the same losses. Several processes: start it with
torchrun, for example `torchrun --nproc-per-node 4 -m lngeom train --config 410m --norm rms ...`.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..train import SHAPES
from ._numbers import count

if TYPE_CHECKING:
    from ..train import Recipe

SGD_LEARNING_RATE = 0.3
"""Where SGD with momentum 0.9 and clipped gradients trains the tiny network fastest of 0.1, 0.3, 1 and 3."""

GRADIENT_CHECK_LIMIT = 50_000_000
"""Networks with more parameters are not copied to float64 for the check of their gradients."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("--config", choices=SHAPES, default="tiny", help="size of the network (default: %(default)s)")
    add("--norm", choices=("layer", "rms"), required=True, help="LayerNorm or RMSNorm")
    add("--output", metavar="DIR", help="run directory (default: runs/train-CONFIG-NORM-OPTIMIZER-seedN)")
    add("--beside", metavar="DIR", help="a finished run to draw in the same figures")
    add("--corpus", metavar="TEXT", help="as for lngeom sweep (default: the bundled sample of Wikipedia)")
    add("--data", metavar="DIR", help="where the tokenized corpus is kept (default: beside the run directory)")
    add("--corpus-tokens", type=count, metavar="N", help="stop reading the corpus after N tokens (default: all of it)")
    add("--tokenizer", metavar="NAME", help="directory or hub id (default: trained on the corpus)")
    add("--vocabulary", type=count, metavar="N", help="tokens of a tokenizer trained here (default: the config's)")
    add("--layers", type=count, metavar="N", help="blocks (default: the config's)")
    add("--width", type=count, metavar="N", help="d (default: the config's)")
    add("--heads", type=count, metavar="N", help="attention heads (default: the config's)")
    add("--steps", type=count, metavar="N", help="optimizer steps (default: the config's)")
    add("--batch-size", type=count, metavar="N", help="sequences per step (default: the config's)")
    add("--micro-batch-size", type=count, metavar="N", help="sequences per forward pass (default: by device)")
    add("--sequence-length", type=count, metavar="N", help="tokens per sequence (default: the config's)")
    add("--optimizer", choices=("adamw", "sgd"), default="adamw", help="sgd has momentum (default: %(default)s)")
    add("--learning-rate", type=float, metavar="X", help="peak (default: the config's for adamw, 0.3 for sgd)")
    add("--weight-decay", type=float, default=0.1, metavar="X", help="default: %(default)s")
    add("--warmup", type=float, default=0.02, metavar="X", help="fraction of the run (default: %(default)s)")
    add("--clip", type=float, default=1.0, metavar="X", help="largest gradient norm, 0: none (default: %(default)s)")
    add("--eps", type=float, default=1e-5, metavar="X", help="ε of the norm layers (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of weights and order of the text (default: %(default)s)")
    add("--device", default="auto", help="cpu, cuda, cuda:1 (default: a GPU if there is one)")
    add("--dtype", choices=("auto", "float32", "bfloat16"), default="auto", help="default: bfloat16 on a GPU")
    add("--compile", action="store_true", help="train through torch.compile")
    add("--save-every", type=count, default=500, metavar="N", help="steps between two states (default: %(default)s)")
    add("--no-networks", action="store_true", help="measure at checkpoints without keeping their weights")
    add("--held-out-tokens", type=count, default=8_192, metavar="N", help="to measure (default: %(default)s)")
    add("--directions", type=count, default=256, metavar="N", help="random directions (default: %(default)s)")
    stop = "stop after X minutes; run the same command again to resume"
    add("--minutes", type=float, default=0.0, metavar="X", help=stop)


def _recipe(arguments: argparse.Namespace) -> Recipe:
    from ..train import Recipe

    given = {name: getattr(arguments, name) for name in ("layers", "width", "heads", "steps", "vocabulary")}
    shape = replace(SHAPES[arguments.config], **{name: value for name, value in given.items() if value is not None})
    default_rate = shape.learning_rate if arguments.optimizer == "adamw" else SGD_LEARNING_RATE
    same = ("norm", "optimizer", "weight_decay", "warmup", "clip", "eps", "seed")
    return Recipe(
        shape=shape,
        learning_rate=default_rate if arguments.learning_rate is None else arguments.learning_rate,
        steps=shape.steps,
        sequences=arguments.batch_size or shape.sequences,
        sequence_length=arguments.sequence_length or shape.positions,
        **{name: getattr(arguments, name) for name in same},
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from rich.console import Console

    from ..models import resolve_device
    from ..pages import write_run_report
    from ..runs import ranks
    from ..support import progress
    from ..text import bundled_wikipedia, open_corpus
    from ..train import Execution, open_data, prepare, train

    recipe = _recipe(arguments)
    console = Console()
    name = f"train-{arguments.config}-{recipe.norm}-{recipe.optimizer}-seed{recipe.seed}"
    out = Path(arguments.output or Path("runs", name))
    corpus = open_corpus(arguments.corpus if arguments.corpus is not None else str(bundled_wikipedia()))
    with ranks(resolve_device(arguments.device)) as processes:
        on_gpu = processes.device.type == "cuda"
        same = ("compile", "save_every", "held_out_tokens", "directions", "minutes")
        execution = Execution(
            dtype=("bfloat16" if on_gpu else "float32") if arguments.dtype == "auto" else arguments.dtype,
            micro_sequences=arguments.micro_batch_size or 16,
            keep_networks=not arguments.no_networks,
            check_gradients=recipe.shape.parameters < GRADIENT_CHECK_LIMIT,
            **{name: getattr(arguments, name) for name in same},
        )
        folder = Path(arguments.data) if arguments.data else out.with_name(f"{out.name}-data")
        vocabulary = recipe.shape.vocabulary
        if processes.leads:
            prepare(corpus, folder, tokenizer=arguments.tokenizer, vocabulary=vocabulary, limit=arguments.corpus_tokens)
        processes.wait()
        data = open_data(folder)
        with (
            progress(console, name, recipe.steps * recipe.tokens_per_step) if processes.leads else nullcontext() as bar
        ):
            finished = train(recipe, data, out, processes=processes, execution=execution, report=bar)
        if processes.leads and finished:
            write_run_report(out, Path(arguments.beside) if arguments.beside else None)
            line = f"written to {out}: report.html, losses.csv, norms.csv, writers.csv, networks/"
            console.print(line, markup=False, soft_wrap=True)
        elif processes.leads:
            console.print(f"{out}: time is up; run the same command again to resume", markup=False, soft_wrap=True)
    return 0
