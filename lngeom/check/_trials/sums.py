"""The sum of input and residual in a kernel that is fused with their addition."""

import numpy as np

from lngeom.rounding import FORMATS, Sample, rounded
from lngeom.sentences import Cause

from .._calls.fused import Fused
from .claim import Claim


def sums(claim: Claim) -> tuple[str | None, Cause | None]:
    """Which sum a fused kernel normalizes, "rounded" or "unrounded", None if both explain it; and what is wrong."""
    kernel, rng = claim.kernel, np.random.default_rng(claim.kernel.d)
    fused = kernel.form.target
    if not isinstance(fused, Fused):
        return None, None
    x, residual = (claim.stored(size * rng.normal(size=(32, kernel.d))) for size in (1.0, 0.37))
    exact, read = x + residual, kernel.framework.read
    fused.residual = kernel.array(residual)
    try:
        got = kernel.run(x)
    finally:
        fused.residual = None
    once = rounded(exact, kernel.dtype).astype(float)
    if fused.after:
        plain, unit = (kernel.run(x), float(FORMATS[kernel.dtype].roundoff))  # norm, residual, sum
        off = abs(got - plain - residual) > 4 * unit * (abs(plain) + abs(got))
        return None, Cause("residual not in output") if off.any() else None
    if fused.total is not None and not np.array_equal(read(fused.total), once):
        return None, Cause("other sum returned")
    base, sums = claim.base(kernel.d), {"rounded": once, "unrounded": exact}
    holds = [key for key, rows in sums.items() if base.family(Sample(rows), claim.arithmetic).fit(got).ok.all()]
    if not holds:
        return None, Cause("no sum")
    # In float32 and wider the sum is rounded at the precision of the work: the two are one definition.
    return (holds[0] if len(holds) == 1 and FORMATS[kernel.dtype].bits < 24 else None), None
