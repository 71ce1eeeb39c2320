"""The processes that work together: one by default, as many as ``torchrun`` starts otherwise."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed
from torch.distributed import PrefixStore  # pyright: ignore[reportPrivateImportUsage]
from torch.distributed.rendezvous import rendezvous

from lngeom.errors import LngeomError, RunError

from ..support import one_line

T = TypeVar("T")

_PATIENCE = timedelta(days=7)
"""A process may have to wait for as long as another measures."""

_joined = itertools.count()


def leads() -> bool:
    """Whether this process is the one that writes for all, also where they have not joined yet."""
    return int(os.environ.get("RANK", "0")) == 0


@dataclass(frozen=True)
class Ranks:
    """One process among those that work together, as :func:`ranks` starts them.

    Attributes:
        rank, count: Number of this process, from 0, and how many there are.
        device: Where this process computes.
        tensor: How many processes share one copy of the model.
    """

    rank: int
    count: int
    device: torch.device
    tensor: int = 1

    @property
    def team(self) -> int:
        """Index of the group of processes that share one copy of the model with this one."""
        return self.rank // self.tensor

    @property
    def teams(self) -> int:
        """How many copies of the model there are."""
        return self.count // self.tensor

    @property
    def writes(self) -> bool:
        """Whether this process writes its team's measurements, so that each token counts once."""
        return self.rank % self.tensor == 0

    def divided(self, tensor: int) -> Ranks:
        """The same processes in teams of `tensor`, each with one copy of the model."""
        if tensor < 1 or self.count % tensor:
            raise RunError(
                f"--tensor-parallel {tensor}: {self.count} processes are not a whole number of teams; start it with "
                f"torchrun --nproc-per-node {max(tensor, 1)} -m lngeom sweep, or a multiple"
            )
        return replace(self, tensor=tensor)

    @property
    def leads(self) -> bool:
        """Whether this process writes for all, that is, prepares a run and finishes it."""
        return self.rank == 0

    def by_leader(self, action: Callable[[], T]) -> T:
        """Have the leading process do something, and all know the outcome.

        Raises:
            LngeomError: In every process, if the leading one met an error.
        """
        if self.count == 1:
            return action()
        outcome: list[T | LngeomError | None] = [None]
        if self.leads:
            try:
                outcome[0] = action()
            except LngeomError as error:
                outcome[0] = error
            except OSError as error:
                outcome[0] = RunError(one_line(error))
        distributed.broadcast_object_list(outcome, src=0, device=torch.device("cpu"))
        if isinstance(outcome[0], LngeomError):
            raise outcome[0]
        return outcome[0]  # pyright: ignore[reportReturnType] - the leader has put its result there

    def wait(self) -> None:
        """Go on when all processes have come here."""
        if self.count > 1:
            distributed.barrier()


@contextmanager
def ranks(device: torch.device) -> Iterator[Ranks]:
    """Join the processes of ``torchrun`` (gloo on CPUs, nccl on GPUs), or be the only one.

    Under ``torchrun`` each process takes the GPU of its local rank. All of them must join equally often.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Ranks(0, 1, device)
        return
    gpus = device.type == "cuda"
    if gpus:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    store, rank, count = next(rendezvous("env://", timeout=_PATIENCE))
    # The launcher keeps one store through its restarts, and processes may join more than once in their life: without a
    # name of its own, they would find the addresses of those that died, or of their own earlier connection.
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    life = PrefixStore(f"life-{restart}-{next(_joined)}", store)
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    distributed.init_process_group(backend, store=life, rank=rank, world_size=count, timeout=_PATIENCE)
    try:
        yield Ranks(distributed.get_rank(), count, device)
    finally:
        distributed.destroy_process_group()
