"""A null law, no prediction: isotropic vectors have d·E[cos²θ] = 1 along every direction, the uniform one included.

The theorem is about a fixed vector and a random direction: here 1 is the vector, and hidden states are directions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._prediction import ISOTROPY, Prediction, undecided

_SIDES = {"input": "d·E[cos²θ] = 1 of the input", "output": "d·E[cos²θ] = 1 of the output"}


def isotropy(rows: Sequence[Mapping[str, Any]]) -> Iterator[Prediction]:
    """The verdicts on each layer of the table of a run, over all tokens.

    ``isotropic`` where the 95 % interval contains 1, ``not isotropic`` where it excludes it; with one sequence there is
    no interval. A vector that enters two layers is judged at the first. The theorem is about isotropic vectors and
    holds whatever a network does: components of a trained one are correlated. The rank says how 1 compares.

    >>> from empirical.predictions import isotropy
    >>> row = {"site": "ln_f", "side": "input", "bucket": "all", "same_input_as": None, "tokens": 512, "sequences": 8,
    ...        "d_cos2": 1.1, "d_cos2_low": 0.9, "d_cos2_high": 1.3, "rank_among_random": 40}
    >>> far = {**row, "site": "h.0.ln_1", "d_cos2": 4.0, "d_cos2_low": 3.5, "d_cos2_high": 4.5}
    >>> [(found.site, found.measured, found.verdict) for found in isotropy([row, far])]
    [('ln_f', 1.1, 'isotropic'), ('h.0.ln_1', 4.0, 'not isotropic')]
    """
    for row in rows:
        if row["bucket"] != "all" or (row["side"] == "input" and row["same_input_as"]):
            continue
        name, mean, low, high = _SIDES[row["side"]], row["d_cos2"], row["d_cos2_low"], row["d_cos2_high"]
        if row["sequences"] < 2 or not all(map(math.isfinite, (mean, low, high))):
            yield undecided(row["site"], name, ISOTROPY, "an interval takes two sequences of finite vectors")
            continue
        verdict = "isotropic" if low <= 1 <= high else "not isotropic"
        yield Prediction(
            row["site"], name, ISOTROPY, mean, 1.0, row["tokens"], verdict, low, high, row["rank_among_random"]
        )
