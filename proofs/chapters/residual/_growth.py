"""What the blocks add up to, and how the norm of the stream grows or shrinks."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import lngeom as lg
from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    combine,
    congruence,
    dim,
    dot,
    equal,
    greater,
    norm,
    ones,
    prove,
    root,
    square_norm,
)

from ..._sources import DIGEST, GUPTA, OWN
from ..._steps import as_sum, product, sum_of_squares
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_vector


def _sum(*vectors: Any) -> tuple[Any, ...]:
    return tuple(map(sum, zip(*vectors, strict=True)))


def stream_model(random: Random, d: int) -> dict[str, Any]:
    """Two blocks of a residual stream: h1 = h0 + a1 + m1, h2 = h1 + a2 + m2."""
    values: dict[str, Any] = {name: draw_vector(random, d) for name in ("h0", "a0", "m0", "a1", "m1", "a2", "m2")}
    values["h1"] = _sum(values["h0"], values["a1"], values["m1"])
    values["h2"] = _sum(values["h1"], values["a2"], values["m2"])
    return values


def orthogonal_model(random: Random, d: int) -> dict[str, Any]:
    """A state and an increment orthogonal to it."""
    h, a = draw_vector(random, d), draw_vector(random, d)
    square = sum(value * value for value in h)
    along = sum(p * q for p, q in zip(h, a, strict=True)) / square if square else Fraction(0)
    return {"h": h, "a": tuple(q - along * p for p, q in zip(h, a, strict=True))}


def _triangle(goal: Formula, given: list[Proved], h: Any, a: Any) -> Proved:
    """(‖h‖ + ‖a‖)² − ‖h + a‖² = ‖ ‖a‖h − ‖h‖a ‖²/(‖h‖‖a‖)."""
    first, second = given
    inverse = product(prove(greater(1 / norm(h)), first), prove(greater(1 / norm(a)), second))
    return as_sum(goal, [product(sum_of_squares(norm(a) * h - norm(h) * a), inverse)], first, second)


def same_output(goal: Formula, centered: Proved, h: Any, h2: Any, g: Any, eps: Any) -> Proved:
    """From Πh′ = Πh: LN(h′) = LN(h), because variance and root are those of Πh."""
    after, before = lg.moments(h2)[1] + eps, lg.moments(h)[1] + eps
    # σ²(h′) − σ²(h) = (Πh′ − Πh)·(h′ + h)/d
    same = combine(after - before, [(1 / dim(h), h2 + h, centered)])
    roots = congruence("sqrt", after, before, same)
    inverses = congruence("inv", root(after), root(before), roots)
    return combine(goal.term, [(g * lg.project(h2), None, inverses), (g / root(before), None, centered)])


def _unseen(goal: Formula, given: list[Proved], h: Any, a: Any, g: Any, eps: Any) -> Proved:
    centered = prove(equal(lg.project(h + a), lg.project(h)), *given)
    return same_output(goal, centered, h, h + a, g, eps)


BLOCKS = {
    "h¹ = h⁰ + a¹ + m¹": lambda h0, h1, a1, m1: equal(h1, h0 + a1 + m1),
    "h² = h¹ + a² + m²": lambda h1, h2, a2, m2: equal(h2, h1 + a2 + m2),
}

THEOREMS = (
    Theorem(
        id="residual.sum",
        title="The state after l blocks is the embedding plus all that blocks 1 to l have written",
        statement="h² = h⁰ + (a¹ + m¹) + (a² + m²)",
        source=Source(GUPTA, "eq. 17", "sums from i = 0, with undefined a⁰ and m⁰"),
        vectors="h0 h1 h2 a1 m1 a2 m2",
        hypotheses=BLOCKS,
        claim=lambda h0, h2, a1, m1, a2, m2: equal(h2, h0 + (a1 + m1) + (a2 + m2)),
        proof=lambda goal, given, h1, h2: prove(goal, (given[0], h1), (given[1], h2)),
        last_step="By induction for any number l of blocks: hˡ = h⁰ + Σ_{i=1}^{l} (aⁱ + mⁱ).",
        model=stream_model,
        mutants=(
            Mutant(
                "one block, summed from i = 0: a⁰ and m⁰ are those of h⁰",
                lambda h0, h1, a1, m1: equal(h1, h0 + (h0 + h0) + (a1 + m1)),
                model=stream_model,
            ),
            Mutant("sum up to l − 1", lambda h0, h2, a1, m1: equal(h2, h0 + (a1 + m1)), model=stream_model),
        ),
    ),
    Theorem(
        id="residual.orthogonal_growth",
        title="Orthogonal increments add their squared norms",
        statement="h·a = 0 implies ‖h + a‖² = ‖h‖² + ‖a‖²",
        source=Source(DIGEST, "pre-norm", "the stream accumulates freely and grows as O(√(Ld))"),
        vectors="h a",
        hypotheses={"h·a = 0": lambda h, a: equal(dot(h, a), 0)},
        claim=lambda h, a: equal(square_norm(h + a), square_norm(h) + square_norm(a)),
        model=orthogonal_model,
        remark="In expectation, with E[h·a] = 0: uncorrelated increments give E‖h_l‖² = ‖h_0‖² + ΣE‖Δ_i‖².",
        mutants=(
            Mutant("norms add", lambda h, a: equal(norm(h + a), norm(h) + norm(a))),
            Mutant("without orthogonality", hypotheses={}),
        ),
    ),
    Theorem(
        id="residual.growth_only_if",
        title="Squared norms add only for orthogonal increments",
        statement="‖h + a‖² = ‖h‖² + ‖a‖² implies h·a = 0",
        source=Source(OWN, "residual stream", "the growth law is equivalent to uncorrelated increments"),
        vectors="h a",
        hypotheses={"‖h + a‖² = ‖h‖² + ‖a‖²": lambda h, a: equal(square_norm(h + a), square_norm(h) + square_norm(a))},
        claim=lambda h, a: equal(dot(h, a), 0),
        model=orthogonal_model,
        mutants=(Mutant("one of them is 0", lambda h, a: equal(square_norm(h) * square_norm(a), 0)),),
    ),
    Theorem(
        id="residual.worst_growth",
        title="The norm grows at most by the norm of the increment",
        statement="‖h + a‖² ≤ (‖h‖ + ‖a‖)²",
        source=Source(OWN, "residual stream", "aligned increments give growth linear in depth, not as its root"),
        vectors="h a",
        hypotheses={"h ≠ 0": lambda h: greater(square_norm(h)), "a ≠ 0": lambda a: greater(square_norm(a))},
        claim=lambda h, a: at_least((norm(h) + norm(a)) ** 2, square_norm(h + a)),
        proof=_triangle,
        without={"h ≠ 0": "for h = 0 both sides are ‖a‖²", "a ≠ 0": "for a = 0 both sides are ‖h‖²"},
        mutants=(
            Mutant(
                "‖h‖² + ‖a‖² as the bound", lambda h, a: at_least(square_norm(h) + square_norm(a), square_norm(h + a))
            ),
        ),
    ),
    Theorem(
        id="residual.shrinking",
        title="A block can shrink the stream: summation does not force growth",
        statement="‖h + a‖² < ‖h‖² for a = −ch with 0 < c < 2 and h ≠ 0",
        source=Source(GUPTA, "appendix A.1", "continuous summation leads to an increasing norm"),
        vectors="h",
        scalars="c",
        hypotheses={
            "c > 0": lambda c: greater(c),
            "c < 2": lambda c: greater(2 - c),
            "h ≠ 0": lambda h: greater(square_norm(h)),
        },
        claim=lambda h, c: greater(square_norm(h), square_norm(h + -c * h)),
        proof=lambda goal, given: as_sum(goal, [product(*given)]),
        mutants=(Mutant("the norm never decreases", lambda h, c: at_least(square_norm(h + -c * h), square_norm(h))),),
    ),
    Theorem(
        id="residual.invisible_growth",
        title="Growth along 1 is invisible to every LayerNorm that reads the stream",
        statement="‖h + c1‖² = ‖h‖² + 2cdμ + c²d while LN_ε(h + c1) = LN_ε(h)",
        source=Source(GUPTA, "appendix A.1", "takes the growth of the norm as the need for normalization"),
        vectors="h",
        scalars="c eps",
        claim=lambda h, c, eps: equal(
            square_norm(h + c * ones(h)) * lg.standardize(h + c * ones(h), eps=eps),
            (square_norm(h) + 2 * c * dim(h) * lg.moments(h)[0] + c**2 * dim(h)) * lg.standardize(h, eps=eps),
        ),
        mutants=(
            Mutant(
                "growth along h is invisible too, at every ε",
                lambda h, c, eps: equal(lg.standardize(h + c**2 * h, eps=eps), lg.standardize(h, eps=eps)),
            ),
        ),
    ),
    Theorem(
        id="residual.parallel_block",
        title="A parallel block reads before the attention has written; a sequential one reads after",
        statement="LN_ε(h + a) = LN_ε(h) for Πa = 0",
        source=Source(GUPTA, "eqs. 12-16", "give the sequential block for most decoder-only models"),
        vectors="h a g b",
        scalars="eps",
        hypotheses={"Πa = 0": lambda a: equal(lg.project(a), 0)},
        claim=lambda h, a, g, b, eps: equal(lg.layer_norm(h + a, g, b, eps=eps), lg.layer_norm(h, g, b, eps=eps)),
        proof=_unseen,
        model=lambda random, d: {
            "h": draw_vector(random, d),
            "a": draw_vector(random, d)[:1] * d,
            "g": draw_vector(random, d),
            "b": draw_vector(random, d),
            "eps": Fraction(random.randint(0, 3), 2),
        },
        mutants=(
            Mutant("for every attention output, as if sequential and parallel blocks were the same", hypotheses={}),
        ),
    ),
)
