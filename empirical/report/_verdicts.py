"""The verdict table: one line for each prediction, over all norm layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lngeom.verdicts import PREDICTION_VERDICTS, Verdict

from ..predictions import ISOTROPY, Prediction, count


@dataclass(frozen=True)
class VerdictLine:
    """A prediction over all layers: how often it held, and the place where it came nearest to failing."""

    prediction: str
    theorem: str
    counts: dict[Verdict, int]
    extreme: Prediction | None

    @property
    def null(self) -> bool:
        """Whether this is the null law of isotropy, which a network may reject."""
        return self.theorem == ISOTROPY


def _strain(each: Prediction) -> float:
    """How near to failing: the fraction of the bound that is used up, or for a mean how many times it is off."""
    if not each.measured or not each.bound:
        return 0.0
    ratio = each.measured / each.bound
    return max(ratio, 1 / ratio) if each.theorem == ISOTROPY else ratio


def verdict_lines(predictions: Sequence[Prediction]) -> list[VerdictLine]:
    """One line for each prediction, in the order in which they first appear."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for each in predictions:
        groups.setdefault((each.prediction, each.theorem), []).append(each)
    lines = []
    for (name, theorem), found in groups.items():
        measured = [each for each in found if each.measured is not None]
        extreme = max(measured, key=_strain) if measured else None
        lines.append(VerdictLine(name, theorem, count(found), extreme))
    return lines


def worst_first(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Violated, undecided, then what holds; otherwise in the order of the layers."""
    return sorted(predictions, key=lambda each: -PREDICTION_VERDICTS.index(each.verdict))
