"""How far rounding can take a correct kernel, and what a difference beyond that comes from."""

from .certainty import certainly_outside
from .definition import Definition, rounded
from .difference import Case, Explanation, diagnose, explain_difference
from .family import REAL, Arithmetic, Family, Sample, Spread
from .formats import FORMATS
from .gradients import Gradients
from .mistakes import candidates
from .pair import Outputs, Pair
from .pullbacks import instead, places, pulled, summed
from .rows import SMALL, suite
from .stated import Stated
from .tolerances import Acceptance, Tolerance, error_bound, tolerance

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
    "tolerance",
]
