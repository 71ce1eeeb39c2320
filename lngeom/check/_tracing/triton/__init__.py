"""Kernels of Triton: run by Python on traced arrays, for every block, and on PyTorch where Triton is not installed."""

from lngeom.errors import InputError


class Unread(InputError, AttributeError):
    """A kernel does what is not known here, which says nothing about it."""


class BeyondEnd(IndexError):
    """A kernel reads or writes beyond the end of an array: its name and the line."""

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.args[1]})"
