"""Attempts at the prover's rules: rules misused, which must conclude nothing, and rules well used."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

from collections.abc import Callable
from functools import partial
from typing import Any

from lngeom.prover import (
    Formula,
    S,
    Term,
    add,
    assume,
    cancel,
    cases_sign,
    cases_zero,
    combine,
    congruence,
    constant,
    cut,
    d,
    definite,
    dimension,
    instantiate,
    inv,
    inverse,
    inverse_sign,
    inverse_total,
    multiply,
    others,
    root_nonnegative,
    root_of_square,
    root_positive,
    scalar,
    sqrt,
    square,
    square_of_root,
    strengthen,
    term,
    total,
    transport,
    vector,
    weaken,
)

x, y, w, a, b = vector("x"), vector("y"), vector("w"), scalar("a"), scalar("b")


def given(t, relation="="):
    return assume(Formula(t, relation))


zero, nonzero, positive, nonnegative = given(x), given(x, "!="), given(x, ">"), given(x, ">=")
other, product, negative = given(y, "!="), given(x * y), given(-x, ">")


def atom(kind, content):
    return Term({(((kind, content.pairs), 1),): 1})


zero2 = given(w, ">=")


def halves(t, relation):
    """t² >= 0 from t = 0 and from t != 0, or from t >= 0 and from −t > 0."""
    if relation == "=":
        one, other = combine(t * t, [(t, None, given(t))]), multiply(given(t, "!="), given(t, "!="))
        return weaken(one, ">="), weaken(strengthen(square(t), other), ">=")
    one, other = given(t, ">="), given(-t, ">")
    return multiply(one, one), weaken(multiply(other, other), ">=")


Attempt = Callable[[], Any]

SIGNS = ("=", ">=", ">", "!=")
PREMISES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "a combination of": ("=", lambda r: combine(x, [(1, None, given(x, r))])),
    "cancelling in": ("=", lambda r: cancel(y, given(x * y, r), nonzero)),
    "cancelling with": ("> !=", lambda r: cancel(y, product, given(x, r))),
    "the inverse from": ("> !=", lambda r: inverse(given(x, r))),
    "the root from": (">= >", lambda r: square_of_root(given(x, r))),
    "a positive root from": (">", lambda r: root_positive(given(x, r))),
    "a root of another square,": ("=", lambda r: root_of_square(y, nonnegative, given(x * x - y, r))),
    "a root of a square from": (">= >", lambda r: root_of_square(y, given(x, r), given(x * x - y))),
    "congruence along": ("=", lambda r: congruence("sqrt", x, y, given(x - y, r))),
    "a sum of": (">= >", lambda r: add(given(x, r), nonnegative)),
    "a sum with": (">= >", lambda r: add(positive, given(x, r))),
    "a product of": (">= > !=", lambda r: multiply(given(x, r), positive)),
    "a product with": (">= > !=", lambda r: multiply(positive, given(x, r))),
    "strengthening": (">=", lambda r: strengthen(given(x, r), nonzero)),
    "strengthening by": ("!=", lambda r: strengthen(nonnegative, given(x, r))),
    "the total of": (">= >", lambda r: total(given(x, r))),
    "a definite form": ("=", lambda r: definite(x, given(S(x * x), r))),
    "transport along": ("=", lambda r: transport(y, given(y - x, r), zero)),
}
"""By name of a premise: the relations that it may have, and the rule with it in any."""
STRONGER = {(old, new) for old in SIGNS for new in SIGNS if old != new} - {(">", ">="), (">", "!="), ("=", ">=")}

MISUSED: dict[str, Attempt] = {
    **{
        f"{name} t {r} 0": partial(attempt, r)
        for name, (taken, attempt) in PREMISES.items()
        for r in SIGNS
        if r not in taken.split()
    },
    **{" to ".join(pair): partial(lambda old, new: weaken(given(x, old), new), *pair) for pair in sorted(STRONGER)},
    "false constant": lambda: constant(0, ">"),
    "a false sign of a constant": lambda: constant(-1, ">="),
    "false equation of constants": lambda: constant(1, "="),
    "0 is not unequal to 0": lambda: constant(0, "!="),
    "a vector as a constant": lambda: constant(x, "!="),
    "d as a constant": lambda: constant(d, "="),
    "unknown relation": lambda: assume(Formula(x, "<")),
    "no relation": lambda: assume(Formula(x, None)),
    "a combination that does not add up": lambda: combine(x, [(y, None, zero)]),
    "a root of 2 that is 0": lambda: combine(sqrt(2), []),
    "a combination of nothing": lambda: combine(x, []),
    "a sum that is forgotten": lambda: combine(S(x * y), [(1, None, zero)]),
    "a sum of a sum": lambda: combine(S(x), [(1, 1, given(S(x)))]),
    "cancelling another factor": lambda: cancel(y, product, other),
    "cancelling with the other sign": lambda: cancel(-y, product, nonzero),
    "a root of another square": lambda: root_of_square(y, nonnegative, given(x * x - w)),
    "a root of minus the square": lambda: root_of_square(y, nonnegative, given(x * x + y)),
    "congruence of unequal terms": lambda: congruence("inv", x, y, zero),
    "congruence of opposite terms": lambda: congruence("sqrt", x, y, given(x + y)),
    "congruence of another function": lambda: congruence("S", x, 0, zero),
    "a product of nonnegative and nonzero": lambda: multiply(nonnegative, other),
    "a product of nonzero and nonnegative": lambda: multiply(other, nonnegative),
    "strengthening with another term": lambda: strengthen(nonnegative, other),
    "strengthening with the opposite term": lambda: strengthen(nonnegative, given(-x, "!=")),
    "a definite form of another vector": lambda: definite(y, given(S(x * x))),
    "a definite form of a product": lambda: definite(x, given(S(x * y))),
    "transport along another equation": lambda: transport(y, zero, positive),
    "transport along an opposite equation": lambda: transport(y, given(y + x), positive),
    "cases of a vector": lambda: cases_zero(x, halves(x, "=")[0], halves(x, "=")[1]),
    "cases of the sign of a vector": lambda: cases_sign(x, *halves(x, ">=")),
    "cases that prove different formulas": lambda: cases_zero(a, halves(a, "=")[0], square(b)),
    "a scalar becomes a vector": lambda: instantiate(square(a), {a: x}),
    "a sum is replaced": lambda: instantiate(square(S(x)), {S(x): x}),
    "d is replaced": lambda: instantiate(dimension(), {d: term(0)}),
    "a multiple is replaced": lambda: instantiate(zero, {2 * x: y}),
    "a power is replaced": lambda: instantiate(zero, {x * x: y}),
    "a product is replaced": lambda: instantiate(zero, {x * y: y}),
    "a constant is replaced": lambda: instantiate(zero, {term(1): y}),
    "0 is replaced": lambda: instantiate(zero, {term(0): y}),
    "an inverse is replaced": lambda: instantiate(zero, {inv(x): y}),
}
"""Rules that do not apply."""

KEPT: dict[str, Attempt] = {
    "assume": lambda: given(x),
    "combine": lambda: combine(x + y, [(1, None, zero), (1, None, given(y))]),
    "combine, sum": lambda: combine(S(x * y) + d * a, [(1, y, zero), (1, 1, given(a))]),
    "cancel": lambda: cancel(y, product, nonzero),
    "inverse": lambda: inverse(nonzero),
    "inverse_sign": lambda: inverse_sign(positive),
    "square_of_root": lambda: square_of_root(nonnegative),
    "root_positive": lambda: root_positive(positive),
    "root_of_square": lambda: root_of_square(y, nonnegative, given(x * x - y)),
    "congruence": lambda: congruence("inv", x, y, given(x - y)),
    "congruence, root": lambda: congruence("sqrt", x, y, given(x - y)),
    "add, both weak": lambda: add(nonnegative, given(y, ">=")),
    "add, one strict": lambda: add(nonnegative, given(y, ">")),
    "multiply, both weak": lambda: multiply(nonnegative, given(y, ">=")),
    "multiply, weak by strict": lambda: multiply(nonnegative, given(y, ">")),
    "multiply, strict by nonzero": lambda: multiply(positive, other),
    "multiply, strict by weak": lambda: multiply(positive, given(y, ">=")),
    "weaken": lambda: weaken(positive, "!="),
    "strengthen": lambda: strengthen(nonnegative, nonzero),
    "total": lambda: total(nonnegative),
    "definite": lambda: definite(x, given(S(x * x))),
    "transport": lambda: transport(y, given(y - x), nonnegative),
    "cut": lambda: cut(add(zero2, given(y, ">=")), total(given(w + y, ">="))),
    "cut, another hypothesis": lambda: cut(square(x), add(given(x * x, ">="), given(y, ">="))),
    "instantiate": lambda: instantiate(total(nonnegative), {x: y - a}),
    "inverse_total": lambda: inverse_total(x),
    "root_nonnegative": lambda: root_nonnegative(x),
    "square": lambda: square(x),
    "others": lambda: others(x, y),
    "cases_zero": lambda: cases_zero(a, *halves(a, "=")),
    "cases_sign": lambda: cases_sign(a, *halves(a, ">=")),
    "cases, another hypothesis": lambda: cases_zero(a, *(add(half, given(y, ">=")) for half in halves(a, "="))),
    "dimension": lambda: dimension(),
    "constant": lambda: constant(2, ">"),
    "a root of a scalar leaves the sum": lambda: combine(S(sqrt(a) * x) - sqrt(a) * S(x), []),
    "5 is not a square": lambda: root_nonnegative(5 * x),
    "1/5 is not a square": lambda: root_nonnegative(x / 5),
    "constant 0": lambda: constant(0, ">="),
}
"""Each rule, well used."""
