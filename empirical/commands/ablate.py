"""What mean subtraction is worth to a network: its loss without it, in nats per token, against its own.

LayerNorm models: folded (exact), every LayerNorm replaced by RMSNorm, one at a time, and a random direction removed in
the place of the mean. RMSNorm models: the mean subtracted at every norm, in the embeddings, in all writers. MODEL may
be any network of transformers with a head. The same command again continues a run that was stopped.
"""

import argparse
import json
import shlex
import sys

from ._numbers import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="as for lngeom sweep (default: bundled SmolLM2-135M)")
    add("--corpus", metavar="TEXT", help="as for lngeom sweep, or a folder of .npz cases: inputs by name, and labels")
    add("--output", "--out", metavar="DIR", help="run directory (default: runs/ablate-NAME)")
    add("--tokens", type=count, default=16_384, help="tokens to predict (default: %(default)s)")
    add("--site-tokens", type=count, default=4_096, help="and with single norms changed (default: %(default)s)")
    add("--no-sites", dest="site_tokens", action="store_const", const=0, help="do not change norms one at a time")
    add("--sequence-length", type=count, default=512, metavar="N", help="longest sequence (default: %(default)s)")
    add("--per-document", type=count, default=2, metavar="N", help="sequences of one text (default: %(default)s)")
    add("--batch-tokens", type=count, default=1_024, metavar="N", help="per forward pass (default: %(default)s)")
    add("--shard-tokens", type=count, default=2_048, metavar="N", help="between checkpoints (default: %(default)s)")
    add("--directions", type=count, default=3, metavar="K", help="random directions (default: %(default)s)")
    add("--seed", type=int, default=0, help="of the random directions (default: %(default)s)")
    add("--revision", help="branch, tag or commit of the model on the hub")
    add("--dtype", default="auto", help="default: float32 on the CPU, else the checkpoint's")
    add("--device", default="auto", help="cpu, cuda, cuda:1, ... (default: a GPU if there is one)")
    add("--allow-pickle", action="store_true", help="load pickled weights, which can run code")
    add("--json", action="store_true", help="print the table as JSON, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from rich.console import Console

    from ..folding import Ablation, run_ablation
    from ..pages import print_rows
    from ..support import read_table

    given = dict(vars(arguments))
    as_json, console = given.pop("json"), Console(quiet=arguments.json)
    done = run_ablation(Ablation(**given), console=console, command=shlex.join(["lngeom", *sys.argv[1:]]))
    rows = read_table(done.path / "ablation.csv")
    if as_json:
        print(json.dumps(rows))
        return 0
    print_rows(rows)
    print(f"written to {done.path}: report.html, ablation.csv")
    return 0
