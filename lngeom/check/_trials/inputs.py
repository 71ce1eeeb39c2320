"""Inputs on which wrong norms show themselves."""

from itertools import islice
from typing import NamedTuple

import numpy as np

from lngeom.carriers import Array
from lngeom.errors import InputError
from lngeom.rounding import SMALL, suite
from lngeom.sentences import Way

from .claim import Claim

DIMENSIONS = (1, 2, 3, 5, 8, 17, 33, 100, 128, 257, 1000, 1025, 4096, 5120, 16_384)
"""Tried beside the main one where a kernel takes any: powers of 2, their neighbours, and beyond usual blocks."""
MODELS = (256, 512, 768, 1024, 2048, 3072, 8192)
"""Widths of models, at which a kernel may take another path: three groups of rows each."""

_WIDE = 4096
"""Above this many components three groups of rows are enough."""

HUGE = 1 << 17
"""Above this many components two rows are enough, and neither shapes nor batches are tried."""


class Inputs(NamedTuple):
    """The rows on which a claim is tried: labelled groups by dimension, the main one first."""

    claim: Claim
    groups: dict[int, list[tuple[Way, Array]]]

    def few(self, *ways: Way) -> Array:
        """Two rows of each of these groups at the main dimension."""
        groups = dict(self.groups[self.claim.kernel.d])
        return np.concatenate([groups[way][:2] for way in ways])

    def layout(self, label: Way) -> str:
        """The part of a label about shape and memory: empty if it is the label of a group."""
        return "" if label in dict(self.groups[self.claim.kernel.d]) else str(label)


def inputs(claim: Claim) -> Inputs:
    """All groups at the main dimension, and fewer rows at many others if the kernel takes any.

    Among these are the numbers that its code has, and their neighbours.
    """
    kernel = claim.kernel
    if claim.arithmetic.lost(kernel.d):
        most = int(1 / (8 * claim.arithmetic.work.roundoff)) - 1
        why = f"sums of more than {most} terms may lose every digit in some order, so no output is certainly wrong"
        raise InputError(f"d is {kernel.d}: in {kernel.dtype} {why}; give a wider --dtype or a smaller --d")
    if kernel.d > HUGE:
        few = islice(suite(kernel.d, kernel.dtype, rows=1), 3)
        return Inputs(claim, {kernel.d: [(label, rows[:1]) for label, rows in few if label != SMALL]})
    groups = {kernel.d: list(suite(kernel.d, kernel.dtype))}
    few = set(MODELS) - set(claim.proof.sizes)
    for d in dict.fromkeys((*DIMENSIONS, *MODELS, *claim.proof.sizes)) if kernel.several else ():
        if d != kernel.d:
            groups[d] = list(suite(d, kernel.dtype, rows=4))[: 3 if d > _WIDE or d in few else None]
    return Inputs(claim, groups)
