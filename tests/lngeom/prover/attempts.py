"""Attempts at the prover's rules: rules misused, which must conclude nothing, and rules well used."""

# pyright: reportArgumentType=false, reportOptionalMemberAccess=false

from collections.abc import Callable
from functools import partial
from typing import Any

from lngeom import prover as sy

x, y, w, a, b = sy.vector("x"), sy.vector("y"), sy.vector("w"), sy.scalar("a"), sy.scalar("b")


def given(t, relation="="):
    return sy.assume(sy.Formula(t, relation))


zero, nonzero, positive, nonnegative = given(x), given(x, "!="), given(x, ">"), given(x, ">=")
other, product, negative = given(y, "!="), given(x * y), given(-x, ">")


def atom(kind, content):
    return sy.Term({(((kind, content.pairs), 1),): 1})


zero2 = given(w, ">=")


def halves(t, relation):
    """t² >= 0 from t = 0 and from t != 0, or from t >= 0 and from −t > 0."""
    if relation == "=":
        one, other = sy.combine(t * t, [(t, None, given(t))]), sy.multiply(given(t, "!="), given(t, "!="))
        return sy.weaken(one, ">="), sy.weaken(sy.strengthen(sy.square(t), other), ">=")
    one, other = given(t, ">="), given(-t, ">")
    return sy.multiply(one, one), sy.weaken(sy.multiply(other, other), ">=")


Attempt = Callable[[], Any]

SIGNS = ("=", ">=", ">", "!=")
PREMISES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "a combination of": ("=", lambda r: sy.combine(x, [(1, None, given(x, r))])),
    "cancelling in": ("=", lambda r: sy.cancel(y, given(x * y, r), nonzero)),
    "cancelling with": ("> !=", lambda r: sy.cancel(y, product, given(x, r))),
    "the inverse from": ("> !=", lambda r: sy.inverse(given(x, r))),
    "the root from": (">= >", lambda r: sy.square_of_root(given(x, r))),
    "a positive root from": (">", lambda r: sy.root_positive(given(x, r))),
    "a root of another square,": ("=", lambda r: sy.root_of_square(y, nonnegative, given(x * x - y, r))),
    "a root of a square from": (">= >", lambda r: sy.root_of_square(y, given(x, r), given(x * x - y))),
    "congruence along": ("=", lambda r: sy.congruence("sqrt", x, y, given(x - y, r))),
    "a sum of": (">= >", lambda r: sy.add(given(x, r), nonnegative)),
    "a sum with": (">= >", lambda r: sy.add(positive, given(x, r))),
    "a product of": (">= > !=", lambda r: sy.multiply(given(x, r), positive)),
    "a product with": (">= > !=", lambda r: sy.multiply(positive, given(x, r))),
    "strengthening": (">=", lambda r: sy.strengthen(given(x, r), nonzero)),
    "strengthening by": ("!=", lambda r: sy.strengthen(nonnegative, given(x, r))),
    "the total of": (">= >", lambda r: sy.total(given(x, r))),
    "a definite form": ("=", lambda r: sy.definite(x, given(sy.S(x * x), r))),
    "transport along": ("=", lambda r: sy.transport(y, given(y - x, r), zero)),
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
    **{" to ".join(pair): partial(lambda old, new: sy.weaken(given(x, old), new), *pair) for pair in sorted(STRONGER)},
    "false constant": lambda: sy.constant(0, ">"),
    "a false sign of a constant": lambda: sy.constant(-1, ">="),
    "false equation of constants": lambda: sy.constant(1, "="),
    "0 is not unequal to 0": lambda: sy.constant(0, "!="),
    "a vector as a constant": lambda: sy.constant(x, "!="),
    "d as a constant": lambda: sy.constant(sy.d, "="),
    "unknown relation": lambda: sy.assume(sy.Formula(x, "<")),
    "no relation": lambda: sy.assume(sy.Formula(x, None)),
    "a combination that does not add up": lambda: sy.combine(x, [(y, None, zero)]),
    "a root of 2 that is 0": lambda: sy.combine(sy.sqrt(2), []),
    "a combination of nothing": lambda: sy.combine(x, []),
    "a sum that is forgotten": lambda: sy.combine(sy.S(x * y), [(1, None, zero)]),
    "a sum of a sum": lambda: sy.combine(sy.S(x), [(1, 1, given(sy.S(x)))]),
    "cancelling another factor": lambda: sy.cancel(y, product, other),
    "cancelling with the other sign": lambda: sy.cancel(-y, product, nonzero),
    "a root of another square": lambda: sy.root_of_square(y, nonnegative, given(x * x - w)),
    "a root of minus the square": lambda: sy.root_of_square(y, nonnegative, given(x * x + y)),
    "congruence of unequal terms": lambda: sy.congruence("inv", x, y, zero),
    "congruence of opposite terms": lambda: sy.congruence("sqrt", x, y, given(x + y)),
    "congruence of another function": lambda: sy.congruence("S", x, 0, zero),
    "a product of nonnegative and nonzero": lambda: sy.multiply(nonnegative, other),
    "a product of nonzero and nonnegative": lambda: sy.multiply(other, nonnegative),
    "strengthening with another term": lambda: sy.strengthen(nonnegative, other),
    "strengthening with the opposite term": lambda: sy.strengthen(nonnegative, given(-x, "!=")),
    "a definite form of another vector": lambda: sy.definite(y, given(sy.S(x * x))),
    "a definite form of a product": lambda: sy.definite(x, given(sy.S(x * y))),
    "transport along another equation": lambda: sy.transport(y, zero, positive),
    "transport along an opposite equation": lambda: sy.transport(y, given(y + x), positive),
    "cases of a vector": lambda: sy.cases_zero(x, halves(x, "=")[0], halves(x, "=")[1]),
    "cases of the sign of a vector": lambda: sy.cases_sign(x, *halves(x, ">=")),
    "cases that prove different formulas": lambda: sy.cases_zero(a, halves(a, "=")[0], sy.square(b)),
    "a scalar becomes a vector": lambda: sy.instantiate(sy.square(a), {a: x}),
    "a sum is replaced": lambda: sy.instantiate(sy.square(sy.S(x)), {sy.S(x): x}),
    "d is replaced": lambda: sy.instantiate(sy.dimension(), {sy.d: sy.term(0)}),
    "a multiple is replaced": lambda: sy.instantiate(zero, {2 * x: y}),
    "a power is replaced": lambda: sy.instantiate(zero, {x * x: y}),
    "a product is replaced": lambda: sy.instantiate(zero, {x * y: y}),
    "a constant is replaced": lambda: sy.instantiate(zero, {sy.term(1): y}),
    "0 is replaced": lambda: sy.instantiate(zero, {sy.term(0): y}),
    "an inverse is replaced": lambda: sy.instantiate(zero, {sy.inv(x): y}),
}
"""Rules that do not apply."""

