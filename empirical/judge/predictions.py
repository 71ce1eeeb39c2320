"""All predictions about one model: a few short forward passes of their own; and a null law.

Isotropic vectors have d·E[cos²θ] = 1 along every direction, that of 1 included. The theorem is about a fixed
vector and a random direction: here 1 is the vector, and hidden states are directions.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from torch import nn

from ..models import LoadedModel, NormSite
from ..support import Row
from .exact import THEOREMS as EXACT, ZERO_GAINS, check_sample
from .sample import forward, samples
from .shifts import THEOREMS as SHIFT, shift
from .verdicts import ISOTROPY, Prediction, undecided

THEOREM_IDS = tuple(
    sorted({ISOTROPY, *SHIFT.values(), *ZERO_GAINS.values(), *(id for kind in EXACT.values() for id in kind.values())})
)
"""Ids of all theorems that speak of a running model."""


def judge(model: nn.Module, sites: Sequence[NormSite], call: Callable[[], object]) -> list[Prediction]:
    """Judge the predictions about single vectors on up to 16 of each of the norm layers that `call` reaches."""
    return [each for sample in samples(model, sites, call) for each in check_sample(sample)]


def predict(loaded: LoadedModel, tokens: np.ndarray) -> list[Prediction]:
    """Judge the predictions about single vectors and about the whole model on the first tokens of a run.

    Of `tokens`, shape (sequences, positions), the first 64 positions of the first two sequences are used, and up to 16
    vectors of each layer; for the shift, 16 positions of the first sequence.
    """
    return [*shift(loaded, tokens), *judge(loaded.model, loaded.sites, lambda: forward(loaded, tokens))]


_SIDES = {"input": "d·E[cos²θ] = 1 of the input", "output": "d·E[cos²θ] = 1 of the output"}


def isotropy(rows: Sequence[Row]) -> Iterator[Prediction]:
    """The verdict on each layer in the table of a run, over all tokens.

    ``not distinguished`` where the 95 % interval contains 1, ``not isotropic`` where it excludes it; one sequence has
    no interval. A vector that enters two layers is judged at the first. The theorem is about isotropic vectors and
    holds whatever a network does: components of a trained one are correlated. The ranks say how 1 compares. Each
    verdict is that of one interval: of many, :func:`lngeom.empirical.observe.false_alarms` exclude 1 by chance.
    """
    for row in rows:
        if row["bucket"] != "all" or (row["side"] == "input" and row["same_input_as"]):
            continue
        if row.get("role") == "stream" and row["side"] == "output":
            continue  # it is what enters the next block
        name, mean, low, high = _SIDES[row["side"]], row["d_cos2"], row["d_cos2_low"], row["d_cos2_high"]
        if row["sequences"] < 2 or not all(map(math.isfinite, (mean, low, high))):
            yield undecided(row["site"], name, ISOTROPY, "an interval takes two sequences of finite vectors")
            continue
        verdict = "not distinguished" if low <= 1 <= high else "not isotropic"
        ranks = {"rank": row["rank_among_random"], "rank_among_signs": row["rank_among_signs"]}
        yield Prediction(row["site"], name, ISOTROPY, mean, 1.0, row["tokens"], verdict, low, high, **ranks)
