"""Whole models, in pairs of one run: folded against original, and training steps that are measured against bare ones.

    python experiments/benchmarks/bench_models.py [--width 512 --blocks 4 --rounds 11] [--cpu-time]

The model is a GPT-2 of random weights. Folded means RMSNorms without gain and bias, which went into their readers;
the peer is the same network with its LayerNorms, eager or compiled as well. A training step is forward, backward and
AdamW; what measuring every 50th of them costs is a fiftieth of what a measured step costs more. Each round times all
variants once, in turn; printed are the median over the rounds, the smallest and the largest ratio.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import transformers
from harness import finish, in_turn, parser, ratio, seconds  # pyright: ignore[reportMissingImports]

import empirical
from empirical.observe import Monitor

EVERY = 50


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
    options = parser(__doc__, width=512, blocks=4, tokens=512, rounds=11, cpu_time=False).parse_args()
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
        times = in_turn(actions, options.rounds, lambda action: seconds(action, clock))
    measured = [bare + (more - bare) / EVERY for bare, more in zip(times["step"], times["measured step"], strict=True)]
    pairs = {
        "folded / original": (times["folded"], times["original"]),
        "folded / original, compiled": (times["folded, compiled"], times["original, compiled"]),
        f"training measured every {EVERY} steps / bare": (measured, times["step"]),
    }
    peer = f"PyTorch {torch.__version__}"
    finish(options.json, [{"work": name, "peer": peer, **ratio(*pair)} for name, pair in pairs.items()])


if __name__ == "__main__":
    main()
