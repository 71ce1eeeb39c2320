"""The verdicts: one vocabulary for the claims of texts and for predictions about networks.

A proof covers every case, so that a claim is *true* or *false*. A measurement covers the cases seen, up to its bound,
so that a prediction *holds* or is *violated*.
"""

from typing import Literal

__all__ = ["CLAIM_VERDICTS", "MEANINGS", "PREDICTION_VERDICTS", "Verdict"]

Verdict = Literal[
    "true", "true_under", "false", "false_by_source", "non_sequitur", "empirical", "convention", "unverified",
    "not distinguished", "not isotropic", "holds", "undecided", "violated",
]  # fmt: skip


MEANINGS: dict[Verdict, str] = {
    "true": "proved as stated, or worked out where it is arithmetic",
    "true_under": "refuted as it stands, and proved under hypotheses that the document leaves out",
    "false": "refuted by an exact counterexample, and mended by no hypothesis; the corrected statement is proved",
    "false_by_source": "a statement about history or practice that a dated source contradicts",
    "non_sequitur": "the premise can hold where the conclusion fails",
    "empirical": "a statement about trained networks, which a measurement answers",
    "convention": "a definition, a choice, an opinion, or history and practice as a dated source bears it out",
    "unverified": "what decides it is neither proved, refuted nor measured here",
    "not distinguished": "the 95 % interval of one energy contains that of isotropic vectors",
    "not isotropic": "the interval excludes it, which a network may do: no theorem is contradicted",
    "holds": "what was measured lies within the bound",
    "undecided": "rounding or too few data leave both answers open",
    "violated": "what was measured contradicts the theorem, or the norm is not what it is taken for",
}
"""What each verdict says, those on claims first, each group from the good to the bad."""

CLAIM_VERDICTS: tuple[Verdict, ...] = tuple(MEANINGS)[:8]
"""Verdicts on claims of texts."""

PREDICTION_VERDICTS: tuple[Verdict, ...] = tuple(MEANINGS)[8:]
"""Verdicts on predictions about networks."""
