"""Train GPT-2 with LayerNorm or RMSNorm, and measure on the way what happens to the uniform direction.

``python -m experiments.training.train --norm rms --steps 300 --output runs/tiny-rms``; `--config 70m` to `1b` are the
networks of Gupta et al., arXiv:2409.12951. At each checkpoint (1 %, 2 %, ..., 10 %, 20 %, ..., 100 % of the run, and
before it) the hidden states on held-out text are measured at every norm layer by the code of ``lngeom sweep``, which
can also load the network that is trained, `checkpoint-STEPS`. The same command again continues a run that was stopped.
"""

import argparse
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers
from torch import nn

import lngeom
from lngeom.empirical.text import bundled_wikipedia, open_corpus
from lngeom.errors import InputError, RunError
from lngeom.files import Json, read_json, replacing, write_folder, write_json
from lngeom.options import add_options, option, part, read_options

from .measure import measure
from .networks import build_model, next_token_loss
from .recipe import BETAS, CLIP, MOMENTUM, Recipe, checkpoint_steps, learning_rate
from .text import TokenData, prepare

AT_ONCE = 16
"""Sequences of a forward pass; a step adds up the gradients of several."""


def optimizer(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    r"""AdamW or SGD with momentum for the parameters of `model`.

    Weight decay λ acts on parameters with two axes or more. In AdamW it is decoupled, w ← (1 − ηλ)w; in SGD it
    enters the gradient, ∇ + λw, so that with momentum m the stationary rate of decay is ηλ/(1 − m).

    An SGD step is a linear combination of past gradients: where all gradients are orthogonal to 1, so is the step.
    An AdamW step divides each coordinate by a size of its own, √v, and is orthogonal to 1 only as far as the sizes
    of the d coordinates agree. Loshchilov and Hutter, arXiv:1711.05101, algorithms 1 and 2.
    """
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return (
        torch.optim.SGD(groups, momentum=MOMENTUM)
        if recipe.optimizer == "sgd"
        else torch.optim.AdamW(groups, betas=BETAS)
    )


def _begin(out: Path, about: Json) -> None:
    """Write down what a run depends on, or compare: only the same run is gone on with."""
    path = out / "run.json"
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        write_json(path, about)
    for name, value in read_json(path).items():
        if value != about[name]:
            raise RunError(f"{path}: is of another run ({name} is {value}, now {about[name]}): choose another --output")


def _step(recipe: Recipe, step: int, network: Any, steps: torch.optim.Optimizer, batch: torch.Tensor) -> float:
    """Take a step, and return the loss before it."""
    for group in steps.param_groups:
        group["lr"] = learning_rate(recipe, step)
    steps.zero_grad()
    loss = 0.0
    for some in batch.split(AT_ONCE):
        with torch.autocast("cuda", torch.bfloat16, enabled=batch.is_cuda):
            share = next_token_loss(network, some) * len(some) / len(batch)
        share.backward()
        loss += float(share.detach())
    if not math.isfinite(loss):
        raise RunError(
            f"the loss of step {step} is {loss}: training has diverged; lower --learning-rate (now "
            f"{recipe.learning_rate:g}) in another directory"
        )
    nn.utils.clip_grad_norm_(network.parameters(), CLIP)
    steps.step()
    return loss


def train(recipe: Recipe, data: TokenData, out: Path) -> None:
    """Train a network by a recipe, or go on with a run that was interrupted.

    All that later steps depend on is in ``state.pt``, and on the CPU the losses are bit for bit those of an
    uninterrupted run. `out` receives it with ``run.json`` and, at the end, ``checkpoint-STEPS`` and the tables of the
    measurement and ``losses.csv``. A loss is that of a step before it is taken, in nats per token.
    """
    if len(data.tokenizer) > recipe.vocabulary:
        raise InputError(
            f"the text has a vocabulary of {len(data.tokenizer):,} tokens, the network one of {recipe.vocabulary:,}: "
            "train a smaller tokenizer or a larger network"
        )
    held_out = data.held_out_sequences(recipe.sequence_length, recipe.held_out_tokens)
    device = torch.device("cuda" if torch.cuda.is_available() and not recipe.cpu else "cpu")
    model: Any = build_model(recipe, data.tokenizer.eos_token_id)
    _begin(out, {
        "recipe": asdict(recipe), "data": data.source, "unigram_entropy": data.unigram_entropy(),
        "parameters": model.num_parameters(),
        "versions": {each.__name__: str(each.__version__) for each in (lngeom, torch, transformers)},
    })  # fmt: skip
    if (out / "losses.csv").exists():
        return
    model = model.to(device)
    network: Any = torch.compile(model) if recipe.compile else model
    steps, path = optimizer(recipe, model), out / "state.pt"
    tables: dict[str, list[Any]] = {}

    def record(step: int) -> None:
        if step in checkpoint_steps(recipe):
            for name, rows in measure(model, recipe, held_out, ends=step in (0, recipe.steps)).items():
                tables.setdefault(name, []).extend({"step": step, **row} for row in rows)
            with replacing(path) as draft:
                torch.save([step, model.state_dict(), steps.state_dict(), tables], draft)

    first = 0
    if path.exists():
        first, weights, moments, tables = torch.load(path, map_location=device)
        model.load_state_dict(weights)
        steps.load_state_dict(moments)
    else:
        record(0)
    for step in range(first, recipe.steps):
        batch = data.batch(step, recipe.batch_size, recipe.sequence_length, recipe.seed).to(device)
        loss = _step(recipe, step, network, steps, batch)
        tables.setdefault("losses", []).append({"step": step + 1, "loss": loss})
        record(step + 1)

    def fill(draft: Path) -> None:
        model.save_pretrained(draft)
        data.tokenizer.save_pretrained(draft)

    write_folder(out / f"checkpoint-{recipe.steps}", fill)
    for name in sorted(tables, key="losses".__eq__):  # the losses last: they say that a run is done
        with replacing(out / f"{name}.csv") as draft:
            pd.DataFrame(tables[name]).to_csv(draft, index=False)


@dataclass(frozen=True)
class Options(Recipe):
    """A recipe, its text, and where the run goes."""

    output: Path = option(Path("runs/train"), "run directory; the tokenized text goes to OUTPUT-data")
    corpus: str | None = option(None, "as for lngeom sweep (default: bundled sample of Wikipedia)")
    corpus_tokens: int | None = option(None, "stop reading the corpus after N tokens (default: all of it)")
    tokenizer: str | None = option(None, "directory or hub id (default: trained on the corpus)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Options)
    options = read_options(parser, Options, sys.argv[1:])
    corpus, out = open_corpus(options.corpus or str(bundled_wikipedia())), options.output
    how = {"tokenizer": options.tokenizer, "vocabulary": options.vocabulary, "limit": options.corpus_tokens}
    train(part(Recipe, options), prepare(corpus, out.with_name(f"{out.name}-data"), **how), out)


if __name__ == "__main__":
    main()
