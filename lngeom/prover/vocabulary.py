"""The words of the theorems, for every carrier: sums, inner products, norms, and statements about them.

Statements are built with these functions and the functions of :mod:`lngeom`. On terms they are formulas for the
prover, on arrays the same statements can be measured, and on enclosures they can be decided.

>>> import numpy as np
>>> from lngeom.prover import dim, dot, equal, formula, norm, vector
>>> x, y = vector("x"), vector("y")
>>> dim(x), dot(x, y), norm(np.array([3.0, 4.0]))
(d, S(x·y), array([5.]))
>>> print(formula(equal(dot(x, x), 1)))
−1 + S(x²) = 0
"""

import secrets
from collections.abc import Callable
from fractions import Fraction

from lngeom.carriers import Array, C, Carrier, namespace
from lngeom.errors import InputError

from .rules import Formula
from .terms import ProofError, Term, substitute, term, vector

__all__ = [
    "at_least",
    "dim",
    "dot",
    "equal",
    "greater",
    "norm",
    "ones",
    "root",
    "square_norm",
    "summed",
    "trace",
    "unequal",
]


def summed(x: C) -> C:
    """Sum of the components Σxᵢ, of arrays (..., d) in shape (..., 1); of a term S(x)."""
    return namespace(x).sum(x, axis=-1, keepdims=True)


def ones(x: C) -> C:
    """Uniform vector 1 of the space of `x`, in the shape and dtype of `x`."""
    return namespace(x).ones_like(x)


def dim(x: C) -> C:
    """Dimension d of the space of `x`, as the sum of the components of 1; shape (..., 1)."""
    return summed(ones(x))


def dot(x: C, y: Carrier) -> C:
    """Inner product x·y = Σxᵢyᵢ, of arrays (..., d) in shape (..., 1); of terms S(x·y)."""
    return summed(x * y)


def square_norm(x: C) -> C:
    """‖x‖² = Σxᵢ², of arrays (..., d) in shape (..., 1); of a term S(x²)."""
    return summed(x * x)


def root(t: C) -> C:
    """√t in each component. Below 0 a term has the root 0, an array NaN."""
    if isinstance(t, int | float | Fraction):
        raise InputError(f"root({t}): beside a parameter c a number of its kind is root({t} + 0 * c)")
    return namespace(t).sqrt(t)


def norm(x: C) -> C:
    """Euclidean norm ‖x‖ = √Σxᵢ², of arrays (..., d) in shape (..., 1); of a term √(S(x²))."""
    return root(square_norm(x))


def equal(a: Carrier, b: Carrier) -> Formula:
    """The statement a = b, in every component, as a − b = 0."""
    return Formula(a - b, "=")


def greater(a: Carrier, b: Carrier = 0) -> Formula:
    """The statement a > b, in every component, as a − b > 0."""
    return Formula(a - b, ">")


def at_least(a: Carrier, b: Carrier = 0) -> Formula:
    """The statement a >= b, in every component, as a − b >= 0."""
    return Formula(a - b, ">=")


def unequal(a: Carrier, b: Carrier = 0) -> Formula:
    """The statement aᵢ != bᵢ for *every* i, as a − b != 0.

    For scalars that is the negation of :func:`equal`, for vectors it says more. That a vector is not 0 is
    ``greater(square_norm(x))``.
    """
    return Formula(a - b, "!=")


def trace(operator: Callable[[Array], Array], like: Array) -> Array:
    """Trace of a linear operator of the space of `like`, given as a function of a vector.

    On terms the operator v ↦ Σ m·v + Σ m·S(n·v) has trace Σ S(m) + Σ S(m·n). For one array of shape (d,) it is the
    sum of the diagonal, of shape (1,), and that the operator is linear is not checked.

    Raises:
        ProofError: If an operator on terms is not linear.

    The projector off the all-ones vector:
    """
    xp = namespace(like)
    if hasattr(xp, "operator_trace"):  # a carrier without dimension has its own way
        return xp.operator_trace(operator, like)
    if not isinstance(like, Term):
        basis = [[float(i == k) for i in range(len(like))] for k in range(len(like))]
        kind = {"dtype": like.dtype} if hasattr(like, "dtype") else {}  # PyTorch would make it float32
        return sum(dot(e, operator(e)) for e in (xp.asarray(row, **kind) for row in basis))
    # A name that nothing else bears: the operator may hold vectors of any name, or take traces itself.
    probe = vector(f"probe_{secrets.token_hex(8)}")
    return trace_of(operator(probe), probe)


def trace_of(image: Term, probe: Term) -> Term:
    """The trace of the linear operator that takes the vector `probe` to its image."""
    ((((atom, _),), _),) = probe
    result = term(0)
    for monomial, coefficient in image:
        powers = dict(monomial)
        sums = [a for a in powers if a[0] == "S" and dict(a[1]).get(atom) == 1 and powers[a] == 1]
        direct = powers.pop(atom, 0)
        rest = {a: k for a, k in powers.items() if a not in sums}
        for inner in sums:
            for a, k in inner[1]:
                rest[a] = rest.get(a, 0) + k if a != atom else 0
        cofactor = Term({tuple(sorted((a, k) for a, k in rest.items() if k)): coefficient})
        if direct + len(sums) != 1 or substitute(cofactor, {probe: 0}) != cofactor:
            raise ProofError(f"the operator is not linear: {Term({monomial: coefficient})} in the image of a vector")
        result += summed(cofactor * ones(probe))
    return result
