"""The processes that train together: one by default, as many as ``torchrun`` starts otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from lngeom import InputError


@dataclass(frozen=True)
class Ranks:
    """One process among those that train together.

    Attributes
    ----------
    rank, count
        Number of this process, from 0, and how many there are.
    device
        Where this process computes.
    """

    rank: int
    count: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process writes the files and measures."""
        return self.rank == 0

    def mean(self, value: Tensor) -> float:
        """Mean of a number over all processes, the same bits in each."""
        if self.count > 1:
            distributed.all_reduce(value, op=distributed.ReduceOp.SUM)
        return float(value) / self.count

    def wait(self) -> None:
        """Go on when all processes have come here."""
        if self.count > 1:
            distributed.barrier()


@contextmanager
def ranks(device: str) -> Iterator[Ranks]:
    """Join the processes of ``torchrun`` (gloo on CPUs, nccl on GPUs), or be the only one.

    Parameters
    ----------
    device : str
        ``cpu``, ``cuda``, ``cuda:1``, or ``auto`` for a GPU where there is one. Under torchrun each process takes
        the GPU of its local rank.

    Raises
    ------
    InputError
        If the device is unknown or not there.
    """
    name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        chosen = torch.device(name)
        if chosen.type == "cuda" and not torch.cuda.is_available():
            msg = f"the device is {device!r}, but PyTorch finds no CUDA device here: use --device cpu"
            raise InputError(msg)
    except RuntimeError as error:
        msg = f"the device is {device!r}: PyTorch knows no such device; use cpu, cuda or auto"
        raise InputError(msg) from error
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Ranks(0, 1, chosen)
        return
    if chosen.type == "cuda":
        chosen = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(chosen)
    distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Ranks(distributed.get_rank(), count, chosen)
    finally:
        distributed.destroy_process_group()
