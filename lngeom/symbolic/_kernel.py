"""The trusted file: terms, and the only rules by which a theorem can come into being.

**Terms** live in the commutative algebra of R^d with componentwise product, whose unit is the uniform vector 1, and
with one functional: S, the sum of the components. A scalar c stands for the vector c1, as broadcasting has it. Then
Πx = x − S(x)/d, a gain acts as g·x, an inner product is S(x·y), and LayerNorm as users call it *is* a term. A term is
a polynomial over Q in vectors, scalars, d, sums S[monomial in vectors], and two total functions applied in each
component: inv (inv 0 = 0) and sqrt (sqrt t = 0 for t < 0). :class:`Term` holds its normal form.

**Soundness.** Fix d >= 1 and a value for each vector and scalar. Evaluation commutes with +, ·, S, inv and sqrt,
because normal forms rest on these identities alone: R^d is a commutative algebra; S is linear over scalars with
S(1) = d; d has the inverse 1/d; inv(st) = inv(s) inv(t) and inv(inv t) = t, also at 0; sqrt(c²t) = c sqrt(t) for
c > 0, and sqrt(c) = 0 for c < 0. So terms of equal normal form have equal values *in every dimension*.
A :class:`Theorem` is a sequent ``hypotheses |- t REL 0``: if all hypotheses hold in every component, so does the
conclusion. Each rule below is a line of school algebra that takes true sequents to true sequents. Therefore every
Theorem is true for every d >= 1, every vector and every scalar.

**Trust.** What a Theorem says is recorded in a private table that only the rules of this file write; an object made
elsewhere is in no table and says nothing. Nothing relies on ``assert``. To trust a theorem, trust this file, Python's
integers and fractions, and the reading of its statement; the search for proofs needs no trust.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from lngeom._errors import LngeomError


class ProofError(LngeomError):
    """A rule does not apply, or a proof was not found. Neither says that the statement is false.

    Examples
    --------
    >>> from lngeom.symbolic import constant
    >>> constant(-1, ">")
    Traceback (most recent call last):
    lngeom.symbolic._kernel.ProofError: the rule does not apply: -1 > 0 is false
    """


def _require(condition: bool, rule: str) -> None:
    if not condition:
        msg = f"the rule does not apply: {rule}"
        raise ProofError(msg)


# Atoms: ("v", name) vector, ("s", name) scalar, ("d",), ("S", monomial), ("inv" or "sqrt", term, is it a vector).
# A monomial is a sorted tuple of (atom, exponent); exponents are positive, except that those of d may be negative.
_D = ("d",)


def _is_vector(atom: tuple) -> bool:
    return atom[0] == "v" or atom[-1] is True


class Term(tuple):
    """Polynomial in normal form: the sorted pairs (monomial, coefficient), none of them 0. Immutable.

    Arithmetic is total: ``a / b`` is a·inv(b), which is 0 where b is 0; ``a**-k`` is ``inv(a)**k``; ``abs(a)`` is
    sqrt(a·a). Terms that are equal as tuples have equal values in every model of every dimension. Integers and
    fractions mix with terms, floats do not.

    Raises
    ------
    ProofError
        From an operation with anything else.

    Examples
    --------
    >>> from lngeom.symbolic import ONE, vector
    >>> x, y = vector("x"), vector("y")
    >>> (x + y) * (x - y) == x**2 - y**2, x / x == ONE
    (True, False)
    >>> x / y, abs(x)
    (inv(y)·x, √(x²))
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves mixed operations to the operators below

    def __new__(cls, polynomial: Mapping[tuple, Fraction]) -> Term:
        return super().__new__(cls, sorted((m, c) for m, c in polynomial.items() if c))

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return NAMESPACE

    def __getitem__(self, index: Any) -> Any:
        # A term has every shape (..., d) and every shape (..., 1): dropping the last axis changes nothing.
        if index != (..., 0):
            raise IndexError(index)
        return self

    def __add__(self, other: Any) -> Term:
        total = dict(self)
        for monomial, coefficient in term(other):
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        return Term(total)

    __radd__ = __add__

    def __neg__(self) -> Term:
        return Term({monomial: -coefficient for monomial, coefficient in self})

    def __sub__(self, other: Any) -> Term:
        return self + -term(other)

    def __rsub__(self, other: Any) -> Term:
        return -self + other

    def __mul__(self, other: Any) -> Term:
        total: dict[tuple, Fraction] = {}
        for m, p in self:
            for n, q in term(other):
                powers = dict(m)
                for atom, k in n:
                    powers[atom] = powers.get(atom, 0) + k
                product = tuple(sorted((atom, k) for atom, k in powers.items() if k))
                total[product] = total.get(product, Fraction(0)) + p * q
        return Term(total)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Term:
        return self * inv(term(other))

    def __rtruediv__(self, other: Any) -> Term:
        return inv(self) * other

    def __pow__(self, exponent: int) -> Term:
        return math.prod([self if exponent >= 0 else inv(self)] * abs(exponent), start=ONE)

    def __abs__(self) -> Term:
        return sqrt(self * self)

    def __repr__(self) -> str:
        from ._text import text

        return text(self)

    @property
    def is_scalar(self) -> bool:
        """Whether no vector stands outside a sum, so that all components are equal in every model.

        Examples
        --------
        >>> from lngeom.symbolic import S, vector
        >>> x = vector("x")
        >>> x.is_scalar, S(x).is_scalar
        (False, True)
        """
        return not any(_is_vector(atom) for monomial, _ in self for atom, _ in monomial)


