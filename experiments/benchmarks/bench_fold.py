"""Time of a pass of whole networks before and after their fold, eager and compiled, every round of them.

    python experiments/benchmarks/bench_fold.py --csv runs/fold.csv --models gpt2-xl --blocks 2

Known models have random weights at full depth, which changes no time. The fold is made on the CPU in float32, the pass
has `--dtype`. Rounds alternate between the four, so that other work on the machine meets all of them.
"""

import argparse
import copy
import csv
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from bench_sweep import batches, load  # pyright: ignore[reportMissingImports]
from harness import finish, in_turn, parser, ratio  # pyright: ignore[reportMissingImports]

from lngeom.empirical import folding


def passes(model: str, options: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """One pass of the stored and of the folded network, eager and compiled."""
    loaded = load(model, argparse.Namespace(blocks=options.blocks, dtype="float32", device="cpu"))
    networks = {"stored": loaded.model, "folded": folding.fold(copy.deepcopy(loaded.model)).checkpoint}
    ids = batches(loaded, options.batch_size, options.sequence_length).to(options.device)
    networks = {name: each.to(options.device, getattr(torch, options.dtype)).eval() for name, each in networks.items()}
    networks |= {f"{name}, compiled": torch.compile(each) for name, each in networks.items()}

    @torch.inference_mode()
    def once(network: Any) -> None:
        network(input_ids=ids, use_cache=False)

    return {name: partial(once, network) for name, network in networks.items()}


def main() -> None:
    made = parser(
        __doc__, device="cpu", dtype="bfloat16", batch_size=8, sequence_length=512, rounds=15, blocks=0, csv="fold.csv",
        models=["gpt2-xl", "pythia-1.4b"],
    )  # fmt: skip
    options, rows = made.parse_args(), []
    with open(options.csv, "w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(("model", "network", "round", "milliseconds"))
        for model in options.models:
            times = in_turn(passes(model, options), options.rounds)
            for name, each in times.items():
                writer.writerows((model, name, n, round(1e3 * took, 4)) for n, took in enumerate(each, 1))
            opened.flush()
            for how in ("", ", compiled"):
                work = f"{model}, folded{how}"
                rows.append({"work": work, "peer": "stored", **ratio(times[f"folded{how}"], times[f"stored{how}"])})
    finish(options.json, rows)


if __name__ == "__main__":
    main()
