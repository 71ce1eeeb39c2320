"""The exceptions of the library: one root, so that ``except LngeomError`` catches everything raised here."""

__all__ = ["InputError", "LngeomError", "RunError"]


class LngeomError(Exception):
    """Root of all errors raised by lngeom.

    A message states the value seen, the rule it breaks and what to do next.

    >>> import numpy as np, lngeom as lg
    >>> try:
    ...     lg.layer_norm(np.array([1.0, 2.0]), eps=-1.0)
    ... except lg.errors.LngeomError as error:
    ...     print(error)
    eps is -1.0: it is added to a variance and must be finite and >= 0
    """


class InputError(LngeomError, ValueError):
    """An argument has a shape, dtype or value that the function is not defined for; also a :class:`ValueError`."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(line.strip() for line in message.splitlines()))


class RunError(LngeomError, ValueError):
    """A run directory cannot be written, resumed or merged."""
