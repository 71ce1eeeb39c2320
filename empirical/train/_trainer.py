"""The training loop: from a recipe and token ids to losses, networks and measurements, resumable exactly."""

import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from transformers import GPT2LMHeadModel

from lngeom.errors import InputError

from ..runs import Ranks
from ..support import RunError, StepTable, lock, write_sealed
from ._checkpoint import check_hashes, load_state, save_network, save_state
from ._data import Batches, TokenData
from ._measure import Measurement, StreamMeasurement
from ._model import CONTROLS, build_model
from ._recipe import Recipe, checkpoint_steps, learning_rate
from ._run import Execution, manifest, open_run, summary

LOSS_COLUMNS = ("step", "tokens", "loss", "learning_rate", "gradient_norm")
"""Columns of ``losses.csv``: steps count from 1; the loss, in nats per token, is that before the step is taken."""

Report = Callable[[int], None]
"""Called with the number of tokens that have been trained on since the last call."""


def next_token_loss(model: Callable[..., Any], sequences: Tensor) -> Tensor:
    """Mean loss in nats of predicting each token of `sequences` but the first, shape (sequences, length + 1)."""
    logits = model(input_ids=sequences[:, :-1]).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), sequences[:, 1:].flatten())


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


class _Passes:
    """Forward and backward passes of one process: accumulated, compiled and synchronized as asked."""

    def __init__(self, model: nn.Module, execution: Execution, processes: Ranks) -> None:
        self._execution, self._device = execution, processes.device
        self._synchronized: DistributedDataParallel | None = None
        self._module: Callable[..., Any] = model
        if processes.count > 1:
            own = [processes.device.index] if processes.device.type == "cuda" else None
            self._module = self._synchronized = DistributedDataParallel(model, device_ids=own)
        if execution.compile:
            self._module = torch.compile(self._module)

    def __call__(self, sequences: Tensor) -> Tensor:
        """Leave the gradient of the mean loss over `sequences` in the parameters; returns that loss."""
        total = torch.zeros((), device=self._device)
        parts = sequences.split(self._execution.micro_sequences)
        for index, part in enumerate(parts):
            alone = self._synchronized is not None and index < len(parts) - 1
            wait = self._synchronized.no_sync() if alone and self._synchronized else contextlib.nullcontext()
            with wait:
                narrow = self._execution.dtype == "bfloat16"
                with torch.autocast(self._device.type, torch.bfloat16, enabled=narrow):
                    loss = next_token_loss(self._module, part.to(self._device))
                # Each part counts by its number of sequences, the last one may be shorter.
                loss = loss * (len(part) / len(sequences))
                loss.backward()
            total += loss.detach()
        return total


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
        msg = (
            f"the text has a vocabulary of {data.vocabulary:,} tokens, the network one of "
            f"{recipe.shape.vocabulary:,}: train a smaller tokenizer or a larger network"
        )
        raise InputError(msg)
    if recipe.sequences % processes.count:
        msg = f"{recipe.sequences} sequences per step do not divide among {processes.count} processes: change either"
        raise InputError(msg)
    batches = Batches(data.train, length=recipe.sequence_length, sequences=recipe.sequences, seed=recipe.seed)
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
            open_run(out, manifest(recipe, data, execution, processes))
            stack.enter_context(lock(out))
        processes.wait()
        return _train(recipe, data, out, processes, execution, report, batches, model, measure)


def _train(
    recipe: Recipe,
    data: TokenData,
    out: Path,
    processes: Ranks,
    execution: Execution,
    report: Report | None,
    batches: Batches,
    model: GPT2LMHeadModel,
    measure: Measurement | StreamMeasurement,
) -> bool:
    """Train in a directory that is held; see :func:`train`."""
    nn.Module.to(model, processes.device)
    optimizer = build_optimizer(recipe, model)
    done = load_state(out / "state", model, optimizer)

    checkpoints = checkpoint_steps(recipe.steps, recipe.shape.first_checkpoint)
    losses = StepTable(out / "losses.csv", LOSS_COLUMNS)
    measured = {name: StepTable(out / f"{name}.csv", columns) for name, columns in measure.tables.items()}

    paths = [table.path for table in (losses, *measured.values())]

    def keep(step: int) -> None:
        """Measure and save; all rows reach the disk before the state that vouches for them."""
        if step in checkpoints:
            for name, rows in measure(model, step).items():
                measured[name].append(rows)
            if execution.keep_networks:
                save_network(model, data.tokenizer, out / "networks" / f"step-{step:08d}")
        for table in (losses, *measured.values()):
            table.sync()
        save_state(out / "state", step, model, optimizer, paths)

    if processes.leads:
        for table in (losses, *measured.values()):
            table.keep_until(-1 if done is None else done)
        if done is None:
            keep(0)
        else:
            check_hashes(out / "state" / f"step-{done:08d}", paths)
    processes.wait()

    if report is not None and done:
        report(done * recipe.tokens_per_step)
    passes = _Passes(model, execution, processes)
    began, resting = time.perf_counter(), 0.0
    first = step = done or 0
    while step < recipe.steps:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(recipe, step)
        loss = processes.mean(passes(batches.step(step, rank=processes.rank, ranks=processes.count)))
        norm = nn.utils.clip_grad_norm_(model.parameters(), recipe.clip or math.inf)
        if not math.isfinite(loss):
            msg = (
                f"the loss of step {step + 1} is {loss}: training has diverged; lower --learning-rate (now "
                f"{recipe.learning_rate:g}) in another directory"
            )
            raise RunError(msg)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        row = (step + 1, (step + 1) * recipe.tokens_per_step, loss, learning_rate(recipe, step), float(norm))
        step += 1
        elapsed = time.perf_counter() - began
        # One clock decides for all, so that no process waits for another that has stopped.
        stop = processes.mean(torch.tensor(elapsed, device=processes.device)) > 60 * execution.minutes > 0
        if processes.leads:
            losses.append([dict(zip(LOSS_COLUMNS, row, strict=True))])
            if step in checkpoints or step % execution.save_every == 0 or stop:
                paused = time.perf_counter()
                keep(step)
                resting += time.perf_counter() - paused
            if report is not None:
                report(recipe.tokens_per_step)
        if stop and step < recipe.steps:
            return False
    if processes.leads and not (out / "summary.json").exists():
        seconds = time.perf_counter() - began - resting
        speed = (step - first) * recipe.tokens_per_step / seconds if step > first else None
        write_sealed(out / "summary.json", summary(model, recipe, data, processes, speed))
    return True
