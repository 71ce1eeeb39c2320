"""The decision whether a kernel is wrong, in exact fractions, and the smallest row that shows it."""

from dataclasses import dataclass

from ._claim import Claim
from ._shrink import smallest_input
from ._trial import Trial
from ._trials import Tried


@dataclass(frozen=True)
class Judged:
    """What fractions decided.

    Attributes:
        tried: All trials.
        shown: The smallest row found of which fractions say that it is wrong; else the worst one.
        claim: The claim that `shown` refutes: with gain 1 and bias 0 where these are wrong as well.
        refuted: Whether fractions say so; where floats alone accuse a kernel, they were too near to tell.
    """

    tried: Tried
    shown: Trial | None
    claim: Claim
    refuted: bool


def judged(tried: Tried) -> Judged:
    """The trial of smallest dimension, first a shrunk one, of which fractions too say that it is wrong."""
    claim = tried.inputs.claim
    wrong = None if tried.faults else _certain(claim, [trial for trial in tried.trials if trial.wrong.any()])
    if wrong is None:
        worst = max(tried.trials, key=lambda trial: trial.largest, default=None)
        return Judged(tried, worst, claim, refuted=False)
    plain = claim.like("plain")
    try:
        shown = plain.trial(wrong.label, wrong.x[[wrong.worst[0]]])
    except Exception:  # a kernel may refuse a row alone in any way its framework has
        return Judged(tried, wrong, claim, refuted=True)
    simpler = shown.wrong.any() and shown.certain()
    return Judged(tried, shown, plain, refuted=True) if simpler else Judged(tried, wrong, claim, refuted=True)


def _certain(claim: Claim, failing: list[Trial]) -> Trial | None:
    if not failing:
        return None
    # One component less its mean is 0, and a divisor d − 1 is 0 there: more components show what is wrong.
    least = 2 if claim.centered and any(trial.d > 1 for trial in failing) else 1
    failing = sorted((trial for trial in failing if trial.d >= least), key=lambda trial: (trial.d, -trial.largest))
    first = failing[0]
    row, fixed = first.x[first.worst[0]], claim.kernel.fixed is not None
    small = smallest_input(lambda x: claim.trial(first.label, x), row, fixed=fixed, least=least)
    return next((trial for trial in filter(None, (small, *failing)) if trial.certain()), None)
