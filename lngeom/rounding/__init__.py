"""The engine of :func:`lngeom.tolerance` and :func:`lngeom.explain_difference`, for checks of whole kernels."""

from ._certainty import certainly_outside as certainly_outside
from ._definitions import Definition as Definition, rounded as rounded
from ._difference import Case as Case, diagnose as diagnose, indistinct as indistinct
from ._family import REAL as REAL, Arithmetic as Arithmetic, Sample as Sample, Spread as Spread
from ._formats import FORMATS as FORMATS
from ._gradients import Gradients as Gradients

__all__ = ["Arithmetic", "Case", "Definition", "Gradients", "Sample", "certainly_outside", "diagnose", "indistinct"]
