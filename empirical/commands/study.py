"""The controlled study: many small networks with LayerNorm and with RMSNorm, and what becomes of the uniform direction.

Both norms, with and without weight decay, AdamW and SGD with momentum, and several widths and depths, each with
several seeds. One table, study.csv, holds every norm layer at every checkpoint of every run; report.html says what it
shows, with intervals over the seeds. The same command again continues a study that was stopped, run by run.
"""

import argparse
from pathlib import Path

from ._numbers import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("--output", metavar="DIR", default="runs/study", help="where everything goes (default: %(default)s)")
    add("--corpus", metavar="TEXT", help="as for lngeom sweep (default: the bundled sample of Wikipedia)")
    add("--vocabulary", type=count, default=2_048, metavar="N", help="tokens of the tokenizer (default: %(default)s)")
    add("--seeds", type=count, default=5, metavar="N", help="runs of each cell at tiny (default: %(default)s)")
    add("--seeds-elsewhere", type=count, default=3, metavar="N", help="and at other sizes (default: %(default)s)")
    add(
        "--controls",
        type=int,
        default=0,
        metavar="N",
        help="runs of each control arm: u-Norm, Post-LN, no norm, with AdamW and SGD (default: %(default)s)",
    )
    add("--steps", type=count, default=300, metavar="N", help="of each run (default: %(default)s)")
    add("--batch-size", type=count, default=4, metavar="N", help="sequences per step (default: %(default)s)")
    add("--sequence-length", type=count, default=128, metavar="N", help="tokens each (default: %(default)s)")
    add("--held-out-tokens", type=count, default=1_024, metavar="N", help="to measure (default: %(default)s)")
    add("--directions", type=count, default=256, metavar="N", help="random directions (default: %(default)s)")
    add("--threads", type=count, default=1, metavar="N", help="CPU threads (default: %(default)s)")
    add("--device", default="cpu", help="default: %(default)s, on which runs can be repeated bit for bit")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    import torch
    from rich.console import Console

    from ..models import resolve_device
    from ..pages import write_study_report
    from ..runs import ranks
    from ..support import progress
    from ..text import bundled_wikipedia, open_corpus
    from ..train import Execution, controls, plan, prepare, run_study

    torch.set_num_threads(arguments.threads)
    console = Console()
    out = Path(arguments.output)
    corpus = open_corpus(arguments.corpus if arguments.corpus is not None else str(bundled_wikipedia()))
    data = prepare(corpus, out / "data", vocabulary=arguments.vocabulary)
    execution = Execution(
        keep_networks=False,
        held_out_tokens=arguments.held_out_tokens,
        directions=arguments.directions,
        check_gradients=True,
    )
    runs = list(plan(arguments.seeds, arguments.seeds_elsewhere))
    runs += [(condition, seed) for seed in range(arguments.controls) for condition in controls()]
    total = len(runs) * arguments.steps * arguments.batch_size * arguments.sequence_length
    with ranks(resolve_device(arguments.device)) as processes, progress(console, f"{len(runs)} runs", total) as advance:
        run_study(
            data,
            out,
            runs=runs,
            steps=arguments.steps,
            sequences=arguments.batch_size,
            sequence_length=arguments.sequence_length,
            execution=execution,
            processes=processes,
            report=advance,
        )
    write_study_report(out)
    console.print(
        f"written to {out}: report.html, report.md, study.csv, writers.csv, gradients.csv", markup=False, soft_wrap=True
    )
    return 0