def term(value: Any) -> Term:
    """`value` as a term; integers and fractions are constants. A subclass could redefine equality: refused.

    Raises
    ------
    ProofError
        If `value` is no term, integer or fraction; a float is none.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from lngeom.symbolic import term
    >>> term(Fraction(1, 2))
    1/2
    """
    if type(value) is Term:
        return value
    _require(isinstance(value, int | Fraction), f"{value!r} is no term, integer or fraction")
    return Term({(): Fraction(value)})


_ATOMS: set[tuple] = set()


def _atom(atom: tuple) -> Term:
    _ATOMS.add(atom)
    return Term({((atom, 1),): Fraction(1)})


def _proper(value: Any) -> Term:
    """`value` as a term that was built by the functions of this file: rules and functions take no other."""
    t = term(value)
    monomials = [monomial for monomial, _ in t]
    _require(
        all(a < b for a, b in itertools.pairwise(monomials)) and all(type(c) is Fraction and c for _, c in t),
        "a term is a sorted tuple of monomials with rational coefficients that are not 0",
    )
    for monomial in monomials:
        atoms = [atom for atom, _ in monomial]
        ordered = all(a < b for a, b in itertools.pairwise(atoms))
        powers = all(k > 0 or (k < 0 and atom == _D) for atom, k in monomial)
        _require(ordered and powers and _ATOMS.issuperset(atoms), f"{monomial!r} is no monomial made here")
    return t


def vector(name: str) -> Term:
    """Arbitrary vector of R^d. Equal names are equal vectors; no component is known to be different from 0.

    Examples
    --------
    >>> import lngeom as lg
    >>> from lngeom.symbolic import vector
    >>> lg.project(vector("x"))
    −S(x)/d + x
    """
    return _atom(("v", str(name)))


def scalar(name: str) -> Term:
    """Arbitrary real number c, standing for the vector c1. It may be 0 or negative unless a hypothesis forbids it.

    Examples
    --------
    >>> import lngeom as lg
    >>> from lngeom.symbolic import scalar, vector
    >>> lg.scale(lg.moments(vector("x"))[1], eps=scalar("eps"))
    √(−S(x)²/d² + S(x²)/d + ε)
    """
    return _atom(("s", str(name)))


ZERO, ONE, d = Term({}), term(1), _atom(_D)


def S(value: Any) -> Term:
    """Sum of the components, as c1 for the scalar c that it is: scalars come out, S(1) = d.

    Raises
    ------
    ProofError
        If `value` is no term, as :func:`term`.

    Examples
    --------
    >>> from lngeom.symbolic import S, scalar, vector
    >>> S(scalar("a") * vector("x") + 1)
    S(x)·a + d
    """
    total = ZERO
    for monomial, coefficient in _proper(value):
        inner = tuple(power for power in monomial if _is_vector(power[0]))
        outer = Term({tuple(power for power in monomial if not _is_vector(power[0])): coefficient})
        total += outer * (_atom(("S", inner)) if inner else d)
    return total


