"""Training by the Trainer of transformers: from a recipe and token ids to losses, networks and measurements."""

import contextlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import (
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from lngeom.errors import InputError

from ..runs import Ranks, RunDirectory
from ..support import RunError, StepTable, write_sealed
from ._checkpoint import check_hashes, last_state, save_network, step_of, vouch
from ._data import Sequences, TokenData
from ._execution import Execution
from ._measure import Measurement, StreamMeasurement
from ._model import CONTROLS, build_model, next_token_loss
from ._recipe import Recipe, checkpoint_steps, learning_rate
from ._run import manifest, summary

LOSS_COLUMNS = ("step", "tokens", "loss", "learning_rate", "gradient_norm")
"""Columns of ``losses.csv``: steps count from 1; the loss, in nats per token, is that before the step is taken."""

Report = Callable[[int], None]
"""Called with the number of tokens that have been trained on since the last call."""


def build_optimizer(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    r"""AdamW or SGD with momentum for the parameters of `model`.

    Weight decay λ acts on parameters with two axes or more. In AdamW it is decoupled, w ← (1 − ηλ)w; in SGD it
    enters the gradient, ∇ + λw, so that with momentum m the stationary rate of decay is ηλ/(1 − m). Neither mixes
    the coordinates of a vector: decay shrinks every direction alike.

    An SGD step is a linear combination of past gradients: where all gradients are orthogonal to 1, so is the step.
    An AdamW step divides each coordinate by a size of its own, √v, and is orthogonal to 1 only as far as the sizes
    of the d coordinates agree. Loshchilov and Hutter, arXiv:1711.05101, algorithms 1 and 2.
    """
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=recipe.learning_rate, momentum=recipe.momentum)
    on_gpu = all(parameter.is_cuda for parameter in parameters)
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=recipe.betas, fused=on_gpu)


@dataclass(frozen=True)
class _Run:
    """All that decides what a run computes and where it writes."""

    recipe: Recipe
    data: TokenData
    out: Path
    processes: Ranks
    execution: Execution


class _Schedule(torch.optim.lr_scheduler.LambdaLR):
    """The recipe's learning rate itself: as a multiple of the peak it would be rounded once more."""

    def __init__(self, optimizer: torch.optim.Optimizer, recipe: Recipe) -> None:
        self._recipe = recipe
        super().__init__(optimizer, lambda _: 1.0)

    def get_lr(self) -> list[float | Tensor]:
        """The rate of the step that comes next, for each group of parameters."""
        step = min(self.last_epoch, self._recipe.steps - 1)
        return [learning_rate(self._recipe, step)] * len(self.optimizer.param_groups)

    def state_dict(self) -> dict[str, int]:
        """The step alone: the recipe stands in the manifest of the run."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Go on with that step."""
        self.last_epoch = state_dict["last_epoch"]


class _Trainer(Trainer):
    """Trainer on the sequences of a run in their order, with the loss of a plain language model."""

    narrow: bool = False

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], *_, **__) -> Tensor:
        """Mean loss in nats of predicting each token of the sequences but the first."""
        with torch.autocast(self.args.device.type, torch.bfloat16, enabled=self.narrow):
            return next_token_loss(model, inputs["input_ids"])

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        """The parameters alone: nothing that is read again needs to be unpickled as code."""
        os.makedirs(str(output_dir), exist_ok=True)
        parameters = self.accelerator.unwrap_model(self.model).state_dict()
        save_file(parameters, Path(str(output_dir), "model.safetensors"), metadata={"format": "pt"})


