"""How far rounding can take a correct kernel, and what a difference beyond that comes from."""

from ._certainty import certainly_outside
from ._definition import Definition, rounded as rounded
from ._difference import Case, Explanation, diagnose, explain_difference, indistinct
from ._family import REAL as REAL, Arithmetic, Family as Family, Sample, Spread as Spread
from ._formats import FORMATS as FORMATS
from ._gradients import Gradients
from ._mistakes import candidates as candidates
from ._tolerance import Acceptance, Tolerance, error_bound, tolerance

__all__ = [
    "Acceptance",
    "Arithmetic",
    "Case",
    "Definition",
    "Explanation",
    "Gradients",
    "Sample",
    "Tolerance",
    "certainly_outside",
    "diagnose",
    "error_bound",
    "explain_difference",
    "indistinct",
    "tolerance",
]
