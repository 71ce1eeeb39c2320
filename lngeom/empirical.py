"""The package ``empirical`` as ``lngeom.empirical``, a name that no other package takes."""

from ._beside import BESIDE

__path__ = [str(BESIDE / "empirical")]
