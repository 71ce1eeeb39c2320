"""Train GPT-2 with LayerNorm or RMSNorm, and measure on the way what happens to the uniform direction.

``python -m experiments.training.train --norm rms --steps 300 --output runs/tiny-rms``; `--config 70m` to `1b` are the
networks of Gupta et al., arXiv:2409.12951. At each checkpoint (1 %, 2 %, ..., 10 %, 20 %, ..., 100 % of the run, and
before it) the hidden states on held-out text are measured at every norm layer by the code of ``lngeom sweep``, which
can also load the networks, `checkpoint-STEP`. The same command again continues a run that was stopped.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, default_data_collator

import lngeom
from lngeom.empirical.support import write_table
from lngeom.empirical.text import bundled_wikipedia, open_corpus
from lngeom.errors import InputError, LngeomError, RunError
from lngeom.files import Json
from lngeom.options import add_options, option, part, read_options

from .measure import TABLES, Measurement
from .networks import build_model, next_token_loss
from .recipe import BETAS, MOMENTUM, Recipe, checkpoint_steps, learning_rate
from .text import Sequences, TokenData, prepare


@dataclass(frozen=True)
class Options(Recipe):
    """A recipe, its text, and how it is run."""

    output: Path = option(Path("runs/train"), "run directory; the tokenized text goes to OUTPUT-data")
    corpus: str | None = option(None, "as for lngeom sweep (default: bundled sample of Wikipedia)")
    corpus_tokens: int | None = option(None, "stop reading the corpus after N tokens (default: all of it)")
    tokenizer: str | None = option(None, "directory or hub id (default: trained on the corpus)")
    micro_batch_size: int = option(16, "sequences per forward pass; a step adds up the gradients of several")
    held_out_tokens: int = option(8_192, "to measure")
    directions: int = option(256, "random directions")
    compile: bool = option(False, "train through torch.compile")
    cpu: bool = option(False, "also where there is a GPU")


def optimization(recipe: Recipe, model: nn.Module) -> tuple[torch.optim.Optimizer, LambdaLR]:
    r"""AdamW or SGD with momentum for the parameters of `model`, and its schedule.

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
    # A rate of 1, so that the schedule's factors are the rates themselves, not rounded again.
    if recipe.optimizer == "sgd":
        steps = torch.optim.SGD(groups, lr=1.0, momentum=MOMENTUM)
    else:
        steps = torch.optim.AdamW(groups, lr=1.0, betas=BETAS, fused=all(p.is_cuda for p in parameters))
    return steps, LambdaLR(steps, lambda step: learning_rate(recipe, min(step, recipe.steps - 1)))


class _Trainer(Trainer):
    """Trainer with the loss of a plain language model."""

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], *_, **__) -> Tensor:
        return next_token_loss(model, inputs["input_ids"])


class _Recorder(TrainerCallback):
    """Measures at checkpoints; the rows go to the log of the Trainer, which its states keep."""

    def __init__(self, recipe: Recipe, measure: Measurement) -> None:
        self._recipe, self._measure, self._checkpoints = recipe, measure, checkpoint_steps(recipe)

    def _record(self, state, model) -> None:
        step = state.global_step
        if step in self._checkpoints:
            tables = self._measure(model, gradients=step in (0, self._recipe.steps))
            rows = ((name, {"step": step, **row}) for name in tables for row in tables[name])
            # A state keeps the keys of a dictionary in another order.
            state.log_history += [{"table": name, "row": list(row.items())} for name, row in rows]

    def on_train_begin(self, args, state, control, **given) -> None:
        if state.global_step == 0:
            self._record(state, given["model"])

    def on_step_end(self, args, state, control, **given) -> None:
        self._record(state, given["model"])
        control.should_save = state.global_step in self._checkpoints

    def on_log(self, args, state, control, **given) -> None:
        if not math.isfinite(loss := given["logs"].get("loss", 0.0)):
            raise RunError(
                f"the loss of step {state.global_step} is {loss}: training has diverged; lower --learning-rate (now "
                f"{self._recipe.learning_rate:g}) in another directory"
            )

    def on_save(self, args, state, control, **_) -> None:
        """Only the latest state can be gone on from; of the others the networks are kept."""
        for old in Path(args.output_dir).glob("checkpoint-*/optimizer.pt"):
            if old.parent.name != f"checkpoint-{state.global_step}":
                old.unlink()


