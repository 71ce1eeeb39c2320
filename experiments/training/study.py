"""Does the subtraction of the mean matter where training works? ``python -m experiments.training.study --output DIR``.

LayerNorm, RMSNorm and no norm, at three learning rates with several seeds, embeddings tied and untied, and both norms
in Post-LN. The same command goes on with what is missing, also beside itself: a process takes no run that another one
holds. DIR/runs.csv has all finished runs, and none in it is run again: with the one of docs/results/training only the
rest is run. The tables and the figure are of the seeds that are whole. ``--config 70m`` is for a machine with a GPU.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

from lngeom.empirical.support import write_table
from lngeom.empirical.text import bundled_wikipedia, open_corpus
from lngeom.errors import RunError
from lngeom.files import lock
from lngeom.options import add_options, option, read_options

from .network import SIZES, Recipe
from .run import train
from .tables import KEY, finished, write_results
from .text import Text, read_text


@dataclass(frozen=True)
class Options:
    output: Path = option(Path("runs/study"), "directory of all runs and of the tables")
    config: str = option("small", "sizes and training", choices=SIZES)
    corpus: str | None = option(None, "as for lngeom sweep (default: bundled sample of Wikipedia)")
    documents: int | None = option(None, "read only the first N")
    seeds: int = option(8, "of each kind")
    steps: int | None = option(None, "of each run (default: that of the config)")


def plan(options: Options, text: str) -> Iterator[Recipe]:
    """All runs, those that answer the first question first."""
    size = SIZES[options.config]
    groups: Any = (("pre", "tied", size.rates), ("pre", "untied", size.rates), ("post", "tied", size.rates[1:2]))
    for place, embeddings, rates in groups:
        cells: Any = product(range(options.seeds), rates, ("LayerNorm", "RMSNorm", "none"))
        for seed, rate, norm in cells:
            if (place, norm) != ("post", "none"):
                yield Recipe(options.config, norm, place, embeddings, rate, seed, options.steps or size.steps, text)


def go_on(recipes: Iterable[Recipe], text: Text, output: Path) -> None:
    """Train what is missing and in no other process's hands, then write the tables of what is finished."""
    there = set(finished(output)[KEY].itertuples(index=False, name=None))
    left = [recipe for recipe in recipes if astuple(recipe) not in there]
    start = time.monotonic()
    for n, recipe in enumerate(left, 1):
        folder = output / "-".join(map(str, astuple(recipe)))
        folder.mkdir(parents=True, exist_ok=True)
        try:
            hold = lock(folder)
        except RunError:
            continue  # another process trains it
        if not (folder / "rows.csv").exists():
            write_table(folder / "rows.csv", rows := train(recipe, text), digits=7)
            minutes = (time.monotonic() - start) / n * (len(left) - n) / 60
            state = f"{n} of {len(left)}, about {minutes:.0f} minutes left"
            print(f"{state}: {folder.name}: {rows[0]['test_loss']:.4f} nats per byte", flush=True)
        hold.release()
    hold = lock(output)
    write_results(output)
    hold.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Options)
    options = read_options(parser, Options, sys.argv[1:])
    torch.set_num_threads(1)
    text = read_text(open_corpus(options.corpus or str(bundled_wikipedia())), options.documents)
    print("frequencies of bytes lose {:.3f} nats per byte, of pairs {:.3f}".format(*text.baselines()), flush=True)
    go_on(plan(options, text.identity()), text, options.output)


if __name__ == "__main__":
    main()
