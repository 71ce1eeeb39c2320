"""Which inputs a norm layer cannot tell apart, and how to get back from an output to them."""

from dataclasses import dataclass

from .carriers import Array, Carrier, check_eps, check_vectors, detached, dtype_name, namespace, narrow, widen
from .errors import InputError
from .norms import Placement, scale
from .projection import project, sized

__all__ = ["Fiber", "fiber", "invert", "same_fiber"]

_ROUNDINGS = 4


def _number(eps: Carrier) -> float:
    """`eps` as a checked number: the shape of a fiber depends on whether it is zero."""
    check_eps(eps)
    if not isinstance(eps, int | float):
        msg = f"eps is of type {type(eps).__name__}: fibers at eps = 0 and eps > 0 differ; give a Python number"
        raise InputError(msg)
    return float(eps)


def _norm(u: Array) -> Array:
    return namespace(u).sqrt(namespace(u).sum(u * u, axis=-1, keepdims=True))


def _same_dimension(x: Array, other: Array) -> None:
    for name, vectors in (("x", x), ("other", other)):
        check_vectors(name, vectors)
    if x.shape[-1] != other.shape[-1] or dtype_name(x) != dtype_name(other):
        msg = (
            f"x is {dtype_name(x)} of shape {tuple(x.shape)} and other {dtype_name(other)} of shape "
            f"{tuple(other.shape)}: compare vectors of one dimension and dtype"
        )
        raise InputError(msg)


def same_fiber(x: Array, other: Array, *, eps: float, centered: bool = True, roundings: int = _ROUNDINGS) -> Array:
    """Whether LayerNorm gives the same output for two vectors, decided from the vectors up to their rounding.

    At ε > 0, LN(x) = LN(x') exactly when Πx = Πx': the fiber of x is the line {x + t1}. At ε = 0 it is the half plane
    {t1 + sΠx : s > 0}: LN(x) = LN(x') exactly when Πx' = cΠx with some c > 0. RMSNorm has points and rays {sx : s > 0}.
    One gain may be zero, as the component it hides follows from the others, whose sum it makes 0; two zero gains hide
    more (RMSNorm: one does).

    In floats `x` and `other`, of one dtype, count as equivalent if no more than `roundings` roundings of each component
    (1 for loading a number, 1 for each operation) separate them: ‖Πx − Πx'‖ ≤ n u (‖x‖ + ‖x'‖) at ε > 0, and ‖Πx/‖Πx‖ −
    Πx'/‖Πx'‖‖ ≤ 2n u (κ(x) + κ(x')) at ε = 0, where u is the unit roundoff of the dtype, κ = ‖x‖/‖Πx‖ and n is
    `roundings` plus d/2 u₆₄/u for the means taken here in float64. Only whether ε is 0 matters. Returns bool of
    the broadcast shape (...); False at ε = 0 where one of the two has no direction.

    Source: Brody et al., arXiv:2305.02582, appendix B, for ε = 0. Gupta et al., arXiv:2409.12951, section 2.3, infer
    the irreversibility from a count of statistics; the fibers are the reason.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> bool(lg.fibers.same_fiber(x, x + 7, eps=1e-5)), bool(lg.fibers.same_fiber(x, 3 * x + 7, eps=1e-5))
    (True, False)
    >>> bool(lg.fibers.same_fiber(x, 3 * x + 7, eps=0.0)), bool(lg.fibers.same_fiber(x, -x, eps=0.0))
    (True, False)
    """
    _same_dimension(x, other)
    eps = _number(eps)
    xp = namespace(x, other)
    a, b = xp.astype(x, xp.float64), xp.astype(other, xp.float64)
    u, v = (project(a), project(b)) if centered else (a, b)
    unit = float(xp.finfo(x.dtype).eps) / 2
    # The float64 mean of d components is off by at most d/2 units of 2^-52 relative to the mean magnitude.
    n = roundings + 0.5 * x.shape[-1] * float(xp.finfo(xp.float64).eps) / unit
    if eps > 0:
        return (_norm(u - v) <= n * unit * (_norm(a) + _norm(b)))[..., 0]
    size, other_size = _norm(u), _norm(v)
    directed = (size > 0) & (other_size > 0)
    size, other_size = (xp.where(s > 0, s, xp.ones_like(s)) for s in (size, other_size))
    gap = _norm(u / size - v / other_size)
    # A relative perturbation of u by r turns its direction by at most 2r.
    condition = _norm(a) / size + _norm(b) / other_size
    return (directed & (gap <= 2 * n * unit * condition))[..., 0]


