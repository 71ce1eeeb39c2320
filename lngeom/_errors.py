"""The exceptions of the library: one root, so that ``except LngeomError`` catches everything raised here."""

from __future__ import annotations


class LngeomError(Exception):
    """Root of all errors raised by lngeom, proofs and empirical.

    Every message states the value seen, the rule it breaks and what to do next.
    """


class InputError(LngeomError, ValueError):
    """An argument has a shape, dtype or value that the function is not defined for."""
