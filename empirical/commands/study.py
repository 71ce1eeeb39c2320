"""The controlled study: train many small networks with LayerNorm and RMSNorm; measure the uniform direction in each.

Both norms, with and without weight decay, AdamW and SGD with momentum, and several widths and depths, each with
several seeds. One table, study.csv, has every norm layer at every checkpoint of every run; report.html has the results,
with intervals over the seeds. Repeat the command to continue a study that was stopped, run by run.

Example: lngeom study --seeds 2 --steps 100 --out runs/small-study
"""

from dataclasses import dataclass
from pathlib import Path

from lngeom.options import like, option, seed

from ..train import Execution


@dataclass(frozen=True)
class Options:
    """The plan of the study, and what its runs have in common."""

    output: Path = option(Path("runs/study"), "where everything goes (default: runs/study)", metavar="DIR")
    corpus: str | None = option(None, "as for lngeom sweep (default: bundled sample of Wikipedia)", metavar="TEXT")
    vocabulary: int = option(2_048, "tokens of the tokenizer")
    seeds: int = option(5, "runs of each cell at tiny")
    seeds_elsewhere: int = option(3, "and at other sizes")
    controls: int = option(0, "runs of each control arm: u-Norm, Post-LN, no norm, with AdamW and SGD", type=seed)
    steps: int = option(300, "of each run")
    batch_size: int = option(4, "sequences per step")
    sequence_length: int = option(128, "tokens each")
    held_out_tokens: int = like(Execution, "held_out_tokens", default=1_024)
    directions: int = like(Execution, "directions")
    threads: int = option(1, "CPU threads")
    device: str = option("cpu", "default: cpu, on which runs can be repeated bit for bit")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    import torch
    from rich.console import Console

    from ..models import resolve_device
    from ..pages import write_study_report
    from ..runs import ranks
    from ..support import progress
    from ..text import bundled_wikipedia, open_corpus
    from ..train import controls, plan, prepare, run_study

    torch.set_num_threads(options.threads)
    console, out = Console(), options.output
    data = prepare(open_corpus(options.corpus or str(bundled_wikipedia())), out / "data", vocabulary=options.vocabulary)
    cells = list(plan(options.seeds, options.seeds_elsewhere))
    cells += [(condition, seed) for seed in range(options.controls) for condition in controls()]
    size = {"steps": options.steps, "sequences": options.batch_size, "sequence_length": options.sequence_length}
    runs = [(condition, condition.recipe(seed, **size)) for condition, seed in cells]
    total = len(runs) * options.steps * options.batch_size * options.sequence_length
    with ranks(resolve_device(options.device)) as processes, progress(console, f"{len(runs)} runs", total) as advance:
        run_study(
            data,
            out,
            runs=runs,
            execution=Execution(
                keep_networks=False,
                held_out_tokens=options.held_out_tokens,
                directions=options.directions,
                check_gradients=True,
            ),
            processes=processes,
            report=advance,
        )
    write_study_report(out)
    line = f"written to {out}: report.html, report.md, study.csv, writers.csv, gradients.csv"
    console.print(line, markup=False, soft_wrap=True)
    return 0
