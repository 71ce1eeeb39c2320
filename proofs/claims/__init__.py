"""The ledger: every checkable claim of the documents that this project settles, its verdict, and what settles it.

A record names the theorem, the exact counterexample or the measurement; pytest checks that it is there and says so.
"""

from .._terminal import as_text as as_text
from .claim import Claim as Claim, Document as Document
from .pages import explanation as explanation, ledger as ledger
from .texts import DOCUMENTS as DOCUMENTS, claims as claims, document_of as document_of, find as find, select as select

__all__ = ["DOCUMENTS", "Claim", "Document", "claims", "document_of", "find", "select"]
