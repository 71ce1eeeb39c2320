"""Theorems about LayerNorm and RMSNorm, their proofs, and the ledger of claims.

The checks load Hypothesis, which whoever looks a theorem up does not need.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from ._evidence import Evidence, gather
    from ._registry import CHAPTERS, find, theorems
else:
    __getattr__ = lazy(__name__, __file__)
