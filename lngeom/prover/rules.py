"""The rules by which a theorem comes into being.

A :class:`Proved` is a sequent ``hypotheses |- t REL 0``: if all hypotheses hold in every component, so does the
conclusion, for every d >= 1, every vector and every scalar. Each rule below states the sequent that it yields, what
it refuses, and the line of school algebra by which it takes true sequents to true sequents; G and H are the
hypotheses of its premises.

In the rules every term is a vector of R^d: a scalar c is c1, and S(t) is the sum of all d components, S(c) = dc.

A theorem is worth what :mod:`lngeom.checker` says of its certificate. What a rule refuses helps the search for proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .terms import Term, _is_vector, _replacements, _require, _substituted, d, inv, sqrt, sum_of, term

__all__ = [
    "Formula",
    "Proved",
    "add",
    "assume",
    "cancel",
    "cases_sign",
    "cases_zero",
    "combine",
    "congruence",
    "constant",
    "cut",
    "definite",
    "dimension",
    "instantiate",
    "inverse",
    "inverse_sign",
    "inverse_total",
    "multiply",
    "others",
    "root_nonnegative",
    "root_of_square",
    "root_positive",
    "square",
    "square_of_root",
    "strengthen",
    "total",
    "transport",
    "weaken",
]


class Formula(NamedTuple):
    """The statement ``term relation 0``, in every component; relations are ``=``, ``!=``, ``>`` and ``>=``.

    Of a vector ``x != 0`` says that *no* component is 0, which is more than that x is not the zero vector.
    """

    term: Any
    relation: str


@dataclass(frozen=True, eq=False, repr=False)
class Proved:
    """A sequent ``hypotheses |- conclusion``, with the rule, its arguments and the theorems from which it follows.

    It says: for every d >= 1, every vector and every scalar, if all hypotheses hold in every component, then so does
    the conclusion.

    >>> from lngeom.prover import square, total, vector
    >>> theorem = total(square(vector("x")))
    >>> theorem
    ⊢ S(x²) ≥ 0
    >>> theorem.conclusion.relation, len(theorem.hypotheses), theorem.rule
    ('>=', 0, 'total')
    """

    hypotheses: frozenset[Formula]
    conclusion: Formula
    rule: str
    arguments: tuple
    premises: tuple[Proved, ...]
    shown: ClassVar[Callable[[Proved], str]] = object.__repr__  # writing.py has a better one

    def __repr__(self) -> str:
        return Proved.shown(self)


_HOLDS = {"=": lambda n: n == 0, "!=": lambda n: n != 0, ">": lambda n: n > 0, ">=": lambda n: n >= 0}


def _prove(t: Term, relation: str, hypotheses: frozenset, rule: str, arguments: tuple, *used: Proved) -> Proved:
    return Proved(hypotheses, Formula(Term(t.pairs), relation), rule, arguments, used)


def _read(theorem: Proved, *relations: str) -> tuple[Term, str, frozenset]:
    t, relation = theorem.conclusion
    _require(relation in relations, f"a premise reads {relation} 0, needed is one of {relations}")
    return t, relation, theorem.hypotheses


def _relation(relation: str) -> str:
    _require(type(relation) is str and relation in _HOLDS, f"{relation!r} is not one of {', '.join(_HOLDS)}")
    return relation


_ANY = tuple(_HOLDS)


def assume(formula: Formula) -> Proved:
    """A |- A."""
    t, relation = formula
    t, relation = term(t), _relation(relation)
    return _prove(t, relation, frozenset([Formula(t, relation)]), "assume", (t, relation))


def constant(value: object, relation: str) -> Proved:
    """|- c REL 0 for a rational number c, refused where that is false."""
    c, relation = term(value), _relation(relation)
    _require(not c.pairs or [monomial for monomial, _ in c.pairs] == [()], f"{c!r} is not a number")
    _require(_HOLDS[relation](c.pairs[0][1][0] if c.pairs else 0), f"{c!r} {relation} 0 is false")
    return _prove(c, relation, frozenset(), "constant", (c, relation))


def dimension() -> Proved:
    """|- d − 1 >= 0, all that is known of the dimension."""
    return _prove(d - 1, ">=", frozenset(), "dimension", ())


def combine(goal: object, parts: Iterable[tuple[object, object, Proved]]) -> Proved:
    """From e = 0 for each part: goal = 0, if goal is the sum of a·e over parts (a, None, e = 0) and of a·S(b·e) over
    parts (a, b, e = 0), in normal form. Each summand vanishes with its e. Without parts: |- 0 = 0.
    """
    goal = rest = term(goal)
    hypotheses, arguments, used = frozenset(), [goal], []
    for a, b, theorem in parts:
        (e, _, assumed), a = _read(theorem, "="), term(a)
        b = None if b is None else term(b)
        rest -= a * (e if b is None else sum_of(b * e))
        hypotheses |= assumed
        arguments += [a, b]
        used.append(theorem)
    _require(not rest.pairs, "the goal is not the given combination of equations")
    return _prove(goal, "=", hypotheses, "combine", tuple(arguments), *used)


def cancel(p: object, product: Proved, nonzero: Proved) -> Proved:
    """From p·q = 0 and q != 0 (or q > 0): p = 0. Since q vanishes in no component, p vanishes in each."""
    (t, _, first), (q, _, second), p = _read(product, "="), _read(nonzero, "!=", ">"), term(p)
    _require(t == p * q, "the equation is not the product of p and the nonzero term")
    return _prove(p, "=", first | second, "cancel", (p,), product, nonzero)


def inverse(nonzero: Proved) -> Proved:
    """From t != 0 (or t > 0): t·inv t − 1 = 0. Where t were 0, t·inv t would be 0 and not 1."""
    t, _, hypotheses = _read(nonzero, "!=", ">")
    return _prove(t * inv(t) - 1, "=", hypotheses, "inverse", (), nonzero)


def inverse_total(t: object) -> Proved:
    """|- t·t·inv t − t = 0, also where t is 0, because inv 0 = 0."""
    t = term(t)
    return _prove(t * t * inv(t) - t, "=", frozenset(), "inverse_total", (t,))


def inverse_sign(theorem: Proved) -> Proved:
    """From t REL 0: inv t REL 0, for every relation; for ``=`` and ``>=`` because inv 0 = 0."""
    t, relation, hypotheses = _read(theorem, *_ANY)
    return _prove(inv(t), relation, hypotheses, "inverse_sign", (), theorem)


def square_of_root(nonnegative: Proved) -> Proved:
    """From t >= 0 (or t > 0): (sqrt t)² − t = 0. Where t < 0, sqrt t is 0 and the square is not t."""
    t, _, hypotheses = _read(nonnegative, ">=", ">")
    return _prove(sqrt(t) * sqrt(t) - t, "=", hypotheses, "square_of_root", (), nonnegative)


def root_nonnegative(t: object) -> Proved:
    """|- sqrt t >= 0, also where t < 0, because sqrt t is 0 there."""
    t = term(t)
    return _prove(sqrt(t), ">=", frozenset(), "root_nonnegative", (t,))


def root_positive(positive: Proved) -> Proved:
    """From t > 0: sqrt t > 0."""
    t, _, hypotheses = _read(positive, ">")
    return _prove(sqrt(t), ">", hypotheses, "root_positive", (), positive)


def root_of_square(t: object, nonnegative: Proved, square_is: Proved) -> Proved:
    """From u >= 0 (or u > 0) and u² − t = 0: sqrt t − u = 0. A nonnegative number has one nonnegative root."""
    (u, _, first), (e, _, second), t = _read(nonnegative, ">=", ">"), _read(square_is, "="), term(t)
    _require(e == u * u - t, "the equation does not say that t is the square")
    return _prove(sqrt(t) - u, "=", first | second, "root_of_square", (t,), nonnegative, square_is)


def congruence(function: str, a: object, b: object, equal: Proved) -> Proved:
    """From a − b = 0: f(a) − f(b) = 0, for f one of ``"inv"`` and ``"sqrt"``. Equal arguments have equal values."""
    (e, _, hypotheses), a, b = _read(equal, "="), term(a), term(b)
    _require(function in ("inv", "sqrt"), f"{function!r} is neither inv nor sqrt")
    _require(e == a - b, "the equation is not a − b = 0")
    f = inv if function == "inv" else sqrt
    return _prove(f(a) - f(b), "=", hypotheses, "congruence", (function, a, b), equal)


def square(t: object) -> Proved:
    """|- t² >= 0."""
    t = term(t)
    return _prove(t * t, ">=", frozenset(), "square", (t,))


def add(first: Proved, second: Proved) -> Proved:
    """From p REL 0 and q REL' 0, both > or >=: p + q > 0 if one of them is >, else p + q >= 0."""
    (p, r, left), (q, s, right) = _read(first, ">", ">="), _read(second, ">", ">=")
    return _prove(p + q, ">" if ">" in (r, s) else ">=", left | right, "add", (), first, second)