@dataclass(frozen=True, eq=False)
class Fiber:
    """All vectors with the norm-layer output of one vector `x`, shape (d,); made by :func:`fiber`.

    >>> import numpy as np, lngeom as lg
    >>> fiber = lg.fibers.fiber(np.array([1.0, 2.0, 6.0]), eps=0.0)
    >>> fiber.base, fiber.point(shift=1.0, factor=2.0)
    (array([-2., -1.,  3.]), array([-3., -1.,  7.]))
    >>> bool(fiber.contains(np.array([1.0, 3.0, 11.0])))
    True
    """

    x: Array
    eps: float
    centered: bool

    @property
    def base(self) -> Array:
        """Its point in the range of the norm, shape (d,), which is Πx for LayerNorm and x itself for RMSNorm."""
        return project(self.x) if self.centered else self.x

    @property
    def dimension(self) -> int:
        """How many numbers the norm forgets. LayerNorm 1, and 2 at ε = 0; RMSNorm 0, and 1 at ε = 0."""
        return int(self.centered) + int(self.eps == 0)

    def point(self, *, shift: float = 0.0, factor: float = 1.0) -> Array:
        """Element `factor`·base + `shift`·1 of the fiber; raises InputError where that is in another fiber."""
        if not self.centered and shift != 0:
            msg = f"shift is {shift!r}: RMSNorm sees shifts along the uniform vector; only 0 stays in the fiber"
            raise InputError(msg)
        if not factor > 0 or (self.eps > 0 and factor != 1):
            rule = "must be 1 at eps > 0, where the norm sees lengths" if self.eps > 0 else "must be positive"
            raise InputError(f"factor is {factor!r}: it {rule} to stay in the fiber")
        return factor * self.base + shift

    def contains(self, x: Array, *, roundings: int = _ROUNDINGS) -> Array:
        """Whether vectors lie in the fiber up to rounding, as :func:`same_fiber` decides it; shape (...)."""
        return same_fiber(self.x, x, eps=self.eps, centered=self.centered, roundings=roundings)

    def __str__(self) -> str:
        base, line = ("Πx", " + t·1") if self.centered else ("x", "")
        ranges = [part for part, here in (("t real", self.centered), ("s > 0", self.eps == 0)) if here]
        factor = "s·" if self.eps == 0 else ""
        return f"{{{factor}{base}{line}{' : ' if ranges else ''}{', '.join(ranges)}}} in R^{self.x.shape[-1]}"


def fiber(x: Array, *, eps: float, centered: bool = True) -> Fiber:
    """The set of vectors that a norm layer maps to the same output as `x`, shape (d,).

    Returns a Fiber with ``.base``, ``.dimension``, ``.point(shift=, factor=)`` and ``.contains(x)``. Raises InputError
    if ε = 0 and x has no direction (σ = 0), where the norm is not defined. Source: Brody et al., arXiv:2305.02582,
    appendix B.

    >>> import numpy as np, lngeom as lg
    >>> print(lg.fibers.fiber(np.array([1.0, 2.0, 6.0]), eps=1e-5))
    {Πx + t·1 : t real} in R^3
    >>> half_plane = lg.fibers.fiber(np.array([1.0, 2.0, 6.0]), eps=0.0)
    >>> print(half_plane, half_plane.dimension)
    {s·Πx + t·1 : t real, s > 0} in R^3 2
    """
    check_vectors("x", x)
    if len(x.shape) != 1:
        msg = f"x has shape {tuple(x.shape)}: a fiber belongs to one vector of shape (d,); take them one by one"
        raise InputError(msg)
    base = Fiber(x, _number(eps), centered).base
    if eps == 0 and not bool(_norm(widen(base))[0] > 0):
        msg = "x has no direction (all components equal, or 0): at eps = 0 the norm is not defined there; use eps > 0"
        raise InputError(msg)
    return Fiber(x, float(eps), centered)


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
        msg = "eps is 0: the norm then forgets the length of its input and has no inverse; see fiber for the preimages"
        raise InputError(msg)
    xp, wide = namespace(y), widen(y)
    u = project(wide) if centered else wide
    square = xp.mean(u * u, axis=-1, keepdims=True)
    if hasattr(y, "shape"):
        _check_ball(y, wide, square, centered=centered)
    if placement == "outside":
        return narrow(eps * u / (1 - scale(square, eps=0)), y)
    return narrow(u * scale(0 * square, eps=eps, placement=placement) / scale(1 - square, eps=0), y)


def _check_ball(y: Array, wide: Array, square: Array, *, centered: bool) -> None:
    xp, wide, square = namespace(y), detached(wide), detached(square)
    largest = float(xp.max(square))
    if not largest < 1:
        d = y.shape[-1]
        msg = (
            f"y has norm {(largest * d) ** 0.5!r}: outputs at eps > 0 lie inside the ball of radius √{d} (within "
            f"rounding of its surface {dtype_name(y)} cannot resolve them); undo gain and bias, or use a wider dtype"
        )
        raise InputError(msg)
    row, mean = sized(wide)[0], xp.abs(xp.mean(wide, axis=-1, keepdims=True))
    limit = (0.5 * float(xp.finfo(y.dtype).eps)) ** 0.5
    if centered and bool(xp.any(abs(xp.mean(row, axis=-1)) > limit * xp.sqrt(xp.mean(row * row, axis=-1)))):
        msg = (
            f"y has a component along the uniform vector (largest mean {float(xp.max(mean))!r}): outputs of LayerNorm "
            "before gain and bias have mean 0; undo them first, y = (z - b)/g, or pass centered=False for RMSNorm"
        )
        raise InputError(msg)
