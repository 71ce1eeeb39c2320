"""Gupta et al., arXiv:2409.12951, in the text of its third version; one module per part of the paper."""

from __future__ import annotations

from .._claim import Document
from . import appendix, definitions, experiments, irreversibility, theory

DOCUMENT = Document(
    "gupta",
    "Gupta et al., arXiv:2409.12951",
    "“LayerNorm vs RMSNorm: A Geometric Perspective and the Case Against Mean Subtraction”",
)

_PARTS = (definitions, theory, irreversibility, experiments, appendix)

CLAIMS = tuple(
    sorted(
        (claim for part in _PARTS for claim in part.CLAIMS), key=lambda claim: int(claim.id.partition("-")[2])
    )
)
