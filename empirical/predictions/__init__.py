"""Predictions: what the theorems say of a running model, each with the id of its theorem and a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._exact import check as check
    from ._isotropy import isotropy as isotropy
    from ._predict import THEOREM_IDS as THEOREM_IDS, judge as judge, predict as predict
    from ._prediction import (
        COLUMNS as COLUMNS,
        ISOTROPY as ISOTROPY,
        Prediction as Prediction,
        count as count,
        read_csv as read_csv,
        summary as summary,
        write_csv as write_csv,
    )
    from ._sample import Sample as Sample, samples as samples
    from ._shift import shift as shift
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "COLUMNS",
    "ISOTROPY",
    "THEOREM_IDS",
    "Prediction",
    "Sample",
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