def inv(value: Any) -> Term:
    """1/t in each component where t is not 0, and 0 where it is.

    Products, powers, inverses and rational factors are taken apart: inv(st) = inv(s)·inv(t) and inv(inv t) = t hold
    also at 0. But t·inv t is 1 only where t is not 0, and stays as it is: see :func:`inverse`.

    Raises
    ------
    ProofError
        If `value` is no term, as :func:`term`.

    Examples
    --------
    >>> from lngeom.symbolic import inv, scalar, vector
    >>> inv(2 * scalar("a") * vector("x")), inv(inv(vector("x"))), inv(0)
    (1/2·inv(a)·inv(x), x, 0)
    """
    t = _proper(value)
    if not t:
        return ZERO
    k = min(dict(monomial).get(_D, 0) for monomial, _ in t)
    u = t * Term({((_D, -k),) if k else (): Fraction(1)})
    factor = Term({((_D, -k),) if k else (): 1 / tuple.__getitem__(u, -1)[1]})
    u = u * (1 / tuple.__getitem__(u, -1)[1])  # t = c·d^k·u with last coefficient 1 and lowest power of d 0
    if len(u) > 1:
        return factor * _atom(("inv", u, not u.is_scalar))
    for atom, exponent in tuple.__getitem__(u, 0)[0]:
        inverse = atom[1] if atom[0] == "inv" else _atom(("inv", _atom(atom), _is_vector(atom)))
        factor *= inverse**exponent
    return factor


def sqrt(value: Any) -> Term:
    """√t in each component where t >= 0, and 0 where t < 0.

    Rational factors that are squares come out, √(c²t) = c√t for c > 0. √(t²), which is |t|, stays as it is:
    see :func:`root_of_square`.

    Raises
    ------
    ProofError
        If `value` is no term, as :func:`term`.

    Examples
    --------
    >>> from lngeom.symbolic import sqrt, vector
    >>> x = vector("x")
    >>> sqrt(4 * x), sqrt(x * x), sqrt(-1)
    (2·√(x), √(x²), 0)
    """
    t = _proper(value)
    if not t:
        return ZERO
    c = abs(tuple.__getitem__(t, -1)[1])
    p, q = math.isqrt(c.numerator), math.isqrt(c.denominator)
    root = Fraction(p, q) if p * p == c.numerator and q * q == c.denominator else Fraction(1)
    inside = t * (1 / root**2)
    if len(inside) == 1 and tuple.__getitem__(inside, 0)[0] == ():  # a constant
        if inside == ONE:
            return ONE * root
        if tuple.__getitem__(inside, 0)[1] < 0:
            return ZERO
    return _atom(("sqrt", inside, not inside.is_scalar)) * root


def _sum(x: Term, *, axis: int, keepdims: bool = False) -> Term:
    _require(axis == -1, f"axis {axis}: the vectors that terms stand for lie along the last axis")
    return S(x)


def _mean(x: Term, *, axis: int, keepdims: bool = False) -> Term:
    return _sum(x, axis=axis, keepdims=keepdims) / d


NAMESPACE = SimpleNamespace(
    __name__="lngeom.symbolic", abs=abs, mean=_mean, ones_like=lambda x: ONE, sqrt=sqrt, sum=_sum
)
"""What `lngeom.layer_norm` and the others call when they run on terms."""


# ------------------------------------------------------------------------------------------------------- theorems


class Formula(NamedTuple):
    """The statement ``term relation 0``, in every component; relations are ``=``, ``!=``, ``>`` and ``>=``.

    Of a vector ``x != 0`` says that *no* component is 0, which is more than that x is not the zero vector.

    Examples
    --------
    >>> from lngeom.symbolic import Formula, formula, vector
    >>> print(formula(Formula(vector("x"), "!=")))
    x ≠ 0
    """

    term: Any
    relation: str