def multiply(first: Proved, second: Proved) -> Proved:
    """From p REL 0 and q REL 0: p·q REL 0, REL one of >, >= and !=; a factor > 0 goes with any REL.

    A factor >= 0 with one != 0 is refused: the product may be negative or 0.
    """
    (p, r, left), (q, s, right) = _read(first, ">", ">=", "!="), _read(second, ">", ">=", "!=")
    _require({r, s} != {">=", "!="}, "a nonnegative times a nonzero term has no sign")
    return _prove(p * q, r if s == ">" else s, left | right, "multiply", (), first, second)


def weaken(theorem: Proved, relation: str) -> Proved:
    """From t > 0: t >= 0 or t != 0. From t = 0: t >= 0. No other pair of relations."""
    (t, stronger, hypotheses), relation = _read(theorem, *_ANY), _relation(relation)
    _require((stronger, relation) in {(">", ">="), (">", "!="), ("=", ">=")}, "this is not a weakening")
    return _prove(t, relation, hypotheses, "weaken", (relation,), theorem)


def strengthen(nonnegative: Proved, nonzero: Proved) -> Proved:
    """From t >= 0 and t != 0, of one normal form t: t > 0."""
    (t, _, first), (u, _, second) = _read(nonnegative, ">="), _read(nonzero, "!=")
    _require(t == u, "the two premises speak of different terms")
    return _prove(t, ">", first | second, "strengthen", (), nonnegative, nonzero)


