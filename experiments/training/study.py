"""The controlled study: train many small networks with LayerNorm and RMSNorm; measure the uniform direction in each.

``python -m experiments.training.study --controls 5 --output runs/study``: both norms, with and without weight decay,
AdamW and SGD with momentum, several widths and depths, each with several seeds. It leaves the tables and the figure of
docs/results/training. The same command again continues a study that was stopped, run by run.
"""

import argparse
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from lngeom.empirical.pages import write_figure
from lngeom.empirical.text import bundled_wikipedia, open_corpus
from lngeom.errors import LngeomError
from lngeom.options import add_options, option, read_options, seed

from .figures import step_figure
from .recipe import Norm, Optimizer
from .tables import CELL, TINY, Table, after_training
from .text import prepare
from .train import Options as Run, train

DECAYS: dict[Optimizer, tuple[float, float]] = {"adamw": (0.0, 0.1), "sgd": (0.0, 5e-4)}
"""Without and with weight decay. SGD's decay acts through the momentum: 5e-4 at 0.3 shrinks a weight by
0.3 · 5e-4/(1 − 0.9) = 1.5e-3 a step, AdamW's 0.1 at 2e-3 by 2e-4."""

NORMS: tuple[Norm, ...] = ("layer", "rms")

OTHER_SIZES = ((2, 128), (8, 128), (4, 64), (4, 256))
"""(layers, width) around ``tiny``: half and twice the depth, half and twice the width. Heads keep 32 dimensions."""

FIRST_CHECKPOINT = 0.03
"""Measured at 3 %, 6 %, ..., 30 %, 60 %, 90 % and 100 % of each run, and before it."""


@dataclass(frozen=True)
class Options:
    """The plan of the study, and what its runs have in common."""

    output: Path = option(Path("runs/study"), "where everything goes")
    corpus: str | None = option(None, "as for lngeom sweep (default: bundled sample of Wikipedia)")
    vocabulary: int = option(2_048, "tokens of the tokenizer")
    seeds: int = option(5, "runs of each cell at tiny")
    seeds_elsewhere: int = option(3, "and at other sizes")
    controls: int = option(0, "runs of u-Norm with AdamW and with SGD", type=seed)
    steps: int = option(300, "of each run")
    batch_size: int = option(4, "sequences per step")
    held_out_tokens: int = option(1_024, "to measure")
    directions: int = option(256, "random directions")


def plan(options: Options) -> Iterator[Run]:
    """All runs in their order, seed by seed: those at ``tiny``, those of other sizes, those of u-Norm.

    At ``tiny`` both norms have both optimizers and decays; other sizes and u-Norm have AdamW with decay, u-Norm plain
    SGD as well.
    """
    plain: list[Any] = [("adamw", DECAYS["adamw"][1]), ("sgd", 0.0)]
    at_tiny: list[Any] = [(norm, name, decay, TINY) for name in DECAYS for decay in DECAYS[name] for norm in NORMS]
    elsewhere: list[Any] = [(norm, *plain[0], size) for size in OTHER_SIZES for norm in NORMS]
    controls: list[Any] = [("u", name, decay, TINY) for name, decay in plain]
    for cells, seeds in ((at_tiny, options.seeds), (elsewhere, options.seeds_elsewhere), (controls, options.controls)):
        for number in range(seeds):
            for norm, optimizer, weight_decay, (layers, width) in cells:
                name = f"{norm}-{optimizer}-wd{weight_decay:g}-L{layers}-d{width}-seed{number}"
                yield Run(
                    norm, optimizer=optimizer, weight_decay=weight_decay, layers=layers, width=width, heads=width // 32,
                    seed=number, steps=options.steps, batch_size=options.batch_size, first_checkpoint=FIRST_CHECKPOINT,
                    held_out_tokens=options.held_out_tokens, directions=options.directions, cpu=True,
                    output=options.output / "runs" / name,
                )  # fmt: skip


def gather(out: Path, runs: Sequence[Run]) -> None:
    """Gather the tables of all runs.

    ``study.csv`` (every site at every checkpoint), ``writers.csv`` (after training) and ``gradients.csv``; runs of
    u-Norm go to ``controls.csv``.
    """
    tables = defaultdict[str, list[Table]](list)
    for run in runs:
        found: dict[str, Table] = {path.stem: pd.read_csv(path) for path in run.output.glob("*.csv")}
        losses, control = found["held_out"].set_index("step")["loss"], run.norm == "u"
        sites = found["directions" if control else "norms"]
        parts = {"controls" if control else "study": sites.assign(held_out_loss=sites["step"].map(losses))}
        if not control:
            parts |= {"writers": after_training(found["writers"]), "gradients": found["gradients"]}
        for name, rows in parts.items():
            names = pd.DataFrame({column: getattr(run, column) for column in (*CELL, "seed")}, rows.index)
            tables[name].append(names.join(rows))
    for name, rows in tables.items():
        pd.concat(rows).to_csv(out / f"{name}.csv", index=False, float_format="%.5g")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Options)
    options = read_options(parser, Options, sys.argv[1:] if words is None else words)
    torch.set_num_threads(1)  # runs can be repeated bit for bit
    corpus, out = open_corpus(options.corpus or str(bundled_wikipedia())), options.output
    data, runs = prepare(corpus, out / "data", vocabulary=options.vocabulary), list(plan(options))
    for run in runs:
        train(run, data)
        for state in run.output.glob("checkpoint-*"):
            shutil.rmtree(state)
    gather(out, runs)
    write_figure(step_figure(pd.read_csv(out / "study.csv")), out / "steps.svg")


if __name__ == "__main__":
    try:
        main()
    except LngeomError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