class Theorem:
    """A proved sequent ``hypotheses |- conclusion``. Only the rules below make one; calling this class does not.

    It says: for every d >= 1, every vector and every scalar, if all hypotheses hold in every component, then so does
    the conclusion.

    Raises
    ------
    ProofError
        When called, and when something is read from an object that no rule made.

    Examples
    --------
    >>> from lngeom.symbolic import square, total, vector
    >>> theorem = total(square(vector("x")))
    >>> theorem
    ⊢ S(x²) ≥ 0
    >>> theorem.conclusion.relation, len(theorem.hypotheses), theorem.certificate[0]
    ('>=', 0, 'total')
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, *arguments: Any) -> Theorem:
        msg = "theorems are made by the rules of the kernel, not by calling Theorem"
        raise ProofError(msg)

    @property
    def hypotheses(self) -> frozenset[Formula]:
        """What is assumed."""
        return _said(self)[0]

    @property
    def conclusion(self) -> Formula:
        """What follows."""
        return _said(self)[1]

    @property
    def certificate(self) -> tuple[str, tuple, tuple[Theorem, ...]]:
        """Rule, its terms, and the theorems it used; for readers and for the second checker, not for the kernel."""
        return _said(self)[2]

    def __repr__(self) -> str:
        from ._text import sequent

        return sequent(self)


_PROVED: WeakKeyDictionary[Theorem, tuple] = WeakKeyDictionary()


def _said(theorem: Theorem) -> tuple:
    _require(type(theorem) is Theorem and theorem in _PROVED, f"{object.__repr__(theorem)} was never proved")
    return _PROVED[theorem]


def _prove(t: Term, relation: str, hypotheses: Iterable, rule: str, terms: tuple, *used: Theorem) -> Theorem:
    theorem = object.__new__(Theorem)
    _PROVED[theorem] = (frozenset(hypotheses), Formula(_proper(t), relation), (rule, terms, used))
    return theorem


def _read(theorem: Theorem, *relations: str) -> tuple[Term, str, frozenset[Formula]]:
    hypotheses, (t, relation), _ = _said(theorem)
    _require(not relations or relation in relations, f"a premise reads {relation} 0, needed is {relations}")
    return t, relation, hypotheses


_HOLDS = {"=": lambda c: c == 0, "!=": lambda c: c != 0, ">": lambda c: c > 0, ">=": lambda c: c >= 0}


def _formula(formula: Formula) -> Formula:
    t, relation = formula
    _require(relation in _HOLDS, f"relation {relation!r} is none of {tuple(_HOLDS)}")
    return Formula(_proper(t), str(relation))


def assume(formula: Formula) -> Theorem:
    """A |- A.

    Raises
    ------
    ProofError
        If `formula` does not relate a term to 0 by one of the four relations.

    Examples
    --------
    >>> from lngeom.symbolic import S, assume, equal, vector
    >>> assume(equal(S(vector("x")), 0))
    S(x) = 0 ⊢ S(x) = 0
    """
    formula = _formula(formula)
    return _prove(*formula, [formula], "assume", ())


def constant(value: Any, relation: str) -> Theorem:
    """|- c REL 0 for a rational number c of which it is true.

    Raises
    ------
    ProofError
        If it is false of c, or REL is none of the four relations.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from lngeom.symbolic import constant
    >>> constant(Fraction(1, 2), ">")
    ⊢ 1/2 > 0
    """
    c = Fraction(value)
    _require(relation in _HOLDS and _HOLDS[relation](c), f"{c} {relation} 0 is false")
    return _prove(_proper(c), relation, (), "constant", (_proper(c),))


def dimension() -> Theorem:
    """|- d − 1 >= 0, all that is known of the dimension.

    Examples
    --------
    >>> from lngeom.symbolic import dimension
    >>> dimension()
    ⊢ −1 + d ≥ 0
    """
    return _prove(d - 1, ">=", (), "dimension", ())


def combine(goal: Any, parts: Iterable[tuple[Any, Any, Theorem]]) -> Theorem:
    """|- goal = 0: goal is the sum of a·e over parts (a, None, e = 0) and a·S(b·e) over parts (a, b, e = 0).

    Without parts, goal is 0 in normal form.

    Raises
    ------
    ProofError
        If a premise is no equation, or the combination and goal have different normal forms.

    Examples
    --------
    >>> from lngeom.symbolic import S, assume, combine, equal, vector
    >>> x, y = vector("x"), vector("y")
    >>> combine(S(x * y), [(1, x, assume(equal(y, 0)))])
    y = 0 ⊢ S(x·y) = 0
    """
    goal, rest, hypotheses, terms, used = _proper(goal), _proper(goal), frozenset(), [_proper(goal)], []
    for a, b, theorem in parts:
        e, _, assumed = _read(theorem, "=")
        rest -= _proper(a) * (e if b is None else S(_proper(b) * e))
        hypotheses |= assumed
        terms += [_proper(a), None if b is None else _proper(b)]
        used.append(theorem)
    _require(not rest, "the goal is not the given combination of equations")
    return _prove(goal, "=", hypotheses, "combine", tuple(terms), *used)


def cancel(p: Any, product: Theorem, nonzero: Theorem) -> Theorem:
    """From p·q = 0 and q != 0 (or q > 0): p = 0. Since q vanishes in no component, p vanishes in each.

    Raises
    ------
    ProofError
        If the first premise is not the equation p·q = 0 for the given `p` and the q of the second.

    Examples
    --------
    >>> from lngeom.symbolic import assume, cancel, equal, unequal, vector
    >>> x, y = vector("x"), vector("y")
    >>> cancel(x, assume(equal(x * y, 0)), assume(unequal(y)))
    x·y = 0, y ≠ 0 ⊢ x = 0
    """
    (t, _, first), (q, _, second) = _read(product, "="), _read(nonzero, "!=", ">")
    _require(t == _proper(p) * q, "the equation is not the product of p and the nonzero term")
    return _prove(_proper(p), "=", first | second, "cancel", (_proper(p),), product, nonzero)


def inverse(nonzero: Theorem) -> Theorem:
    """From t != 0 (or t > 0): t·inv t − 1 = 0.

    Raises
    ------
    ProofError
        If the premise has another relation.

    Examples
    --------
    >>> from lngeom.symbolic import assume, inverse, unequal, vector
    >>> inverse(assume(unequal(vector("x"))))
    x ≠ 0 ⊢ −1 + inv(x)·x = 0
    """
    t, _, hypotheses = _read(nonzero, "!=", ">")
    return _prove(t * inv(t) - 1, "=", hypotheses, "inverse", (), nonzero)


def inverse_total(t: Any) -> Theorem:
    """|- t·t·inv t − t = 0, also where t is 0, because inv 0 = 0.

    Raises
    ------
    ProofError
        If `t` is no term, as :func:`term`.

    Examples
    --------
    >>> from lngeom.symbolic import inverse_total, vector
    >>> inverse_total(vector("x"))
    ⊢ inv(x)·x² − x = 0
    """
    t = _proper(t)
    return _prove(t * t * inv(t) - t, "=", (), "inverse_total", (t,))


def inverse_sign(theorem: Theorem) -> Theorem:
    """From t REL 0: inv t REL 0, for every relation; for ``=`` and ``>=`` because inv 0 = 0.

    Raises
    ------
    ProofError
        If the premise was never proved.

    Examples
    --------
    >>> from lngeom.symbolic import assume, at_least, inverse_sign, vector
    >>> inverse_sign(assume(at_least(vector("x"))))
    x ≥ 0 ⊢ inv(x) ≥ 0
    """
    t, relation, hypotheses = _read(theorem)
    return _prove(inv(t), relation, hypotheses, "inverse_sign", (), theorem)


def square_of_root(nonnegative: Theorem) -> Theorem:
    """From t >= 0 (or t > 0): (sqrt t)² − t = 0. Where t < 0, sqrt t is 0 and the square is not t.

    Raises
    ------
    ProofError
        If the premise has another relation.

    Examples
    --------
    >>> from lngeom.symbolic import assume, at_least, square_of_root, vector
    >>> square_of_root(assume(at_least(vector("x"))))
    x ≥ 0 ⊢ √(x)² − x = 0
    """
    t, _, hypotheses = _read(nonnegative, ">=", ">")
    return _prove(sqrt(t) * sqrt(t) - t, "=", hypotheses, "square_of_root", (), nonnegative)


def root_nonnegative(t: Any) -> Theorem:
    """|- sqrt t >= 0, also where t < 0, because sqrt t is 0 there.

    Raises
    ------
    ProofError
        If `t` is no term, as :func:`term`.

    Examples
    --------
    >>> from lngeom.symbolic import root_nonnegative, vector
    >>> root_nonnegative(vector("x"))
    ⊢ √(x) ≥ 0
    """
    return _prove(sqrt(t), ">=", (), "root_nonnegative", (_proper(t),))


def root_positive(positive: Theorem) -> Theorem:
    """From t > 0: sqrt t > 0.

    Raises
    ------
    ProofError
        If the premise has another relation.

    Examples
    --------
    >>> from lngeom.symbolic import assume, greater, root_positive, vector
    >>> root_positive(assume(greater(vector("x"))))
    x > 0 ⊢ √(x) > 0
    """
    t, _, hypotheses = _read(positive, ">")
    return _prove(sqrt(t), ">", hypotheses, "root_positive", (), positive)


def root_of_square(t: Any, nonnegative: Theorem, square_is: Theorem) -> Theorem:
    """From u >= 0 (or u > 0) and u² − t = 0: sqrt t − u = 0. A nonnegative number has one nonnegative root.

    Raises
    ------
    ProofError
        If the second premise is not the equation u² − t = 0 for the u of the first and the given `t`.

    Examples
    --------
    >>> from lngeom.symbolic import assume, at_least, combine, root_of_square, vector
    >>> u = vector("u")
    >>> root_of_square(u * u, assume(at_least(u)), combine(0, []))
    u ≥ 0 ⊢ √(u²) − u = 0
    """
    (u, _, first), (e, _, second) = _read(nonnegative, ">=", ">"), _read(square_is, "=")
    _require(e == u * u - _proper(t), "the equation does not say that t is the square")
    return _prove(sqrt(t) - u, "=", first | second, "root_of_square", (_proper(t),), nonnegative, square_is)


_FUNCTIONS = {"inv": inv, "sqrt": sqrt}


def congruence(function: str, a: Any, b: Any, equal: Theorem) -> Theorem:
    """From a − b = 0: f(a) − f(b) = 0, for f one of ``"inv"`` and ``"sqrt"``.

    Raises
    ------
    ProofError
        If the premise is not the equation a − b = 0 of the given terms, or f is another function.

    Examples
    --------
    >>> from lngeom.symbolic import assume, congruence, equal, vector
    >>> x, y = vector("x"), vector("y")
    >>> congruence("inv", x, y, assume(equal(x, y)))
    x − y = 0 ⊢ inv(x) − inv(y) = 0
    """
    e, _, hypotheses = _read(equal, "=")
    _require(function in _FUNCTIONS and e == _proper(a) - _proper(b), "the equation is not a − b = 0")
    f = _FUNCTIONS[function]
    return _prove(f(a) - f(b), "=", hypotheses, "congruence", (function, _proper(a), _proper(b)), equal)


def square(t: Any) -> Theorem:
    """|- t² >= 0.

    Raises
    ------
    ProofError
        If `t` is no term, as :func:`term`.

    Examples
    --------
    >>> from lngeom.symbolic import square, vector
    >>> square(vector("x") - 1)
    ⊢ 1 − 2·x + x² ≥ 0
    """
    t = _proper(t)
    return _prove(t * t, ">=", (), "square", (t,))


def add(first: Theorem, second: Theorem) -> Theorem:
    """From p >= 0 and q >= 0: p + q >= 0; from p > 0 and q >= 0, p >= 0 and q > 0, or p > 0 and q > 0: p + q > 0.

    Raises
    ------
    ProofError
        If a premise has another relation.

    Examples
    --------
    >>> from lngeom.symbolic import add, assume, greater, square, vector
    >>> x, y = vector("x"), vector("y")
    >>> add(square(x), assume(greater(y)))
    y > 0 ⊢ x² + y > 0
    """
    (p, r, left), (q, s, right) = _read(first, ">", ">="), _read(second, ">", ">=")
    return _prove(p + q, ">" if ">" in (r, s) else ">=", left | right, "add", (), first, second)


def multiply(first: Theorem, second: Theorem) -> Theorem:
    """From p REL 0 and q REL 0: p·q REL 0, REL one of ``>``, ``>=`` and ``!=``. A positive factor goes with any REL.

    Raises
    ------
    ProofError
        If a premise is an equation, or one has ``>=`` and the other ``!=``: their product may be negative or 0.

    Examples
    --------
    >>> from lngeom.symbolic import assume, greater, multiply, unequal, vector
    >>> x, y = vector("x"), vector("y")
    >>> multiply(assume(unequal(x)), assume(greater(y)))
    x ≠ 0, y > 0 ⊢ x·y ≠ 0
    """
    (p, r, left), (q, s, right) = _read(first, ">", ">=", "!="), _read(second, ">", ">=", "!=")
    _require({r, s} != {">=", "!="}, "a nonnegative times a nonzero term has no sign")
    return _prove(p * q, r if s == ">" else s, left | right, "multiply", (), first, second)


def weaken(theorem: Theorem, relation: str) -> Theorem:
    """From t > 0: t >= 0 or t != 0. From t = 0: t >= 0.

    Raises
    ------
    ProofError
        For any other pair of relations.

    Examples
    --------
    >>> from lngeom.symbolic import assume, greater, vector, weaken
    >>> weaken(assume(greater(vector("x"))), "!=")
    x > 0 ⊢ x ≠ 0
    """
    t, stronger, hypotheses = _read(theorem)
    _require((stronger, relation) in {(">", ">="), (">", "!="), ("=", ">=")}, "this is no weakening")
    return _prove(t, relation, hypotheses, "weaken", (), theorem)


def strengthen(nonnegative: Theorem, nonzero: Theorem) -> Theorem:
    """From t >= 0 and t != 0: t > 0.

    Raises
    ------
    ProofError
        If the premises have other relations or speak of terms of different normal forms.

    Examples
    --------
    >>> from lngeom.symbolic import assume, square, strengthen, unequal, vector
    >>> x = vector("x")
    >>> strengthen(square(x), assume(unequal(x * x)))
    x² ≠ 0 ⊢ x² > 0
    """
    (t, _, first), (u, _, second) = _read(nonnegative, ">="), _read(nonzero, "!=")
    _require(t == u, "the two premises speak of different terms")
    return _prove(t, ">", first | second, "strengthen", (), nonnegative, nonzero)


def total(theorem: Theorem) -> Theorem:
    """From t >= 0: S(t) >= 0, and from t > 0: S(t) > 0, because d >= 1 and the sum is not empty.

    Raises
    ------
    ProofError
        If the premise has another relation.

    Examples
    --------
    >>> from lngeom.symbolic import assume, greater, total, vector
    >>> total(assume(greater(vector("x"))))
    x > 0 ⊢ S(x) > 0
    """
    t, relation, hypotheses = _read(theorem, ">", ">=")
    return _prove(S(t), relation, hypotheses, "total", (), theorem)


def definite(t: Any, sum_of_squares: Theorem) -> Theorem:
    """From S(t·t) = 0: t = 0. A sum of real squares vanishes only if each does.

    Raises
    ------
    ProofError
        If the premise is not the equation S(t·t) = 0 of the given term.

    Examples
    --------
    >>> from lngeom.symbolic import S, assume, definite, equal, vector
    >>> x = vector("x")
    >>> definite(x, assume(equal(S(x * x), 0)))
    S(x²) = 0 ⊢ x = 0
    """
    t, (e, _, hypotheses) = _proper(t), _read(sum_of_squares, "=")
    _require(e == S(t * t), "the equation is not S(t·t) = 0")
    return _prove(t, "=", hypotheses, "definite", (t,), sum_of_squares)


def transport(goal: Any, equal: Theorem, theorem: Theorem) -> Theorem:
    """From goal − t = 0 and t REL 0: goal REL 0, for every relation.

    Raises
    ------
    ProofError
        If the first premise is not the equation goal − t = 0 for the t of the second.

    Examples
    --------
    >>> from lngeom.symbolic import assume, equal, greater, transport, vector
    >>> x, y = vector("x"), vector("y")
    >>> transport(x, assume(equal(x, y)), assume(greater(y)))
    x − y = 0, y > 0 ⊢ x > 0
    """
    (e, _, first), (t, relation, second) = _read(equal, "="), _read(theorem)
    _require(e == _proper(goal) - t, "the equation is not goal − t = 0")
    return _prove(_proper(goal), relation, first | second, "transport", (_proper(goal),), equal, theorem)


def cut(lemma: Theorem, theorem: Theorem) -> Theorem:
    """From G |- A and H, A |- B: G, H |- B. Where A is no hypothesis of the second, nothing is dropped and G is added.

    Raises
    ------
    ProofError
        If a premise was never proved.

    Examples
    --------
    >>> from lngeom.symbolic import assume, at_least, cut, square, total, vector
    >>> x = vector("x")
    >>> theorem = total(assume(at_least(x * x)))
    >>> theorem, cut(square(x), theorem)
    (x² ≥ 0 ⊢ S(x²) ≥ 0, ⊢ S(x²) ≥ 0)
    """
    (a, relation, first), (t, conclusion, second) = _read(lemma), _read(theorem)
    remaining = first | (second - {Formula(a, relation)})
    return _prove(t, conclusion, remaining, "cut", (), lemma, theorem)


def substitute(value: Any, values: Mapping[Term, Any]) -> Term:
    """`value` with atoms replaced by terms, all at once: a vector by anything, a scalar by a scalar.

    A vector for a scalar would be wrong: scalars have been taken out of sums.

    Raises
    ------
    ProofError
        If a vector is to replace a scalar, or an atom that is neither vector nor scalar is to be replaced.
    ValueError
        If a sum, a product or a constant is to be replaced.

    Examples
    --------
    >>> from lngeom.symbolic import S, substitute, vector
    >>> x, y = vector("x"), vector("y")
    >>> substitute(S(x * y), {x: y, y: x + 1})
    S(x·y) + S(y)
    """
    atoms = {}
    for atom, replacement in values.items():
        ((((name, _),), _),) = _proper(atom)
        _require(_proper(atom) == _atom(name) and name[0] in "vs", "only vectors and scalars can be replaced")
        _require(name[0] == "v" or _proper(replacement).is_scalar, "a scalar can only become a scalar")
        atoms[name] = _proper(replacement)

    def rebuilt(t: Iterable) -> Term:
        whole = ZERO
        for monomial, coefficient in t:
            product = term(coefficient)
            for atom, exponent in monomial:
                if atom[0] == "S":
                    new = S(rebuilt([(atom[1], Fraction(1))]))
                elif atom[0] in _FUNCTIONS:
                    new = _FUNCTIONS[atom[0]](rebuilt(atom[1]))
                else:
                    new = atoms.get(atom, _atom(atom))
                product *= new**exponent
            whole += product
        return whole

    return rebuilt(_proper(value))


def instantiate(theorem: Theorem, values: Mapping[Term, Any]) -> Theorem:
    """A theorem about arbitrary vectors and scalars holds for particular ones, put in hypotheses and conclusion alike.

    Replaced is as by :func:`substitute`: a vector by anything, a scalar by a scalar.

    Raises
    ------
    ProofError, ValueError
        As :func:`substitute`.

    Examples
    --------
    >>> from lngeom.symbolic import assume, at_least, instantiate, total, vector
    >>> x, y = vector("x"), vector("y")
    >>> instantiate(total(assume(at_least(x))), {x: y - 1})
    −1 + y ≥ 0 ⊢ S(y) − d ≥ 0
    """
    t, relation, hypotheses = _read(theorem)
    new = [Formula(substitute(h, values), r) for h, r in hypotheses]
    pairs = tuple(part for pair in values.items() for part in pair)
    return _prove(substitute(t, values), relation, new, "instantiate", pairs, theorem)
