"""The package ``proofs`` as ``lngeom.proofs``, a name that no other package takes."""

from ._beside import BESIDE

__path__ = [str(BESIDE / "proofs")]
