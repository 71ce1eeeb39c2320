"""A prover of statements about all vectors of every dimension, on whose terms the functions of lngeom run.

``prove(equal(lg.project(lg.project(x)), lg.project(x)))`` proves Π² = Π for every d and every x, about the very
function that users call. The prover is not trusted: :mod:`lngeom.checker`, which reads the certificate of a proof and
imports nothing of this package, decides what is proved.
"""

from ..carriers import derivative
from . import decision, meaning, rules, tactics, terms, vocabulary, writing
from .decision import *  # noqa: F403
from .export import Place, ProofCertificate, Step, certificate, steps
from .meaning import *  # noqa: F403
from .meaning import Values
from .monomials import atoms_of
from .printer import ATOM, Printer
from .recorded import Node, Recorded, Table, computed, operands, parts, recording
from .rules import *  # noqa: F403
from .tactics import *  # noqa: F403
from .terms import *  # noqa: F403
from .terms import Effort, ExhaustedError
from .textbook import component, triangle
from .vocabulary import *  # noqa: F403
from .writing import *  # noqa: F403
from .writing import Text, steps_text

__all__ = ["atoms_of", "component", "derivative", "triangle"]
__all__ += meaning.__all__
__all__ += decision.__all__
__all__ += rules.__all__
__all__ += tactics.__all__
__all__ += terms.__all__
__all__ += writing.__all__
__all__ += vocabulary.__all__
