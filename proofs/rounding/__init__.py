"""Theorems in Coq that outputs of correct kernels lie within the bounds, and the record of their check."""

from .record import RECORD as RECORD, THEOREMS as THEOREMS, check, recorded

__all__ = ["check", "recorded"]
