"""Pictures with Matplotlib of the steps of a norm, of its ellipsoid, and of a finished run.

Every function draws on the axis `ax` that you give, or on a new figure, and returns the axis. Matplotlib is imported
when a function is called: ``pip install matplotlib``, unless the extra ``empirical`` is installed.
"""

from .outputs import ellipsoid
from .run import angles, energies, outliers, rounding_level as rounding_level
from .space import Floats as Floats, around as around, turned as turned
from .vector import steps

__all__ = ["angles", "ellipsoid", "energies", "outliers", "steps"]
