"""Predictions: what the theorems say of a running model, each with the id of its theorem and a verdict."""

from __future__ import annotations

from ._exact import THEOREMS as EXACT, ZERO_GAINS, check as check
from ._isotropy import isotropy as isotropy
from ._predict import judge as judge, predict as predict
from ._prediction import (
    COLUMNS as COLUMNS,
    ISOTROPY as ISOTROPY,
    VERDICTS as VERDICTS,
    Prediction as Prediction,
    Verdict as Verdict,
    count as count,
    read_csv as read_csv,
    summary as summary,
    write_csv as write_csv,
)
from ._sample import Sample as Sample, samples as samples
from ._shift import THEOREMS as SHIFT, shift as shift

THEOREM_IDS = tuple(
    sorted(
        {
            ISOTROPY,
            *SHIFT.values(),
            *ZERO_GAINS.values(),
            *(id for kind in EXACT.values() for id in kind.values()),
        }
    )
)
"""Ids of all theorems that speak of a running model."""

__all__ = [
    "COLUMNS",
    "ISOTROPY",
    "THEOREM_IDS",
    "VERDICTS",
    "Prediction",
    "Sample",
    "Verdict",
    "check",
    "count",
    "isotropy",
    "judge",
    "predict",
    "read_csv",
    "samples",
    "shift",
    "summary",
    "write_csv",
]
