"""The old name of :mod:`lngeom.kernel`, for one version."""

import sys
import warnings

from . import kernel

warnings.warn("lngeom.symbolic is now lngeom.kernel; the old name goes with the next version", DeprecationWarning, 2)
sys.modules[__name__] = kernel
