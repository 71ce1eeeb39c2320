"""That no correct kernel is ever accused, as theorems in Coq, and the record of their check."""

from ._record import RECORD, THEOREMS, check, recorded

__all__ = ["RECORD", "THEOREMS", "check", "recorded"]
