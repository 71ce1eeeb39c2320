"""A proof kernel for statements about all vectors of every dimension, on which the functions of lngeom run.

``prove(equal(lg.project(lg.project(x)), lg.project(x)))`` proves Π² = Π for every d and every x, about the very
function that users call. What a proof rests on is in two files, ``_terms.py`` and ``_rules.py``; their docstrings have
the argument.
"""

from ..carriers import derivative
from . import _meaning, _prover, _rules, _terms, _text, _vocabulary
from ._export import certified as certified, digest as digest, recorded_formula as recorded_formula, steps as steps
from ._meaning import *  # noqa: F403
from ._meaning import Values as Values, ends as ends
from ._monomials import atoms_of
from ._prover import *  # noqa: F403
from ._recorded import Recorded as Recorded, Table as Table
from ._rules import *  # noqa: F403
from ._terms import *  # noqa: F403
from ._text import *  # noqa: F403
from ._vocabulary import *  # noqa: F403

__all__ = ["atoms_of", "derivative"]
__all__ += _meaning.__all__
__all__ += _prover.__all__
__all__ += _rules.__all__
__all__ += _terms.__all__
__all__ += _text.__all__
__all__ += _vocabulary.__all__
