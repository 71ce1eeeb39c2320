"""Measure how the loss of a network changes without mean subtraction, in nats per token.

For LayerNorm models it measures the loss of the folded network (the same function in exact arithmetic), all LayerNorms
replaced by RMSNorms, one LayerNorm at a time replaced by an RMSNorm, and a random direction removed instead of the
mean. For RMSNorm models it measures the mean subtracted at every norm, at one norm at a time, in the embeddings, or in
all writers. MODEL may be any network with a head from transformers. Repeat the command to continue a run that was
stopped.

Examples:
    lngeom ablate
    lngeom ablate gpt2 --tokens 1e5 --no-sites
"""

from dataclasses import dataclass, replace

from lngeom.options import STDOUT, command_line, json_alone, json_option, option, part, printable

from ..folding import Ablation


@dataclass(frozen=True)
class Options(Ablation):
    """An ablation, and the form of its output."""

    sites: bool = option(True, "do not change norms one at a time")
    json: str | None = json_option("the table")


def run(options: Options) -> int:
    from rich.console import Console

    from ..folding import run_ablation
    from ..observe import false_alarms
    from ..pages import print_rows
    from ..support import read_table

    ablation = part(Ablation, options if options.sites else replace(options, site_tokens=0))
    console = Console(quiet=options.json == STDOUT)
    done = run_ablation(ablation, console=console, command=command_line("ablate", replace(options, json=None)))
    rows = read_table(done.path / "ablation.csv", words=("change", "site"))
    if not json_alone(rows, options.json):
        print_rows(rows)
        about = done.manifest()
        print("nats: rise of the loss per token; kl: divergence of the predictions, in nats, below 0 by rounding alone")
        print("top1: share of the tokens with the same most likely prediction as in the unchanged network")
        print(f"of {len(rows) - 1} intervals at 95 %, {false_alarms(len(rows) - 1):.3g} miss by chance on average")
        print(f"the loss of the unchanged network is {about['nats_per_token']:.4g} nats per token")
        if about["not_folded"]:
            print(printable(f"not folded: {about['not_folded']}"))
        print(f"written to {done.path}: ablation.csv")
    return 0
