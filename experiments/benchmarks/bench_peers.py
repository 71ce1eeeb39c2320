"""The sweep beside what a user would write instead: one table of the same quantities, the same tokens, in one run.

    python experiments/benchmarks/bench_peers.py                     # peers that are installed here
    make bench-peers                                           # all of them, in an environment of their own

A model of SmolLM2's shape with random weights takes a batch of tokens with each peer in turn, so that all see the
machine in the same state; a ratio is that of a round's time to the bare pass of the same round. The sweep computes all
its statistics; the peers collect what enters and leaves each norm layer and compute in NumPy the angle, the norm and
d·E[cos²θ] for 1 and for K random directions. `places` says at how many of the 2 × 61 sides a peer has the states.
"""

import argparse
import copy
import ctypes
import gc
import importlib.util
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_sweep import draw_gains  # pyright: ignore[reportMissingImports]
from harness import finish, forget_peak, in_turn, parser, peak, ratio  # pyright: ignore[reportMissingImports]
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from empirical.models import sites_of
from empirical.observe import Observer, random_directions

Kept = list[torch.Tensor]


class Bench:
    """One model and one batch; each peer is a method that returns how many places it measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        torch.manual_seed(0)
        self.config = LlamaConfig(
            vocab_size=49152, hidden_size=options.width, intermediate_size=options.width * 8 // 3,
            num_hidden_layers=options.blocks, num_attention_heads=9, num_key_value_heads=3, head_dim=options.width // 9,
        )  # fmt: skip
        self.model = LlamaForCausalLM(self.config).eval()
        self.ids = torch.randint(0, 49152, (options.batch_size, options.sequence_length))
        self.sites = sites_of(self.model.model)
        draw_gains(self.model.model, self.sites)
        self.directions = options.directions
        self.columns = random_directions(options.width, options.directions, 0).T
        self.bytes = 0

    def table(self, kept: Any) -> int:
        """A user's statistics of hidden states: angle, energy along 1 and along K directions, norm."""
        for state in kept:
            x = np.asarray(state, dtype=np.float64).reshape(-1, self.config.hidden_size)
            norm = np.linalg.norm(x, axis=1)
            cos = x.sum(1) / (norm * np.sqrt(x.shape[1]))
            along = (x.shape[1] * ((x @ self.columns) / norm[:, None]) ** 2).mean(0)
            self.row = np.degrees(np.arccos(cos)).mean(), x.shape[1] * (cos**2).mean(), norm.mean(), along
        return len(kept)

    def hooked(self, keep: Callable[[torch.Tensor], Any]) -> list[Any]:
        """Pass the batch with hooks that keep both sides of every norm layer."""
        kept: list[Any] = []
        modules = dict(self.model.model.named_modules())
        handles = [
            modules[site.path].register_forward_hook(lambda _, args, out: kept.extend((keep(args[0]), keep(out))))
            for site in self.sites
        ]
        self.model.model(self.ids, use_cache=False)
        for handle in handles:
            handle.remove()
        return kept

    def beyond(self, name: str) -> float:
        """Peak memory of a peer in MB, beyond what the process held before it and had no use for any more."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        forget_peak()
        before = peak()
        with torch.inference_mode():
            getattr(self, name)()
        return peak() - before

    def bare(self) -> int:
        self.model.model(self.ids, use_cache=False)
        return 0

    def lngeom(self) -> int:
        with Observer(self.model.model, self.sites, directions=self.directions) as observer:
            self.model.model(self.ids, use_cache=False)
            return len(observer.states)

    def output_hidden_states(self) -> int:
        output = self.model.model(self.ids, use_cache=False, output_hidden_states=True)
        return self.table(output.hidden_states)

    def hooks_that_keep(self) -> int:
        return self.table(self.hooked(torch.clone))

    def store_then_analyse(self) -> int:
        """As in the paper: hidden states go to the disk, and the statistics are computed from there."""
        with tempfile.TemporaryDirectory() as folder:
            paths: list[Path] = []

            def keep(state: torch.Tensor) -> Path:
                paths.append(Path(folder, f"{len(paths)}.npy"))
                np.save(paths[-1], state.numpy())
                return paths[-1]

            self.hooked(keep)
            self.bytes = sum(path.stat().st_size for path in paths)
            return self.table([np.load(path) for path in paths])

    def nnsight(self) -> int:
        from nnsight import NNsight  # pyright: ignore[reportMissingImports]

        wrapped = NNsight(self.model)
        with wrapped.trace(input_ids=self.ids, use_cache=False):
            kept: Any = list().save()  # type: ignore[attr-defined]  # noqa: C408  the tracer follows this call
            for layer in wrapped.model.layers:
                for norm in (layer.input_layernorm, layer.post_attention_layernorm):
                    kept.append(norm.input.save())
                    kept.append(norm.output.save())
            kept.append(wrapped.model.norm.input.save())
            kept.append(wrapped.model.norm.output.save())
        return self.table(kept)

    def transformer_lens(self) -> int:
        names = {
            f"blocks.{k}.{ln}.hook_{hook}"
            for k in range(self.config.num_hidden_layers)
            for ln in ("ln1", "ln2")
            for hook in ("in", "out")
        }
        names |= {"ln_final.hook_in", "ln_final.hook_out"}
        _, cache = self.bridge.run_with_cache(self.ids, names_filter=lambda name: name in names)
        return self.table([cache[name] for name in cache])

    def prepare_bridge(self) -> None:
        """TransformerLens wants a folder with a configuration and a tokenizer."""
        from tokenizers import Tokenizer, models
        from transformer_lens.model_bridge.sources.transformers import boot  # pyright: ignore[reportMissingImports]
        from transformers import AutoTokenizer

        with tempfile.TemporaryDirectory() as folder:
            self.config.save_pretrained(folder)
            words = Tokenizer(models.WordLevel({str(k): k for k in range(16)}, unk_token="0"))
            special = {"unk_token": "0", "bos_token": "1", "eos_token": "2", "pad_token": "3"}
            PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder)
            tokenizer = AutoTokenizer.from_pretrained(folder)
            self.bridge = boot(folder, tokenizer=tokenizer, hf_model=copy.deepcopy(self.model), device="cpu")


def main() -> None:
    options = parser(
        __doc__, blocks=30, width=576, batch_size=4, sequence_length=512, directions=64, rounds=5
    ).parse_args()
    bench = Bench(options)
    peers = ["lngeom", "output_hidden_states", "hooks_that_keep", "store_then_analyse"]
    peers += [name for name in ("nnsight", "transformer_lens") if importlib.util.find_spec(name)]
    if "transformer_lens" in peers:
        bench.prepare_bridge()
    places: dict[str, int] = {}

    def measured(name: str) -> None:
        places[name] = getattr(bench, name)()

    with torch.inference_mode():
        times = in_turn({name: partial(measured, name) for name in ("bare", *peers)}, options.rounds)
    results = []
    for name in peers:
        row = {"name": name, "places": places[name], "peak_megabytes": bench.beyond(name), "peer": "bare pass"}
        row["work"] = f"{name.replace('_', ' ')}, {row['places']} places, {row['peak_megabytes']:.0f} MB"
        results.append(row | ratio(times[name], times["bare"]))
    work = f"{bench.ids.numel()} tokens, {options.blocks} blocks, d {options.width}, K {options.directions}"
    named = ("torch", "transformers", "numpy", *(name.replace("_", "-") for name in peers[4:]))
    stored = f"What was stored took {bench.bytes / 1e6:,.0f} MB ({work})."
    finish(options.json, results, [stored], versions={name: version(name) for name in named})


if __name__ == "__main__":
    main()
