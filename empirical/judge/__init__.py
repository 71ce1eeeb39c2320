"""Predictions: statements of theorems about a running model, each with the theorem's id and a verdict."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .exact import check_sample
    from .predictions import THEOREM_IDS, isotropy, judge, predict
    from .sample import SiteSample, samples
    from .shifts import shift
    from .verdicts import COLUMNS, ISOTROPY, MODEL, Prediction, count_verdicts, summary_lines
else:
    __getattr__ = lazy(__name__, __file__)
