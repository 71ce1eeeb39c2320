"""The ledger: claims of documents, their verdicts, and what settles them.

A record names the theorem, the exact counterexample or the measurement; pytest checks that it is there and says so.
"""

from .._terminal import as_text
from .claim import Claim, Document
from .pages import explanation, ledger
from .texts import DOCUMENTS, claims, document_of, find, renamed, select

__all__ = ["DOCUMENTS", "Claim", "Document", "claims", "document_of", "find", "select"]
