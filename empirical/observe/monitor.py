"""Norm layers while a model is trained: every n-th step is measured, inside the forward passes that it makes anyway."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from torch import nn
from transformers import PrinterCallback, ProgressCallback, TrainerCallback

from lngeom.errors import InputError

from ..models import NormSite, sites_of
from .observer import Observer
from .table import TABLE, rows

_STATISTICS = ("angle_mean_deg", "d_cos2", "norm_mean", "norm_max")
_CONSOLES = (PrinterCallback, ProgressCallback)
"""What prints the logs of a Trainer: of the norms it would print one number for each layer, side and statistic."""


class Monitor:
    """Measure the norm layers of a model at every n-th training step.

    Args:
        model: Any module, with or without its head.
        every: Steps between two measurements.
        sites: The norm layers; by default those that :func:`lngeom.empirical.models.norms` finds.
        statistics: The columns of the table, those of ``lngeom.empirical.observe.TABLE`` that are numbers.
        directions: Number of random directions to compare the all-ones vector with.
        batch_dim: As for :class:`lngeom.empirical.observe.Observer`.

    >>> import torch
    >>> from lngeom.empirical.observe import Monitor
    >>> model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
    >>> monitor = Monitor(model, every=2)
    >>> for step in range(3):
    ...     with monitor(step):
    ...         loss = model(torch.randn(4, 8)).square().mean()
    ...         loss.backward()
    ...     print(step, sorted(monitor.scalars)[:2])
    0 ['norms/1/input/angle_mean_deg', 'norms/1/input/d_cos2']
    1 []
    2 ['norms/1/input/angle_mean_deg', 'norms/1/input/d_cos2']
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        every: int = 50,
        sites: Sequence[NormSite] | None = None,
        statistics: Sequence[str] = _STATISTICS,
        directions: int = 8,
        batch_dim: int | None = None,
    ) -> None:
        if every < 1:
            raise InputError(f"every {every}: it must be 1 (every step) or more")
        known = [column.name for column in TABLE if column.unit != "text"]
        if unknown := [name for name in statistics if name not in known]:
            raise InputError(f"statistics {unknown[0]}: is none; choose from {', '.join(known)}")
        self.every, self.scalars, self.line = every, dict[str, float](), ""
        self._sites, self._statistics = sites_of(model) if sites is None else tuple(sites), tuple(statistics)
        if not self._sites:
            msg = f"{type(model).__name__}: no norm layer was found; give sites, or see lngeom.empirical.models.norms"
            raise InputError(msg)
        self._model, self._directions, self._batch_dim = model, directions, batch_dim

    @contextmanager
    def __call__(self, step: int) -> Iterator[None]:
        """Measure the passes inside, if it is their turn; ``scalars`` has their numbers, ``line`` their range."""
        self.scalars, self.line = {}, ""
        if step % self.every:
            yield
            return
        with Observer(self._model, self._sites, directions=self._directions, batch_dim=self._batch_dim) as observer:
            yield
        states = observer.states
        called = [site for site in self._sites if (site.path, "input") in states]
        table = [row for row in rows(states, called) if row["bucket"] == "all"]
        for row in table:
            prefix = f"norms/{row['site']}/{row['side']}"
            self.scalars |= {f"{prefix}/{name}": float(row[name]) for name in self._statistics if row[name] is not None}
        before = [row for row in table if row["side"] == "input"]
        self.line = f"step {step}: {len(called)} norms, {self._ranges(before)}"

    def _ranges(self, before: Sequence[dict[str, Any]]) -> str:
        """The least and the largest of each statistic over the inputs, and where a layer is the largest."""
        told = []
        for name in self._statistics:
            values = {row["site"]: row[name] for row in before if row[name] is not None and row[name] == row[name]}
            if values:
                most = max(values, key=lambda site: values[site])
                told.append(f"{name} {min(values.values()):.4g} to {values[most]:.4g} ({most})")
        return ", ".join(told)


class NormCallback(TrainerCallback):
    """A :class:`Monitor` for the Trainer of transformers, whose loggers (TensorBoard, W&B) get the scalars.

    The console gets one line a step: the range of each statistic over the inputs of the norms.

    Args:
        trainer: The trainer; the callback is added with ``trainer.add_callback``.
        everything: Whether the console gets all scalars, as the loggers do.
        options: As for :class:`Monitor`.
    """

    def __init__(self, trainer: Any, *, everything: bool = False, **options) -> None:
        self._trainer, self._monitor, self._everything = trainer, Monitor(trainer.model, **options), everything
        self._open = ExitStack()

    def on_step_begin(self, args, state, control, **_) -> None:
        """Install the hooks, if this step is to be measured."""
        self._open.enter_context(self._monitor(state.global_step))

    def on_step_end(self, args, state, control, **_) -> None:
        """Remove the hooks, and log their measurements."""
        self._open.close()
        if not self._monitor.scalars or not state.is_world_process_zero:
            return
        callbacks = self._trainer.callback_handler.callbacks
        consoles = [] if self._everything else [each for each in callbacks if isinstance(each, _CONSOLES)]
        with ExitStack() as silenced:
            for each in consoles:  # the handler calls what an instance has in place of its method
                silenced.enter_context(mock.patch.object(each, "on_log", return_value=None))
            self._trainer.log(self._monitor.scalars)
        for each in consoles[:1]:  # a line that is printed would cut a progress bar in two
            bar = getattr(each, "training_bar", None)
            (print if bar is None else bar.write)(self._monitor.line)
