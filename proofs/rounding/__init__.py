"""That no correct kernel is ever accused, as theorems in Coq, and the record of their check."""

from .record import RECORD as RECORD, THEOREMS as THEOREMS, check, recorded

__all__ = ["check", "recorded"]
