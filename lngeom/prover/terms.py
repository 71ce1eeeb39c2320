"""Terms and their normal form.

**Terms** live in the commutative algebra of R^d with componentwise product, whose unit is the all-ones vector 1, and
with one functional: S, the sum of the components. A scalar c stands for the vector c1, as broadcasting has it. Then
Πx = x − S(x)/d, a gain acts as g·x, an inner product is S(x·y), and LayerNorm as users call it *is* a term. A term is
a polynomial over Q in vectors, scalars, d, sums S[monomial in vectors], and two total functions applied in each
component: inv (inv 0 = 0) and sqrt (sqrt t = 0 for t < 0).

**Soundness.** Fix d >= 1 and a value for each vector and scalar. Evaluation commutes with +, ·, S, inv and sqrt,
because normal forms rest on these identities alone: R^d is a commutative algebra; S is linear over scalars with
S(1) = d; d has the inverse 1/d; inv(st) = inv(s) inv(t) and inv(inv t) = t, also at 0; sqrt(c²t) = c sqrt(t) for
c > 0, and sqrt(c) = 0 for c < 0. So terms of equal normal form have equal values *in every dimension*.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

from lngeom.errors import LngeomError

__all__ = ["ONE", "ProofError", "S", "Term", "d", "inv", "scalar", "sqrt", "substitute", "term", "vector"]

# rational: (n, m) in lowest terms, m >= 1. monomial: sorted ((atom, exponent), ...), exponents >= 1, of d != 0.
# pairs: sorted ((monomial, rational), ...), no rational 0. atom: ("v", name) vector, ("s", name) scalar, ("d",),
# ("S", monomial of vectors), ("inv", pairs), ("sqrt", pairs).
_D = ("d",)
_ONE = (1, 1)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class ProofError(LngeomError):
    """A rule does not apply, or a proof was not found. Neither says that the statement is false.

    Attributes:
        hints: Formulas, the likeliest first, that may complete the proof; not all have to be true.
    """

    hints: tuple = ()


class ExhaustedError(LngeomError):
    """A search did all that it may: no ProofError, which a search would take for an answer."""


class Effort:
    """What a search has done, counted and not timed, so that no verdict depends on the machine or on its load."""

    terms: ClassVar = 0
    cases: ClassVar = 0
    products: ClassVar = 0
    most: ClassVar = math.inf

    @classmethod
    @contextlib.contextmanager
    def limited(cls, most: float) -> Iterator[None]:
        """Count from 0, and end a search that makes more terms than these."""
        before = cls.most
        cls.terms, cls.cases, cls.products, cls.most = 0, 0, 0, most
        try:
            yield
        finally:
            cls.most = before

    @classmethod
    def brief(cls, terms: int, run: Callable[[], Any]) -> Any:
        """What a search returns that makes so many terms at most, None where it finds nothing."""
        before, cls.most = cls.most, min(cls.most, cls.terms + terms)
        limit = cls.most
        try:
            return run()
        except ProofError:
            return None
        except ExhaustedError:
            if limit == before or cls.terms <= limit:  # the limit of the whole search, or its time
                raise
            return None
        finally:
            cls.most = before

    @classmethod
    def told(cls) -> str:
        """What was tried."""
        return f"{cls.cases} cases, {cls.products} products of known signs, {cls.terms} terms"


def _require(condition: bool, rule: str) -> None:
    if not condition:
        raise ProofError(f"the rule does not apply: {rule}")


_fraction = functools.lru_cache(1 << 12)(Fraction)


def _reduced(n: int, m: int) -> tuple[int, int]:
    divisor = math.gcd(n, m) if m > 0 else -math.gcd(n, m)
    return n // divisor, m // divisor


def _is_vector(pairs: tuple) -> bool:
    """Whether a vector stands outside sums; if none does, all components are equal in every model."""
    return any(_is_vector_atom(atom) for monomial, _ in pairs for atom, _ in monomial)


@functools.lru_cache(1 << 16)
def _is_vector_atom(atom: tuple) -> bool:
    return atom[0] == "v" or (atom[0] in ("inv", "sqrt") and _is_vector(atom[1]))


def _add(total: dict[tuple, tuple[int, int]], monomial: tuple, n: int, m: int) -> None:
    p, q = total.get(monomial, (0, 1))
    total[monomial] = (p + n, 1) if q == m == 1 else _reduced(p * m + n * q, q * m)


@functools.lru_cache(1 << 17)
def _times(first: tuple, second: tuple) -> tuple:
    """Product of two monomials."""
    if not first or not second:
        return first or second
    powers = dict(first)
    for atom, k in second:
        powers[atom] = powers.get(atom, 0) + k
    return tuple(sorted((atom, k) for atom, k in powers.items() if k))


class Term:
    """Polynomial in normal form, of a vector (shape (..., d)) or of a scalar (shape (..., 1)).

    Arithmetic is total: ``a / b`` is a·inv(b), which is 0 where b is 0; ``a**-k`` is ``inv(a)**k``; ``abs(a)`` is
    sqrt(a·a). A scalar beside a vector is broadcast, as with arrays, and terms compare as arrays do: ``a == b`` says
    that all components are equal, in every model of every dimension. Integers and fractions mix with terms, floats
    do not.

    Attributes:
        pairs: The normal form: sorted pairs of a monomial and a rational (n, m), nested tuples of str and int.
        is_scalar: Whether it has the shape (..., 1) of a scalar; a sum has, a vector of equal components has not.

    >>> from lngeom.prover import ONE, vector
    >>> x, y = vector("x"), vector("y")
    >>> (x + y) * (x - y) == x**2 - y**2, x / x == ONE
    (True, False)
    >>> x / y, abs(x)
    (inv(y)·x, √(x²))
    """

    __slots__ = ("is_scalar", "pairs")
    __array_ufunc__ = None  # NumPy leaves mixed operations to the operators below
    shown: ClassVar[Callable[[Term], str]] = staticmethod(lambda t: repr(t.pairs))  # writing.py has a better one

    def __init__(self, polynomial: Mapping[tuple, object] | tuple, vector: bool | None = None) -> None:
        if not isinstance(polynomial, tuple):
            numbers = [(monomial, _rational(c)) for monomial, c in polynomial.items()]
            polynomial = tuple(sorted((m, c) for m, c in numbers if c[0]))
        Effort.terms += 1
        if Effort.terms > Effort.most:
            raise ExhaustedError
        self.pairs = polynomial
        self.is_scalar = not (_is_vector(polynomial) if vector is None else vector)

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __eq__(self, other: object) -> bool:
        return self.pairs == other.pairs if isinstance(other, Term) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return self.pairs != other.pairs if isinstance(other, Term) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[tuple, Fraction]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return iter([(monomial, _fraction(*c)) for monomial, c in self.pairs])

    def __getitem__(self, index: object) -> Term:
        if index != (..., 0) or not self.is_scalar:  # the only component that every dimension has is a scalar's
            raise IndexError(index)
        return self

    def __add__(self, other: object) -> Term:
        if _is_foreign(other):
            return NotImplemented
        other, total = term(other), dict(self.pairs)
        for monomial, c in other.pairs:
            _add(total, monomial, *c)
        return _polynomial(total, self, other)

    __radd__ = __add__

    def __neg__(self) -> Term:
        return _polynomial({monomial: (-n, m) for monomial, (n, m) in self.pairs}, self)

    def __sub__(self, other: object) -> Term:
        return NotImplemented if _is_foreign(other) else self + -term(other)

    def __rsub__(self, other: object) -> Term:
        return -self + other

    def __mul__(self, other: object) -> Term:
        if _is_foreign(other):
            return NotImplemented
        other, total = term(other), {}
        for first, (n, m) in self.pairs:
            for second, (p, q) in other.pairs:
                _add(total, _times(first, second), n * p, m * q)
        return _polynomial(total, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Term:
        return NotImplemented if _is_foreign(other) else self * inv(other)

    def __rtruediv__(self, other: object) -> Term:
        return inv(self) * other

    def __pow__(self, exponent: int) -> Term:
        _require(type(exponent) is int, f"the exponent {exponent!r} is not an integer")
        return math.prod([self if exponent >= 0 else inv(self)] * abs(exponent), start=_ones_like(self))

    def __abs__(self) -> Term:
        return sqrt(self * self)

    def __repr__(self) -> str:
        return Term.shown(self)


def _polynomial(total: dict[tuple, tuple[int, int]], *like: Term) -> Term:
    """The polynomial as a term, a vector if one of the terms it was made from is."""
    return Term(tuple(sorted((m, c) for m, c in total.items() if c[0])), not all(t.is_scalar for t in like))


def _is_foreign(value: object) -> bool:
    """Whether a value is a carrier of another kind, such as a dual number, which knows what to do with terms."""
    return not isinstance(value, Term) and hasattr(value, "__array_namespace__")


def term(value: object) -> Term:
    """`value` as a term; integers and fractions are constants.

    Raises:
        ProofError: If `value` is not a term, integer or fraction.
    """
    if isinstance(value, Term):
        return value
    c = _rational(value)
    return Term((((), c),) if c[0] else (), False)


def _rational(value: Any) -> tuple[int, int]:
    _require(isinstance(value, int | Fraction), f"{type(value).__name__} is neither term nor integer nor fraction")
    return value.numerator, value.denominator


def _atom(kind: str, content: object, vector: bool) -> Term:
    return Term((((((kind, content), 1),), _ONE),), vector)


# ------------------------------------------------------------------------------------------ vectors, scalars, functions


def _name(name: str) -> str:
    _require(type(name) is str and _NAME.fullmatch(name) is not None, f"{name!r} is not a name: letters, digits and _")
    return name


def vector(name: str) -> Term:
    """Arbitrary vector of R^d. Equal names are equal vectors; no component is known to be different from 0.

    Raises:
        ProofError: If `name` is not made of ASCII letters, digits and ``_``, with a letter first.

    >>> import lngeom as lg
    >>> from lngeom.prover import vector
    >>> lg.project(vector("x"))
    −S(x)/d + x
    """
    return _atom("v", _name(name), True)


def scalar(name: str) -> Term:
    """Arbitrary real number. It may be 0 or negative unless a hypothesis forbids it.

    >>> import lngeom as lg
    >>> from lngeom.prover import scalar, vector
    >>> lg.norms.scale(lg.moments(vector("x"))[1], eps=scalar("eps"))
    √(−S(x)²/d² + S(x²)/d + ε)
    """
    return _atom("s", _name(name), False)


ZERO, ONE, d = term(0), term(1), Term(((((_D, 1),), _ONE),), False)


def sum_of(t: Term) -> Term:
    """Sum of all d components; a scalar c counts as c1, of sum dc."""
    total: dict[tuple, tuple[int, int]] = {}
    for monomial, (n, m) in t.pairs:
        inner = tuple(power for power in monomial if _is_vector_atom(power[0]))
        outer = tuple(power for power in monomial if not _is_vector_atom(power[0]))
        atom = _atom("S", inner, False).pairs[0][0] if inner else ((_D, 1),)
        _add(total, _times(outer, atom), n, m)
    return _polynomial(total)


def S(value: object) -> Term:
    """Sum of the components of a vector; a scalar has one component and is its own sum, as on arrays."""
    t = term(value)
    return t if t.is_scalar else sum_of(t)


def inv(value: object) -> Term:
    """1/t in each component where t is not 0, and 0 where it is.

    Products, powers, inverses and rational factors are taken apart: inv(st) = inv(s)·inv(t) and inv(inv t) = t hold
    also at 0. But t·inv t is 1 only where t is not 0, and stays as it is: see :func:`inverse`.
    """
    t = term(value)
    if not t.pairs:
        return t
    k = min(dict(monomial).get(_D, 0) for monomial, _ in t.pairs)
    factor = _polynomial({((_D, -k),) if k else (): _ONE}, t)
    n, m = (t * factor).pairs[-1][1]
    factor *= Fraction(m, n)
    u = t * factor  # its last coefficient is 1 and its lowest power of d 0
    (monomial, _), *more = u.pairs
    if more:
        return factor * _atom("inv", u.pairs, not u.is_scalar)
    for atom, exponent in monomial:
        one = ((((atom, 1),), _ONE),)
        factor *= (Term(atom[1]) if atom[0] == "inv" else _atom("inv", one, _is_vector(one))) ** exponent
    return factor


def sqrt(value: object) -> Term:
    """√t in each component where t >= 0, and 0 where t < 0.

    Rational factors that are squares come out, √(c²t) = c√t for c > 0. √(t²), which is |t|, stays as it is:
    see :func:`root_of_square`.
    """
    t = term(value)
    if not t.pairs:
        return t
    n, m = t.pairs[-1][1]
    p, q = math.isqrt(abs(n)), math.isqrt(m)
    p, q = (p, q) if p * p == abs(n) and q * q == m else (1, 1)
    inside, root = t * Fraction(q * q, p * p), Fraction(p, q)
    if [monomial for monomial, _ in inside.pairs] == [()]:  # a constant
        if inside.pairs[0][1] == _ONE:
            return _ones_like(t) * root
        if n < 0:
            return t * 0
    return _atom("sqrt", inside.pairs, not t.is_scalar) * root


def substitute(value: object, values: Mapping[Term, object]) -> Term:
    """`value` with atoms replaced by terms, all at once: a vector by anything, a scalar by a scalar.

    A vector for a scalar would be wrong: scalars have been taken out of sums.

    Raises:
        ProofError: If a vector is to replace a scalar, or anything but a vector or a scalar is to be replaced.
    """
    return _substituted(term(value), _replacements(values))


def _replacements(values: Mapping[Term, object]) -> dict[tuple, Term]:
    """The mapping, read once."""
    new_terms = {}
    for old, new in [(term(old), term(new)) for old, new in values.items()]:
        atom = old.pairs[0][0][0][0] if old.pairs and old.pairs[0][0] else _D
        _require(old.pairs == ((((atom, 1),), _ONE),) and atom[0] in ("v", "s"), "replaced are vectors and scalars")
        _require(atom[0] == "v" or not _is_vector(new.pairs), "a scalar can only become a scalar")
        new_terms[atom] = new
    return new_terms


def _substituted(t: Term, values: dict[tuple, Term]) -> Term:
    whole = t * 0
    for monomial, c in t.pairs:
        product = Term((((), c),), False)
        for atom, exponent in monomial:
            if atom in values:
                new = values[atom]
            elif atom[0] == "S":
                new = sum_of(_substituted(Term({atom[1]: 1}), values))
            elif atom[0] in ("inv", "sqrt"):
                new = (inv if atom[0] == "inv" else sqrt)(_substituted(Term(atom[1]), values))
            else:
                new = Term(((((atom, 1),), _ONE),), atom[0] == "v")
            product *= new**exponent
        whole += product
    return whole


# ------------------------------------------------------------------------------------- what the library calls on terms


def _sum(x: Term, *, axis: int, keepdims: bool = False) -> Term:
    _require(axis == -1, f"axis {axis}: the vectors that terms stand for lie along the last axis")
    return S(x)


def _mean(x: Term, *, axis: int, keepdims: bool = False) -> Term:
    total = _sum(x, axis=axis, keepdims=keepdims)
    return total if x.is_scalar else total / d


def _ones_like(x: Term) -> Term:
    return _polynomial({(): _ONE}, x)


NAMESPACE = SimpleNamespace(__name__="lngeom.prover", abs=abs, mean=_mean, ones_like=_ones_like, sqrt=sqrt, sum=_sum)
"""The functions that `lngeom.layer_norm` and the others call when they run on terms."""
