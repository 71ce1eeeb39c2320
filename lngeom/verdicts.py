"""The verdicts: one vocabulary for the claims of texts and for predictions about networks.

A proof covers every case, so that a claim is *true* or *false*. A measurement covers the cases seen, up to its bound,
so that a prediction *holds* or is *violated*.
"""

from typing import Literal, NamedTuple

__all__ = ["CLAIM_VERDICTS", "MEANINGS", "PREDICTION_VERDICTS", "Meaning", "Verdict"]

Verdict = Literal[
    "true", "true_under", "false", "false_by_source", "non_sequitur", "empirical", "convention", "unverified",
    "not distinguished", "not isotropic", "holds", "undecided", "violated",
]  # fmt: skip


class Meaning(NamedTuple):
    """The meaning of a verdict.

    Attributes:
        says: In words.
        sign: In a table of many.
        tone: {"yes", "no", "open"}. Whether it speaks for the statement.
    """

    says: str
    sign: str
    tone: Literal["yes", "no", "open"]


MEANINGS: dict[Verdict, Meaning] = {
    "true": Meaning("proved as stated, or worked out where it is arithmetic", "✓", "yes"),
    "true_under": Meaning(
        "refuted as it stands, and proved under hypotheses that the document leaves out", "✓", "open"
    ),
    "false": Meaning(
        "refuted by an exact counterexample, and mended by no hypothesis; the corrected statement is proved", "✗", "no"
    ),
    "false_by_source": Meaning("a statement about history or practice that a dated source contradicts", "✗", "no"),
    "non_sequitur": Meaning("the premise can hold where the conclusion fails", "✗", "open"),
    "empirical": Meaning("a statement about trained networks, which a measurement answers", "○", "open"),
    "convention": Meaning(
        "a definition, a choice, or a statement about history and practice that a dated source bears out", "○", "open"
    ),
    "unverified": Meaning("what decides it is neither proved, refuted nor measured here", "?", "open"),
    "not distinguished": Meaning("the 95 % interval of one energy contains that of isotropic vectors", "○", "open"),
    "not isotropic": Meaning(
        "the interval excludes it, which a network may do: no theorem is contradicted", "●", "open"
    ),
    "holds": Meaning("what was measured lies within the bound", "✓", "yes"),
    "undecided": Meaning("rounding or too few data leave both answers open", "?", "open"),
    "violated": Meaning(
        "what was measured contradicts the theorem, or the norm is not what it is taken for", "✗", "no"
    ),
}
"""All verdicts, those on claims first, each group from the good to the bad."""

CLAIM_VERDICTS: tuple[Verdict, ...] = tuple(MEANINGS)[:8]
"""Verdicts on claims of texts."""

PREDICTION_VERDICTS: tuple[Verdict, ...] = tuple(MEANINGS)[8:]
"""Verdicts on predictions about networks."""