class _Recorder(TrainerCallback):
    """Writes losses, measurements and networks as training goes on, and seals its states."""

    def __init__(self, run: _Run, measure: Measurement | StreamMeasurement, report: Report | None) -> None:
        self._run, self._measure, self._report = run, measure, report
        self._checkpoints = checkpoint_steps(run.recipe.steps, run.recipe.shape.first_checkpoint)
        self._losses = StepTable(run.out / "losses.csv", LOSS_COLUMNS)
        self._measured = {name: StepTable(run.out / f"{name}.csv", columns) for name, columns in measure.tables.items()}
        self.tables = [self._losses.path, *(table.path for table in self._measured.values())]
        self._began, self._resting = time.perf_counter(), 0.0

    def start(self, done: int | None) -> None:
        """Drop the rows of steps that will be repeated."""
        for table in (self._losses, *self._measured.values()):
            table.keep_until(-1 if done is None else done)
        if self._report is not None and done:
            self._report(done * self._run.recipe.tokens_per_step)

    def seconds(self) -> float:
        """Time since the beginning, measurement apart."""
        return time.perf_counter() - self._began - self._resting

    def measure(self, model: nn.Module, step: int, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Measure the network, and keep it."""
        if step not in self._checkpoints or not self._run.processes.leads:
            return
        paused = time.perf_counter()
        for name, rows in self._measure(model, step, optimizer).items():  # pyright: ignore[reportArgumentType] - a GPT-2
            self._measured[name].append(rows)
        if self._run.execution.keep_networks:
            save_network(model, self._run.data.tokenizer, self._run.out / "networks" / f"step-{step:08d}")  # pyright: ignore[reportArgumentType]
        self._resting += time.perf_counter() - paused

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given) -> None:
        """The network before its first step is measured as well."""
        if state.global_step == 0:
            self.measure(given["model"], 0)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given) -> None:
        """Measure if it is time to; save then, every so many steps, and when the time is up."""
        self.measure(given["model"], state.global_step, given["optimizer"])
        elapsed = torch.tensor(time.perf_counter() - self._began, device=self._run.processes.device)
        # One clock decides for all, so that no process waits for another that has stopped.
        stop = self._run.processes.mean(elapsed) > 60 * self._run.execution.minutes > 0
        due = state.global_step in self._checkpoints or state.global_step % self._run.execution.save_every == 0
        control.should_save = due or stop
        control.should_training_stop = control.should_training_stop or stop
        control.should_log = True

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given) -> None:
        """The row of a step: loss and gradient norm are those before it was taken."""
        logs = given["logs"]
        if "loss" not in logs:
            return
        loss, rate = logs["loss"], learning_rate(self._run.recipe, state.global_step - 1)
        if not math.isfinite(loss):
            raise RunError(
                f"the loss of step {state.global_step} is {loss}: training has diverged; lower --learning-rate (now "
                f"{self._run.recipe.learning_rate:g}) in another directory"
            )
        if self._run.processes.leads:
            tokens = state.global_step * self._run.recipe.tokens_per_step
            row = (state.global_step, tokens, loss, rate, float(logs["grad_norm"]))
            self._losses.append([dict(zip(LOSS_COLUMNS, row, strict=True))])
            if self._report is not None:
                self._report(self._run.recipe.tokens_per_step)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given) -> None:
        """All rows reach the disk before the state that vouches for them, and each process has written its part."""
        self._run.processes.wait()
        if self._run.processes.leads:
            vouch(Path(str(args.output_dir)), state.global_step, self.tables)


def train(
    recipe: Recipe,
    data: TokenData,
    out: Path,
    *,
    processes: Ranks,
    execution: Execution | None = None,
    report: Report | None = None,
) -> bool:
    r"""Train a network by a recipe, or go on with a run that was interrupted.

    The same call continues after a kill at any moment: parameters, moments, generators and the position in the text
    come from the last state, and on the CPU the losses are bit for bit those of an uninterrupted run.

    `out` receives ``run.json``, ``losses.csv``, the tables of the measurement, ``networks/step-*``, ``state/`` and,
    last, ``summary.json``. Returns whether the run is complete: it is not when ``execution.minutes`` ran out.

    Raises:
        RunError: If the directory holds something else or another process trains in it, or the loss is no longer
            finite.
        InputError, CorpusError: If text and recipe do not fit together.
    """
    execution = execution or Execution()
    if data.vocabulary > recipe.shape.vocabulary:
        raise InputError(
            f"the text has a vocabulary of {data.vocabulary:,} tokens, the network one of "
            f"{recipe.shape.vocabulary:,}: train a smaller tokenizer or a larger network"
        )
    if recipe.sequences % processes.count:
        msg = f"{recipe.sequences} sequences per step do not divide among {processes.count} processes: change either"
        raise InputError(msg)
    count = recipe.steps * recipe.sequences
    text = Sequences(data.train, length=recipe.sequence_length, count=count, seed=recipe.seed)
    model = build_model(recipe.shape, recipe.norm, seed=recipe.seed, eps=recipe.eps, end_of_text=data.end_of_text)
    size = {"length": recipe.sequence_length, "tokens": execution.held_out_tokens, "directions": execution.directions}
    measure: Measurement | StreamMeasurement
    if recipe.norm in CONTROLS:
        measure = StreamMeasurement(data, width=recipe.shape.width, seed=recipe.seed, **size)
    else:
        checked = (0, recipe.steps) if execution.check_gradients else ()
        measure = Measurement(model, data, check_gradients=checked, **size)
    with contextlib.ExitStack() as stack:
        if processes.leads:
            directory = RunDirectory(out, manifest="run.json", shards=False)
            stack.enter_context(directory.claim())
            directory.begin(manifest(recipe, data, execution, processes), {})
        processes.wait()
        run = _Run(recipe, data, out, processes, execution)
        return _train(run, model, text, _Recorder(run, measure, report))


def _arguments(run: _Run) -> TrainingArguments:
    share = run.recipe.sequences // run.processes.count
    at_once = max(n for n in range(1, min(share, run.execution.micro_sequences) + 1) if share % n == 0)
    return TrainingArguments(
        str(run.out / "state"),
        max_steps=run.recipe.steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=share // at_once,
        max_grad_norm=run.recipe.clip or math.inf,
        logging_nan_inf_filter=False,
        train_sampling_strategy="sequential",
        save_strategy="no",  # the recorder says when
        torch_compile=run.execution.compile,
        use_cpu=run.processes.device.type == "cpu",
        ddp_find_unused_parameters=False,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        report_to=[],
        disable_tqdm=True,
    )


def _train(run: _Run, model: GPT2LMHeadModel, text: Sequences, recorder: _Recorder) -> bool:
    """Train in a directory that is held; see :func:`train`."""
    nn.Module.to(model, run.processes.device)
    last = last_state(run.out / "state")
    done = 0 if last is None else step_of(last)
    if run.processes.leads:
        recorder.start(None if last is None else done)
        if last is not None:
            check_hashes(last, recorder.tables)
    run.processes.wait()
    if done < run.recipe.steps:
        steps = build_optimizer(run.recipe, model)
        both = (steps, _Schedule(steps, run.recipe))
        trainer = _Trainer(model, _arguments(run), train_dataset=text, optimizers=both, callbacks=[recorder])
        trainer.narrow = run.execution.dtype == "bfloat16"
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
        if trainer.state.global_step < run.recipe.steps:
            return False
    if run.processes.leads and not (run.out / "summary.json").exists():
        tokens = (run.recipe.steps - done) * run.recipe.tokens_per_step
        speed = tokens / recorder.seconds() if tokens else None
        about = summary(model, run.recipe, run.data, run.processes, speed)
        write_sealed(run.out / "summary.json", {**about})
    return True
