"""The controlled study: train many small networks with LayerNorm and RMSNorm; measure the uniform direction in each.

``python -m experiments.training.study --controls 5 --output runs/study``: both norms, with and without weight decay,
AdamW and SGD with momentum, several widths and depths, each with several seeds. It leaves the tables and the figure of
docs/results/training. The same command again continues a study that was stopped, run by run.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from lngeom.empirical.pages import write_figure
from lngeom.empirical.text import bundled_wikipedia, open_corpus

from .figures import step_figure
from .recipe import Recipe
from .tables import CELL, TINY, Table, after_training
from .text import TokenData, prepare
from .train import train

ADAMW, PLAIN = ("adamw", 0.1), ("sgd", 0.0)
OPTIMIZERS = (("adamw", 0.0), ADAMW, PLAIN, ("sgd", 5e-4))
"""Without and with weight decay. SGD's decay acts through the momentum: 5e-4 at 0.3 shrinks a weight by
0.3 · 5e-4/(1 − 0.9) = 1.5e-3 a step, AdamW's 0.1 at 2e-3 by 2e-4."""

OTHER_SIZES = ((2, 128), (8, 128), (4, 64), (4, 256))
"""(layers, width) around ``tiny``: half and twice the depth, half and twice the width."""


def grid(norms: Any, optimizers: Any, sizes: Any, seeds: int, **common: Any) -> list[Recipe]:
    """A recipe for each combination, seed by seed; heads have 32 dimensions."""
    cells: Any = product(range(seeds), optimizers, sizes, norms)
    return [
        Recipe(
            norm, optimizer=name, weight_decay=decay, layers=layers, width=width, heads=width // 32, seed=seed, **common
        )
        for seed, (name, decay), (layers, width), norm in cells
    ]


def run(cells: Sequence[Recipe], data: TokenData, out: Path) -> None:
    """Train all cells and gather their tables.

    ``study.csv`` (every site at every checkpoint), ``writers.csv`` (after training), ``gradients.csv`` and, if there
    are runs of u-Norm, ``controls.csv``: their sites.
    """
    tables = defaultdict[str, list[Table]](list)
    for cell in cells:
        names = {name: value for name, value in asdict(cell).items() if name in (*CELL, "seed")}
        folder = out / "runs" / "-".join(f"{name}={value}" for name, value in names.items())
        train(cell, data, folder)
        for name in ("sites", "writers", "gradients"):
            rows = pd.read_csv(folder / f"{name}.csv")
            arm = {"sites": "controls" if cell.norm == "u" else "study"}.get(name, name)
            tables[arm].append(pd.DataFrame(names, rows.index)[[*CELL, "seed"]].join(rows))
    tables["writers"] = [after_training(rows) for rows in tables["writers"]]
    for name, parts in tables.items():
        pd.concat(parts).to_csv(out / f"{name}.csv", index=False, float_format="%.5g")
    write_figure(step_figure(pd.read_csv(out / "study.csv")), out / "steps.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/study"), help="where everything goes")
    parser.add_argument("--controls", type=int, default=0, help="runs of u-Norm with AdamW and with SGD")
    parser.add_argument("--steps", type=int, default=300, help="of each run")
    given = parser.parse_args()
    torch.set_num_threads(1)  # runs can be repeated bit for bit
    # Measured at 3 %, 6 %, ..., 30 %, 60 %, 90 % and 100 % of each run, and before it.
    common = {"steps": given.steps, "batch_size": 4, "first_checkpoint": 0.03, "held_out_tokens": 1_024, "cpu": True}
    cells = grid(("layer", "rms"), OPTIMIZERS, [TINY], 5, **common)
    cells += grid(("layer", "rms"), [ADAMW], OTHER_SIZES, 3, **common)
    cells += grid(("u",), [ADAMW, PLAIN], [TINY], given.controls, **common)
    run(cells, prepare(open_corpus(str(bundled_wikipedia())), given.output / "data"), given.output)


if __name__ == "__main__":
    main()
