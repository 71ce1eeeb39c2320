"""How to get back from the output of a norm layer to its inputs."""

from .carriers import (
    Array,
    Carrier,
    check_eps,
    check_vectors,
    detached,
    door,
    dtype_name,
    finfo,
    namespace,
    narrow,
    widen,
)
from .errors import InputError
from .norms import Placement, scale
from .projection import project, sized

__all__ = ["invert"]


@door
def invert(y: Array, *, eps: Carrier, placement: Placement = "inside", centered: bool = True) -> Array:
    """The u ⊥ 1 with ``standardize(u, eps=eps)`` = y: LayerNorm is a diffeomorphism of 1^⊥ onto an open ball.

    u = √ε y/√(1 − ‖y‖²/d) for ε inside the root, u = ε y/(1 − ‖y‖/√d) outside; all preimages of y are u + t1. `y`,
    shape (..., d), is an output without gain and bias: undo them first, y = (z − b)/g. What rounding leaves along 1 is
    removed (not for RMSNorm). Returns the shape and dtype of y. The relative error of y is amplified by 1/(1 − ‖y‖²/d)
    = (σ² + ε)/ε, which is large for ordinary inputs: their length can be read off the output only in its last digits.
    Raises InputError if ε is 0, which forgets the length of u; if some y lies outside the open ball; if some y has a
    mean above √u of its root mean square (u the unit roundoff), which rounding leaves only if half of all digits are
    lost. Source: elementary from Riechers, arXiv:2405.04134, eq. 6.

    >>> import numpy as np, lngeom as lg
    >>> lg.fibers.invert(lg.standardize(np.array([7.0, 1.0]), eps=7.0), eps=7.0)
    array([ 3., -3.])
    """
    check_vectors("y", y)
    check_eps(eps, y)
    if isinstance(eps, int | float) and eps == 0:
        raise InputError("eps is 0: the norm then forgets the length of its input and has no inverse; take eps > 0")
    xp, wide = namespace(y), widen(y)
    u = project(wide) if centered else wide
    square = xp.mean(u * u, axis=-1, keepdims=True)
    if hasattr(y, "shape") and 0 not in y.shape:
        _check_ball(y, wide, square, centered=centered)
    if placement == "outside":
        return narrow(eps * u / (1 - scale(square, eps=0)), y)
    return narrow(u * scale(0 * square, eps=eps, placement=placement) / scale(1 - square, eps=0), y)


def _check_ball(y: Array, wide: Array, square: Array, *, centered: bool) -> None:
    xp, wide, square = namespace(y), detached(wide), detached(square)
    largest = float(xp.max(square))
    if not largest < 1:
        d = y.shape[-1]
        raise InputError(
            f"y has norm {(largest * d) ** 0.5!r}: outputs at eps > 0 lie inside the ball of radius √{d} (within "
            f"rounding of its surface {dtype_name(y)} cannot resolve them); undo gain and bias, or use a wider dtype"
        )
    row, mean = sized(wide)[0], xp.abs(xp.mean(wide, axis=-1, keepdims=True))
    limit = (0.5 * float(finfo(y).eps)) ** 0.5
    if centered and bool(xp.any(abs(xp.mean(row, axis=-1)) > limit * xp.sqrt(xp.mean(row * row, axis=-1)))):
        raise InputError(
            f"y has a component along the all-ones vector (largest mean {float(xp.max(mean))!r}): outputs of LayerNorm "
            "before gain and bias have mean 0; undo them first, y = (z - b)/g, or pass centered=False for RMSNorm"
        )
