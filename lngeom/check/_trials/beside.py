"""A kernel beside the one that specifies it, on the same rows."""

from dataclasses import replace

import numpy as np

from lngeom.carriers import Rounded
from lngeom.errors import InputError
from lngeom.rounding import REAL, Outputs, Pair, Sample, Stated

from .._calls.kernel import Kernel
from .._proving.traced import Traced
from .inputs import Inputs

_ROWS = 64
"""Rows of each dimension."""


def beside(inputs: Inputs) -> Pair | None:
    """The comparison of both; None where a definition specifies it."""
    claim, mine, other = inputs.claim, inputs.claim.kernel, inputs.claim.meant.kernel
    if other is None:
        return None
    other, outputs = other.like(eps=None if claim.meant.eps is None else float(claim.eps)), list[Outputs]()
    try:
        own = Traced(mine.name, mine.program, mine.dtype)
    except InputError:  # no bound of its own is known
        own = lambda x, *_, **__: Rounded(x.value, np.inf)  # noqa: E731
    for d, groups in inputs.groups.items():
        x, base = claim.stored(np.concatenate([rows for _, rows in groups])[:_ROWS]), claim.base(d)
        assert isinstance(base, Stated)
        try:
            got = _run(mine, x, base), _run(other, x, base)
        except Exception:  # one may refuse a dimension, in any way its framework has
            continue
        first, second = (each.errors(Sample(x), claim.arithmetic) for each in (replace(base, function=own), base))
        outputs.append(Outputs(got, *base.rows(Sample(x), REAL), (first, second)))
    return Pair.of(other.name, None if claim.meant.eps in (None, claim.eps) else claim.meant.eps, mine.dtype, outputs)


def _run(kernel: Kernel, x: np.ndarray, base: Stated) -> np.ndarray:
    """The outputs with the gain and bias of the definition."""
    bound, values = kernel.at(x.shape[-1]), {"gain": base.gain, "bias": base.bias}
    values = {name: value.astype(float) for name, value in values.items() if value is not None}
    given = {name: kernel.array(value) for name, value in values.items()}
    if not bound.holds:
        return kernel.framework.read(kernel.call(kernel.array(x), given))
    for purpose, leaf in bound.leaves.items():
        leaf.data.copy_(given[purpose].reshape(leaf.shape))
    if not bound.leaves and any(not np.array_equal(getattr(bound, name), values[name]) for name in given):
        raise InputError(f"{kernel.name} has parameters of its own")
    return kernel.run(x)
