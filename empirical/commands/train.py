"""Train GPT-2 with LayerNorm or RMSNorm, and measure during training what happens to the uniform direction.

At each checkpoint (1 %, 2 %, ..., 10 %, 20 %, ..., 100 % of the run, and before it), the hidden states on held-out
text are measured at every norm layer by the code of `lngeom sweep`, which can also load the saved networks. Repeat the
command to continue a run that was stopped, with the same losses. To use several processes, start it with torchrun, for
example `torchrun --nproc-per-node 4 -m lngeom train --config 410m --norm rms ...`.

Example: lngeom train --config tiny --norm rms --steps 300 --out runs/tiny-rms
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lngeom.options import REQUIRED, like, option, part

from ..train import SHAPES, Execution, Optimizer, Recipe

if TYPE_CHECKING:
    from ..runs import Ranks

SGD_LEARNING_RATE = 0.3
"""Where SGD with momentum 0.9 and clipped gradients trains the tiny network fastest of 0.1, 0.3, 1 and 3."""

GRADIENT_CHECK_LIMIT = 50_000_000
"""Networks with more parameters are not copied to float64 for the check of their gradients."""


@dataclass(frozen=True)
class Options:
    """A recipe and its execution, where None stands for what the config says, and the files of the run."""

    norm: Literal["layer", "rms"] = option(REQUIRED, "LayerNorm or RMSNorm")
    config: str = option("tiny", "size of the network", choices=SHAPES)
    output: str | None = option(None, "run directory (default: runs/train-CONFIG-NORM-OPTIMIZER-seedN)", metavar="DIR")
    beside: Path | None = option(None, "a finished run to draw in the same figures", metavar="DIR")
    corpus: str | None = option(None, "as for lngeom sweep (default: bundled sample of Wikipedia)", metavar="TEXT")
    data: Path | None = option(None, "where the tokenized corpus is kept (default: beside the run)", metavar="DIR")
    corpus_tokens: int | None = option(None, "stop reading the corpus after N tokens (default: all of it)")
    tokenizer: str | None = option(None, "directory or hub id (default: trained on the corpus)", metavar="NAME")
    vocabulary: int | None = option(None, "tokens of a tokenizer trained here (default: the config's)")
    layers: int | None = option(None, "blocks (default: the config's)")
    width: int | None = option(None, "d (default: the config's)")
    heads: int | None = option(None, "attention heads (default: the config's)")
    steps: int | None = option(None, "optimizer steps (default: the config's)")
    batch_size: int | None = option(None, "sequences per step (default: the config's)")
    micro_sequences: int = like(Execution, "micro_sequences", "--micro-batch-size")
    sequence_length: int | None = option(None, "tokens per sequence (default: the config's)")
    optimizer: Optimizer = option("adamw", "sgd has momentum")
    learning_rate: float | None = option(None, "peak (default: the config's for adamw, 0.3 for sgd)")
    weight_decay: float = like(Recipe, "weight_decay")
    warmup: float = like(Recipe, "warmup")
    clip: float = like(Recipe, "clip")
    eps: float = like(Recipe, "eps")
    seed: int = like(Recipe, "seed")
    device: str = option("auto", "cpu, cuda, cuda:1 (default: a GPU if there is one)")
    dtype: Literal["auto", "float32", "bfloat16"] = option("auto", "default: bfloat16 on a GPU")
    compile: bool = like(Execution, "compile")
    save_every: int = like(Execution, "save_every")
    keep_networks: bool = like(Execution, "keep_networks")
    held_out_tokens: int = like(Execution, "held_out_tokens")
    directions: int = like(Execution, "directions")
    minutes: float = like(Execution, "minutes")


def _recipe(options: Options) -> Recipe:
    given = {name: getattr(options, name) for name in ("layers", "width", "heads", "steps", "vocabulary")}
    shape = replace(SHAPES[options.config], **{name: value for name, value in given.items() if value is not None})
    rate = options.learning_rate
    if rate is None:
        rate = shape.learning_rate if options.optimizer == "adamw" else SGD_LEARNING_RATE
    return Recipe(
        shape,
        options.norm,
        options.optimizer,
        learning_rate=rate,
        steps=shape.steps,
        sequences=options.batch_size or shape.sequences,
        sequence_length=options.sequence_length or shape.positions,
        **{name: getattr(options, name) for name in ("weight_decay", "warmup", "clip", "eps", "seed")},
    )


def _execution(options: Options, recipe: Recipe, processes: "Ranks") -> Execution:
    dtype = options.dtype
    if dtype == "auto":
        dtype = "bfloat16" if processes.device.type == "cuda" else "float32"
    return replace(
        part(Execution, replace(options, dtype=dtype)), check_gradients=recipe.shape.parameters < GRADIENT_CHECK_LIMIT
    )


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from rich.console import Console

    from ..models import resolve_device
    from ..pages import write_run_report
    from ..runs import ranks
    from ..support import progress
    from ..text import bundled_wikipedia, open_corpus
    from ..train import open_data, prepare, train

    recipe = _recipe(options)
    console = Console()
    name = f"train-{options.config}-{recipe.norm}-{recipe.optimizer}-seed{recipe.seed}"
    out = Path(options.output or Path("runs", name))
    corpus = open_corpus(options.corpus or str(bundled_wikipedia()))
    with ranks(resolve_device(options.device)) as processes:
        folder = options.data or out.with_name(f"{out.name}-data")
        vocabulary, limit = recipe.shape.vocabulary, options.corpus_tokens
        if processes.leads:
            prepare(corpus, folder, tokenizer=options.tokenizer, vocabulary=vocabulary, limit=limit)
        processes.wait()
        data, execution = open_data(folder), _execution(options, recipe, processes)
        tokens = recipe.steps * recipe.tokens_per_step
        with progress(console, name, tokens) if processes.leads else nullcontext() as bar:
            finished = train(recipe, data, out, processes=processes, execution=execution, report=bar)
        if not processes.leads:
            return 0
        line = f"{out}: time is up; run the same command again to resume"
        if finished:
            write_run_report(out, options.beside)
            line = f"written to {out}: report.html, losses.csv, norms.csv, writers.csv, networks/"
        console.print(line, markup=False, soft_wrap=True)
    return 0