def _begin(out: Path, about: Json) -> None:
    """Write down what a run depends on, or compare: only the same run is gone on with."""
    path, whole = out / "run.json", json.loads(json.dumps(about))
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(whole, indent=1))
    for name, value in json.loads(path.read_text()).items():
        if value != whole[name]:
            raise RunError(f"{path}: is of another run ({name} is {value}, now {whole[name]}): choose another --output")


def train(options: Options, data: TokenData) -> None:
    """Train a network by a recipe, or go on with a run that was interrupted.

    Parameters, moments and the log come from the last state, and on the CPU the losses are bit for bit those of an
    uninterrupted run. ``output`` receives ``run.json``, ``checkpoint-*`` and, last, the tables of the measurement and
    ``losses.csv``. A loss is that of a step before it is taken, in nats per token.
    """
    recipe, out = part(Recipe, options), options.output
    if len(data.tokenizer) > recipe.vocabulary:
        raise InputError(
            f"the text has a vocabulary of {len(data.tokenizer):,} tokens, the network one of {recipe.vocabulary:,}: "
            "train a smaller tokenizer or a larger network"
        )
    most = min(recipe.batch_size, options.micro_batch_size)
    at_once = max(n for n in range(1, most + 1) if recipe.batch_size % n == 0)
    text = Sequences(data.train, recipe.sequence_length)
    held_out = data.held_out_sequences(recipe.sequence_length, options.held_out_tokens)
    model = build_model(recipe, data.tokenizer.eos_token_id)
    about = {
        "recipe": asdict(recipe), "data": data.source, "unigram_entropy": data.unigram_entropy(),
        "parameters": model.num_parameters(),
        "held_out_tokens": options.held_out_tokens, "directions": options.directions,
        "versions": {each.__name__: each.__version__ for each in (lngeom, torch, transformers)},
    }  # fmt: skip
    _begin(out, about)
    if (out / "losses.csv").exists():
        return
    recorder = _Recorder(recipe, Measurement(model, recipe, held_out, options.directions))
    arguments = TrainingArguments(
        str(out),
        max_steps=recipe.steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=recipe.batch_size // at_once,
        max_grad_norm=recipe.clip or math.inf,
        bf16=not options.cpu and torch.cuda.is_available(),
        logging_steps=1,
        logging_nan_inf_filter=False,
        seed=recipe.seed,  # of the order of the text, drawn anew in each pass
        dataloader_drop_last=True,
        save_strategy="no",  # the recorder says when
        torch_compile=options.compile,
        use_cpu=options.cpu,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        report_to=[],
    )
    model = nn.Module.to(model, arguments.device)
    trainer = _Trainer(
        model, arguments, train_dataset=text, data_collator=default_data_collator, processing_class=data.tokenizer,
        optimizers=optimization(recipe, model), callbacks=[recorder],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    # The Trainer writes this file of a state last.
    states = sorted(out.glob("checkpoint-*/trainer_state.json"), key=lambda path: int(path.parent.name.split("-")[1]))
    trainer.train(resume_from_checkpoint=str(states[-1].parent) if states else None)
    log: Any = trainer.state.log_history
    for name in TABLES:
        write_table(out / f"{name}.csv", (dict(row["row"]) for row in log if row.get("table") == name))
    write_table(out / "losses.csv", ({"step": row["step"], "loss": row["loss"]} for row in log if "grad_norm" in row))


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Options)
    options = read_options(parser, Options, sys.argv[1:] if words is None else words)
    corpus, out = open_corpus(options.corpus or str(bundled_wikipedia())), options.output
    how = {"tokenizer": options.tokenizer, "vocabulary": options.vocabulary, "limit": options.corpus_tokens}
    train(options, prepare(corpus, out.with_name(f"{out.name}-data"), **how))


if __name__ == "__main__":
    try:
        main()
    except LngeomError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
