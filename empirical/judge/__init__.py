"""Predictions: what the theorems say of a running model, each with the id of its theorem and a verdict."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._exact import check_sample
    from ._predict import THEOREM_IDS, isotropy, judge, predict
    from ._prediction import COLUMNS, ISOTROPY, MODEL, Prediction, count_verdicts, summary_line
    from ._sample import SiteSample, samples
    from ._shift import shift
else:
    __getattr__ = lazy(__name__, __file__)
