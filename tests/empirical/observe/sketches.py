"""How far sketches of hidden states may be from exact ones."""

import torch
from torch import Tensor

from lngeom.empirical.observe import Sketch

Sketched = tuple[Sketch, Sketch, Tensor]


def excess(found: Sketched, other: Sketched, *, unit: float = 2.0**-24) -> float:
    """Largest difference over its bound; ``tests/empirical/oracle.py`` derives the bounds.

    Args:
        found: Computed with numbers of this unit roundoff.
        other: Exact, or computed in `float64`; if it is computed like `found`, both may be off, by 2 together.
    """
    d = found[0].d
    gamma = (d + 8) * unit / (1 - (d + 8) * unit)
    pairs = [((found[2] - other[2]).abs(), gamma * other[0].norm * other[1].norm)]
    for mine, theirs in zip(found[:2], other[:2], strict=True):
        size = theirs.norm / d**0.5
        pairs += [
            ((mine.mean - theirs.mean).abs(), gamma * size),
            ((mine.variance.sqrt() - theirs.variance.sqrt()).abs(), 2.1 * gamma * size),
            ((mine.projections - theirs.projections).abs().amax(-1), gamma * theirs.norm),
        ]
    return float(torch.stack([off / bound for off, bound in pairs]).max())  # NaN stays, and is not below any number
