"""A prediction: a theorem's statement about a running model, the measurement, and whether they agree."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from lngeom.verdicts import PREDICTION_VERDICTS, Verdict

from ..observe import TABLE, false_alarms

MODEL = "model"
"""Stands for a site where the whole model is meant."""

ISOTROPY = next(column.theorem for column in TABLE if column.name == "d_cos2")
"""The theorem behind the null law of isotropy; all others are about single vectors or about the model."""


@dataclass(frozen=True)
class Prediction:
    """One theorem at one place of a model.

    Attributes:
        site: Path of the norm layer; ``model`` for a prediction about the whole model.
        prediction: In a few words.
        theorem: Id of the theorem, as ``lngeom prove`` lists it; of a network with RMSNorms that of a single norm.
        measured: The number measured: of the vector that comes nearest to its bound (or exceeds it most), or a mean
            over the run.
        bound: The largest value allowed; for a mean, its expected value. None where no bound is known.
        vectors: Vectors that were judged.
        verdict: ``holds``, ``violated`` or ``undecided``; never ``violated`` where no bound is known. Of the null law
            ``not distinguished`` or ``not isotropic``: a network that rejects a null law contradicts no theorem.
        low, high: 95 % interval of a mean.
        rank: Number of random isotropic directions with a smaller mean than the all-ones vector.
        reason: Why nothing is decided.
        rank_among_signs: Number of random sign vectors with a smaller mean.
    """

    site: str
    prediction: str
    theorem: str
    measured: float | None
    bound: float | None
    vectors: int
    verdict: Verdict
    low: float | None = None
    high: float | None = None
    rank: int | None = None
    reason: str = ""
    rank_among_signs: int | None = None


COLUMNS = tuple(field.name for field in fields(Prediction))


def judged(
    site: str, prediction: str, theorem: str, measured: np.ndarray, bound: np.ndarray, decidable: np.ndarray
) -> Prediction:
    """The verdict over vectors: each must not exceed its own bound, and those without a bound decide nothing."""
    usable = decidable & np.isfinite(bound)
    if not usable.any():
        return undecided(site, prediction, theorem, "no vector has an error bound below its own length")
    values, limits = measured[usable], bound[usable]
    worst = int(np.argmax(values / limits))  # a NaN counts as the largest, and exceeds its bound
    verdict: Verdict = "holds" if bool(np.all(values <= limits)) else "violated"
    return Prediction(site, prediction, theorem, float(values[worst]), float(limits[worst]), len(values), verdict)


def undecided(site: str, prediction: str, theorem: str, reason: str) -> Prediction:
    """A prediction about which nothing can be said, and why."""
    return Prediction(site, prediction, theorem, None, None, 0, "undecided", reason=reason)


def count_verdicts(predictions: Iterable[Prediction]) -> dict[Verdict, int]:
    """The number of predictions with each verdict."""
    counts = Counter(each.verdict for each in predictions)
    return {verdict: counts[verdict] for verdict in PREDICTION_VERDICTS}


def summary_lines(predictions: Sequence[Prediction]) -> list[str]:
    """The verdicts in up to three lines: about single vectors, the null law of isotropy, and the whole model.

    >>> from lngeom.empirical.judge import ISOTROPY, Prediction, summary_lines
    >>> exact = Prediction("ln_f", "Σyᵢ = 0", "standardization.mean_zero", 1e-7, 2e-6, 16, "holds")
    >>> mean = Prediction("ln_f", "d·E[cos²θ] = 1 of the input", ISOTROPY, 4.0, 1.0, 512, "not isotropic", 3.5, 4.5, 9)
    >>> summary_lines([exact, mean])  # doctest: +ELLIPSIS
    ['predicted identities of norms: 1 of 1 holds', 'predicted energies: 1 of 1 is not isotropic (if isotropic, ...)']
    """
    network = "properties of the network"
    parts: dict[str, list[Prediction]] = {"identities of norms": [], "energies": [], network: []}
    for each in predictions:
        about_one = "energies" if each.theorem == ISOTROPY else "identities of norms"
        parts[network if each.site == MODEL else about_one].append(each)
    said = []
    for kind, part in parts.items():
        counted = [f"{n} of {len(part)} {_said(verdict, n)}" for verdict, n in count_verdicts(part).items() if n]
        count = sum(each.low is not None for each in part) if kind == "energies" else 0
        chance = f" (if isotropic, nominally {false_alarms(count):.3g} of {count} would be called not isotropic)"
        said += [f"predicted {kind}: {' and '.join(counted)}{chance * (count > 0)}"] * (part != [])
    return said


def _said(verdict: Verdict, n: int) -> str:
    """The verdict on n predictions, as what a sentence says of them."""
    if verdict == "holds":
        return "holds" if n == 1 else "hold"
    return f"{'is' if n == 1 else 'are'} {verdict}{' from isotropic' * (verdict == 'not distinguished')}"