def others(t: object, m: object) -> Proved:
    """|- S(t·t) − 2m·S(t) + d·m² − (t − m)² >= 0: in component i the squares of t_j − m_i over all j but i."""
    t, m = term(t), term(m)
    left = sum_of(t * t) - 2 * m * sum_of(t) + d * m * m - (t - m) * (t - m)
    return _prove(left, ">=", frozenset(), "others", (t, m))


def total(theorem: Proved) -> Proved:
    """From t >= 0: S(t) >= 0, and from t > 0: S(t) > 0, because d >= 1 and the sum is not empty."""
    t, relation, hypotheses = _read(theorem, ">", ">=")
    return _prove(sum_of(t), relation, hypotheses, "total", (), theorem)


def definite(t: object, sum_of_squares: Proved) -> Proved:
    """From S(t·t) = 0: t = 0. A sum of real squares vanishes only if each does."""
    (e, _, hypotheses), t = _read(sum_of_squares, "="), term(t)
    _require(e == sum_of(t * t), "the equation is not S(t·t) = 0")
    return _prove(t, "=", hypotheses, "definite", (t,), sum_of_squares)


def transport(goal: object, equal: Proved, theorem: Proved) -> Proved:
    """From goal − t = 0 and t REL 0: goal REL 0, for every relation."""
    (e, _, first), (t, relation, second), goal = _read(equal, "="), _read(theorem, *_ANY), term(goal)
    _require(e == goal - t, "the equation is not goal − t = 0")
    return _prove(goal, relation, first | second, "transport", (goal,), equal, theorem)


def cut(lemma: Proved, theorem: Proved) -> Proved:
    """From G |- A and H, A |- B: G, H |- B. Only A is dropped, and nothing if it is not a hypothesis of the second."""
    (a, relation, first), (t, conclusion, second) = _read(lemma, *_ANY), _read(theorem, *_ANY)
    return _prove(t, conclusion, first | (second - {Formula(a, relation)}), "cut", (), lemma, theorem)


def cases_zero(t: object, zero: Proved, nonzero: Proved) -> Proved:
    """From G, t = 0 |- A and H, t != 0 |- A: G, H |- A, for a scalar t, which is 0 or is not."""
    return _cases("cases_zero", t, ("=", zero), ("!=", nonzero))


def cases_sign(t: object, nonnegative: Proved, negative: Proved) -> Proved:
    """From G, t >= 0 |- A and H, −t > 0 |- A: G, H |- A, for a scalar t, which is one or the other."""
    return _cases("cases_sign", t, (">=", nonnegative), (">", negative))


def _cases(rule: str, t: object, first: tuple[str, Proved], second: tuple[str, Proved]) -> Proved:
    (r, one), (s, other), t = first, second, term(t)
    _require(not _is_vector(t.pairs), "of a vector some components may be 0 and others not")
    _require(one.conclusion == other.conclusion, "the two cases prove different formulas")
    rest = (one.hypotheses - {Formula(t, r)}) | (other.hypotheses - {Formula(-t if s == ">" else t, s)})
    return _prove(*one.conclusion, rest, rule, (t,), one, other)


def instantiate(theorem: Proved, values: Mapping[Term, object]) -> Proved:
    """A theorem about arbitrary vectors and scalars holds for particular ones, put in hypotheses and conclusion alike.

    Replaced is as by :func:`substitute`, all at once: a vector by anything, a scalar by a scalar and nothing else.
    """
    (t, relation, hypotheses), new = _read(theorem, *_ANY), _replacements(values)
    assumed = frozenset(Formula(_substituted(formula.term, new), formula.relation) for formula in hypotheses)
    arguments = tuple(term(part) for pair in values.items() for part in pair)
    return _prove(_substituted(t, new), relation, assumed, "instantiate", arguments, theorem)
