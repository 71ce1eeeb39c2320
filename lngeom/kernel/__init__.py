"""A proof kernel for statements about all vectors of every dimension, on which the functions of lngeom run.

``prove(equal(lg.project(lg.project(x)), lg.project(x)))`` proves Π² = Π for every d and every x, about the very
function that users call. What counts as
proved is said by :mod:`lngeom.checker`, which reads the certificate of a proof and knows nothing of this package.
"""

from ..carriers import derivative
from . import _meaning, _prover, _rules, _tactics, _terms, _text, _vocabulary
from ._export import (
    Place as Place,
    ProofCertificate as ProofCertificate,
    Step as Step,
    certificate as certificate,
    steps as steps,
)
from ._meaning import *  # noqa: F403
from ._meaning import Values as Values
from ._monomials import atoms_of
from ._printer import ATOM as ATOM, PRODUCT as PRODUCT, SUM as SUM, Printer as Printer
from ._prover import *  # noqa: F403
from ._recorded import (
    Node as Node,
    Recorded as Recorded,
    Table as Table,
    operands as operands,
    parts as parts,
    recording as recording,
)
from ._rules import *  # noqa: F403
from ._tactics import *  # noqa: F403
from ._terms import *  # noqa: F403
from ._terms import Effort as Effort, ExhaustedError as ExhaustedError
from ._text import *  # noqa: F403
from ._text import Text as Text, steps_text as steps_text
from ._vocabulary import *  # noqa: F403

__all__ = ["atoms_of", "derivative"]
__all__ += _meaning.__all__
__all__ += _prover.__all__
__all__ += _rules.__all__
__all__ += _tactics.__all__
__all__ += _terms.__all__
__all__ += _text.__all__
__all__ += _vocabulary.__all__
