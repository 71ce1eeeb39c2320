"""Derivatives by running a function on dual numbers x + v·τ with τ² = 0, over any carrier.

On terms this is the formal derivative, so a theorem about the Jacobian of LayerNorm is a theorem about what the
library computes; on arrays and enclosures it is the same derivative as numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace

from .carrier import Array, namespace
from .operators import Operators

_LEVELS = itertools.count(1)


class Dual(Operators):
    """Value and tangent: a function and its directional derivative at one point.

    Each derivative has an infinitesimal τ of its own, distinguished by its level: inside a derivative of a derivative
    the outer x + v·τ is a constant of the inner one.
    """

    __slots__ = ("level", "tangent", "value")

    def __init__(self, value: Array, tangent: Array, level: int) -> None:
        self.value = value
        self.tangent = tangent
        self.level = level

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __getitem__(self, index: object) -> Dual:
        return Dual(self.value[index], self.tangent[index], self.level)

    def _taken(self, other: Array) -> Dual:
        return other if isinstance(other, Dual) else Dual(other, 0, self.level)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.tangent, self.level)

    def _plus(self, other: Dual) -> Dual:
        level, (p, u), (q, v) = _parts(self, other)
        return Dual(p + q, u + v, level)

    def _times(self, other: Dual) -> Dual:
        level, (p, u), (q, v) = _parts(self, other)
        return Dual(p * q, u * q + p * v, level)

    def _over(self, other: Dual) -> Dual:
        level, (p, u), (q, v) = _parts(self, other)
        quotient = p / q
        return Dual(quotient, (u - quotient * v) / q, level)


def _parts(*operands: Dual) -> tuple[int, tuple[Array, Array], tuple[Array, Array]]:
    """The innermost level, and value and tangent of both operands with respect to it."""
    level = max(x.level for x in operands)
    first, second = ((x.value, x.tangent) if x.level == level else (x, 0) for x in operands)
    return level, first, second


def _sqrt(x: Dual) -> Dual:
    root = namespace(x.value).sqrt(x.value)
    return Dual(root, x.tangent / (2 * root), x.level)


def _linear(name: str) -> Callable[..., Dual]:
    def apply(x: Dual, **keywords: int | bool) -> Dual:
        function = getattr(namespace(x.value), name)
        return Dual(function(x.value, **keywords), function(x.tangent, **keywords), x.level)

    return apply


NAMESPACE = SimpleNamespace(
    __name__="lngeom.dual",
    mean=_linear("mean"),
    ones_like=lambda x: Dual(namespace(x.value).ones_like(x.value), 0 * x.tangent, x.level),
    sqrt=_sqrt,
    sum=_linear("sum"),
)
"""The array-API functions with their derivatives."""


def derivative(function: Callable[[Array], Array], x: Array, v: Array) -> Array:
    """Directional derivative of `function` at `x` along `v`, Df(x)·v, for a function of one vector or scalar.

    The function is made of +, −, ·, / and sum, mean, sqrt and ones_like of the array namespace, as in lngeom; x
    and v are terms, enclosures or arrays. On terms this is the formal derivative, which is the derivative where every
    root met on the way is taken of something positive and every divisor is not 0; elsewhere the total inverse gives it
    a value without meaning.
    """
    level = next(_LEVELS)
    result = function(Dual(x, v, level))
    # A function that does not use its argument is constant.
    return result.tangent if isinstance(result, Dual) and result.level == level else 0 * result