KEPT: dict[str, Attempt] = {
    "assume": lambda: given(x),
    "combine": lambda: sy.combine(x + y, [(1, None, zero), (1, None, given(y))]),
    "combine, sum": lambda: sy.combine(sy.S(x * y) + sy.d * a, [(1, y, zero), (1, 1, given(a))]),
    "cancel": lambda: sy.cancel(y, product, nonzero),
    "inverse": lambda: sy.inverse(nonzero),
    "inverse_sign": lambda: sy.inverse_sign(positive),
    "square_of_root": lambda: sy.square_of_root(nonnegative),
    "root_positive": lambda: sy.root_positive(positive),
    "root_of_square": lambda: sy.root_of_square(y, nonnegative, given(x * x - y)),
    "congruence": lambda: sy.congruence("inv", x, y, given(x - y)),
    "congruence, root": lambda: sy.congruence("sqrt", x, y, given(x - y)),
    "add, both weak": lambda: sy.add(nonnegative, given(y, ">=")),
    "add, one strict": lambda: sy.add(nonnegative, given(y, ">")),
    "multiply, both weak": lambda: sy.multiply(nonnegative, given(y, ">=")),
    "multiply, weak by strict": lambda: sy.multiply(nonnegative, given(y, ">")),
    "multiply, strict by nonzero": lambda: sy.multiply(positive, other),
    "multiply, strict by weak": lambda: sy.multiply(positive, given(y, ">=")),
    "weaken": lambda: sy.weaken(positive, "!="),
    "strengthen": lambda: sy.strengthen(nonnegative, nonzero),
    "total": lambda: sy.total(nonnegative),
    "definite": lambda: sy.definite(x, given(sy.S(x * x))),
    "transport": lambda: sy.transport(y, given(y - x), nonnegative),
    "cut": lambda: sy.cut(sy.add(zero2, given(y, ">=")), sy.total(given(w + y, ">="))),
    "cut, another hypothesis": lambda: sy.cut(sy.square(x), sy.add(given(x * x, ">="), given(y, ">="))),
    "instantiate": lambda: sy.instantiate(sy.total(nonnegative), {x: y - a}),
    "inverse_total": lambda: sy.inverse_total(x),
    "root_nonnegative": lambda: sy.root_nonnegative(x),
    "square": lambda: sy.square(x),
    "others": lambda: sy.others(x, y),
    "cases_zero": lambda: sy.cases_zero(a, *halves(a, "=")),
    "cases_sign": lambda: sy.cases_sign(a, *halves(a, ">=")),
    "cases, another hypothesis": lambda: sy.cases_zero(a, *(sy.add(half, given(y, ">=")) for half in halves(a, "="))),
    "dimension": lambda: sy.dimension(),
    "constant": lambda: sy.constant(2, ">"),
    "a root of a scalar leaves the sum": lambda: sy.combine(sy.S(sy.sqrt(a) * x) - sy.sqrt(a) * sy.S(x), []),
    "5 is not a square": lambda: sy.root_nonnegative(5 * x),
    "1/5 is not a square": lambda: sy.root_nonnegative(x / 5),
    "constant 0": lambda: sy.constant(0, ">="),
}
"""Each rule, well used."""
