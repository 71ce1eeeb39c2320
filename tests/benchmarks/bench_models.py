"""Whole models, in pairs of one run: folded against original, and training steps that are measured against bare ones.

    python tests/benchmarks/bench_models.py [--width 512 --blocks 4 --rounds 11] [--cpu-time]

The model is a GPT-2 of random weights. Folded means RMSNorms without gain and bias, which went into their readers;
the peer is the same network with its LayerNorms, eager or compiled as well. A training step is forward, backward and
AdamW; what measuring every 50th of them costs is a fiftieth of what a measured step costs more. Each round times all
variants once, in turn; printed are the median over the rounds, the smallest and the largest ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import transformers

import empirical
from empirical.capture import Monitor

EVERY = 50


def seconds(action: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    action()
    return clock() - start


def forwards(network: Any, ids: torch.Tensor) -> dict[str, Callable[[], object]]:
    """The forward pass of the original and of the folded network, as they are and compiled."""
    networks = {"original": network, "folded": empirical.fold(network, gains=True).model}
    networks |= {f"{name}, compiled": torch.compile(each) for name, each in networks.items()}

    def forward(each: Any) -> Callable[[], object]:
        def run() -> object:
            with torch.no_grad():
                return each(input_ids=ids).logits

        return run

    return {name: forward(each) for name, each in networks.items()}


def steps(network: Any, ids: torch.Tensor, folder: str) -> dict[str, Callable[[], object]]:
    """A training step, and one that is measured."""
    optimizer = torch.optim.AdamW(network.parameters())
    monitor = Monitor(network, every=1, output=folder)
    count = iter(range(10**9))

    def step(measured: bool) -> None:
        with monitor(next(count)) if measured else nullcontext():
            network(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return {"step": lambda: step(False), "measured step": lambda: step(True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--width", type=int, default=512)
    add("--blocks", type=int, default=4)
    add("--tokens", type=int, default=512, help="in two sequences (default: %(default)s)")
    add("--rounds", type=int, default=11)
    add("--cpu-time", action="store_true", help="CPU seconds, for a busy machine")
    add("--json", type=Path)
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=options.width, n_layer=options.blocks, n_head=options.width // 64, vocab_size=2048, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    network: Any = transformers.GPT2LMHeadModel(config).eval()
    ids = torch.randint(0, 2048, (2, options.tokens // 2))
    with tempfile.TemporaryDirectory() as folder:
        actions = {**forwards(network, ids), **steps(network, ids, folder)}
        for action in actions.values():  # compiles
            action()
        rounds = [{name: seconds(action, clock) for name, action in actions.items()} for _ in range(options.rounds)]
    compared: dict[str, Callable[[dict[str, float]], float]] = {
        "folded / original": lambda t: t["folded"] / t["original"],
        "folded / original, compiled": lambda t: t["folded, compiled"] / t["original, compiled"],
        f"training measured every {EVERY} steps / bare": lambda t: 1 + (t["measured step"] / t["step"] - 1) / EVERY,
    }
    results: list[dict[str, Any]] = []
    for name, ratio in compared.items():
        found = sorted(map(ratio, rounds))
        results.append({"work": name, "ratio": statistics.median(found), "low": found[0], "high": found[-1]})
        print(f"{name:48}{results[-1]['ratio']:8.3f}  ({found[0]:.3f} to {found[-1]:.3f}, {len(found)} rounds)")
    if options.json:
        about = {"command": " ".join(["python", *sys.argv]), "peer": f"PyTorch {torch.__version__}"}
        options.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
