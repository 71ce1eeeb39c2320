"""The old name of :mod:`lngeom.prover`, for one version."""

import sys
import warnings

from . import prover

warnings.warn("lngeom.symbolic is now lngeom.prover; the old name goes with the next version", DeprecationWarning, 2)
sys.modules[__name__] = prover
