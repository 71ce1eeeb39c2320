"""Kernels of Triton: run by Python on traced arrays, for every block, and on PyTorch where Triton is not installed."""


class BeyondEnd(IndexError):
    """A kernel reads or writes beyond the end of an array: its name and the line."""

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.args[1]})"
