"""Measure how the loss changes, in nats per token, without mean subtraction (LayerNorm) or with it (RMSNorm).

For LayerNorm models it measures the loss of the folded network (the same function in exact arithmetic), then with all
LayerNorms replaced by RMSNorms, with one LayerNorm at a time replaced, and with a random direction removed instead of
the mean. For RMSNorm models it measures the loss with the mean subtracted at every norm, at one norm at a time, in the
embeddings, or in all weights that write to the residual stream. MODEL may be any network with a head from transformers.
Repeat the command to continue a run that was stopped.

Examples:
    lngeom ablate
    lngeom ablate gpt2 --tokens 1e5 --no-sites
"""

from dataclasses import dataclass, replace

from lngeom.options import STDOUT, command_line, json_alone, json_option, option, part, printable

from ..folding import Ablation

_CHANGES = {
    "folded": "mean subtraction moved into the weights",
    "rms_norm": "RMSNorm in place of LayerNorm",
    "centred": "the mean subtracted",
    "u_norm": "a random direction removed instead of the mean",
}


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
        changes = dict.fromkeys(row["change"] for row in rows if row["change"] in _CHANGES)
        print("; ".join(f"{change}: {_CHANGES[change]}" for change in changes))
        print("nats: rise of the loss per token, with a 95 % interval from nats_low to nats_high")
        print("kl: divergence of the predictions, in nats; a value below 0 is a rounding error")
        print("top1: share of the tokens with the same most likely prediction as in the unchanged network")
        print(
            f"nominally {false_alarms(len(rows) - 1):.3g} of {len(rows) - 1} intervals miss the true value on average"
        )
        print(f"the loss of the unchanged network is {about['nats_per_token']:.4g} nats per token")
        if about["not_folded"]:
            print(printable(f"not folded: {about['not_folded']}"))
        print(f"written to {done.path}: ablation.csv")
    return 0
