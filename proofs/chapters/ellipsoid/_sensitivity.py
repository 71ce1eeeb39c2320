"""How much the axes move when the gains do."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from lngeom.symbolic import (
    Formula,
    Theorem as Proved,
    at_least,
    combine,
    derivative,
    equal,
    greater,
    inverse,
    multiply,
    ones,
    prove,
    square,
    strengthen,
    summed,
    total,
    transport,
    unequal,
)

from ..._sources import OWN
from ..._steps import product
from ..._theorem import Mutant, Source, Theorem
from ...checks import draw_scalar


def root_model(random: Random, d: int) -> dict[str, Any]:
    """A root λ of the secular equation of positive a: poles in pairs around it; and a change within κa."""
    lam, gap = Fraction(random.choice((3, 5))), Fraction(random.choice((1, 2)))
    a = tuple(lam + gap * (-1) ** i for i in range(d))
    kappa = abs(draw_scalar(random)) or Fraction(1, 2)
    v = tuple(kappa * value * random.choice((-1, 0, 1)) / 2 for value in a)
    return {"a": a, "lam": lam, "v": v, "c": kappa}


def weights(a: Any, lam: Any) -> Any:
    """W = 1/(a − λ)²."""
    return (1 / (a - lam)) ** 2


def slope(a: Any, v: Any, lam: Any) -> Any:
    """Σw_i v_i/Σw_i, by how much the root moves when a moves along v."""
    return summed(weights(a, lam) * v) / summed(weights(a, lam))


def _mass(off: Proved, a: Any, lam: Any) -> Proved:
    """Σw > 0, because no component of a is λ."""
    squares = strengthen(square(1 / (a - lam)), prove(unequal((1 / (a - lam)) ** 2), off))
    return total(squares)


def _implicit(goal: Formula, given: list[Proved], a: Any, v: Any, lam: Any) -> Proved:
    """The derivative along (v, ν) is Σw(ν − v), and νΣw = Σwv."""
    return prove(goal, inverse(_mass(given[0], a, lam)))


def _balance(goal: Formula, given: list[Proved], a: Any, lam: Any) -> Proved:
    """Σwa − λΣw = Σw(a − λ) = Σ1/(a − λ) = 0."""
    off, root = given
    inverted = inverse(off)
    # w(a − λ) − 1/(a − λ) = (1/(a − λ))·((a − λ)/(a − λ) − 1)
    return combine(goal.term, [(1, 1 / (a - lam), inverted), (1, None, root)])


def _within(goal: Formula, given: list[Proved], a: Any, v: Any, lam: Any, c: Any) -> Proved:
    """(κλ − ν) = Σw(κa − v)/Σw."""
    off, root, near = given
    mass = _mass(off, a, lam)
    balance = _balance(equal(summed(weights(a, lam) * a), lam * summed(weights(a, lam))), [off, root], a, lam)
    change = total(multiply(square(1 / (a - lam)), near))
    scaled = product(change, prove(greater(1 / mass.conclusion.term), mass))
    moved = [(-c / mass.conclusion.term, None, balance), (-c * lam, None, inverse(mass))]
    return transport(goal.term, combine(goal.term - scaled.conclusion.term, moved), scaled)


OFF = {"a_i ≠ λ": lambda a, lam: unequal(a - lam)}
ROOT = {"Σ 1/(a_i − λ) = 0": lambda a, lam: equal(summed(1 / (a - lam)), 0)}

THEOREMS = (
    Theorem(
        id="ellipsoid.axis_derivative",
        title="A squared semi-axis moves by a weighted mean of the changes of the squared gains",
        statement="Σ1/(a_i − λ) is constant to first order along (v, ν) with ν = Σw_i v_i/Σw_i, w = 1/(a − λ)²",
        source=Source(OWN, "principal axes", "implicit differentiation of the secular equation, a = g²"),
        vectors="a v",
        scalars="lam",
        hypotheses=OFF,
        claim=lambda a, v, lam: equal(derivative(lambda u: summed(1 / u), a - lam, v - slope(a, v, lam)), 0),
        proof=_implicit,
        model=root_model,
        without={"a_i ≠ λ": "where a_i = λ the kernel reads 1/0 as 0 and leaves that component out"},
        last_step="The root λ(a) of the secular equation between two poles is a differentiable function of a.",
        cites=("implicit function theorem",),
        mutants=(
            Mutant(
                "the plain mean of the changes",
                lambda a, v, lam: equal(
                    derivative(lambda u: summed(1 / u), a - lam, v - summed(v) / summed(ones(v))), 0
                ),
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.axis_balance",
        title="A squared semi-axis is that weighted mean of the squared gains: its condition number is 1",
        statement="Σw_i a_i = λΣw_i where Σ1/(a_i − λ) = 0, so that Σ a_i(∂λ/∂a_i) = λ",
        source=Source(OWN, "principal axes", "relative changes of squared gains are not magnified"),
        vectors="a",
        scalars="lam",
        hypotheses=OFF | ROOT,
        claim=lambda a, lam: equal(summed(weights(a, lam) * a), lam * summed(weights(a, lam))),
        proof=_balance,
        model=root_model,
        without={"a_i ≠ λ": "where a_i = λ the kernel reads 1/0 as 0 and leaves that component out on both sides"},
        mutants=(
            Mutant(
                "with the weights 1/(a − λ)", lambda a, lam: equal(summed(a / (a - lam)), lam * summed(1 / (a - lam)))
            ),
        ),
    ),
    Theorem(
        id="ellipsoid.axis_sensitivity",
        title="If no squared gain changes by more than a factor, no squared semi-axis does, to first order",
        statement="ν ≤ κλ for v_i ≤ κa_i, ν = Σw_i v_i/Σw_i and Σ1/(a_i − λ) = 0",
        source=Source(OWN, "principal axes", "the condition number 2√d is one for the poles, not for gains"),
        vectors="a v",
        scalars="lam c",
        hypotheses=OFF | ROOT | {"v_i ≤ κa_i": lambda a, v, c: at_least(c * a - v)},
        claim=lambda a, v, lam, c: at_least(c * lam - slope(a, v, lam)),
        proof=_within,
        model=root_model,
        without={
            "a_i ≠ λ": "where a_i = λ the kernel reads 1/0 as 0 and leaves that component out on both sides",
            "v_i ≤ κa_i": lambda random, d: (m := root_model(random, d)) | {"v": tuple(9 * m["c"] * x for x in m["a"])},
        },
        mutants=(
            Mutant(
                "half of it",
                lambda a, v, lam, c: at_least(c * lam / 2 - slope(a, v, lam)),
                model=lambda random, d: (m := root_model(random, d)) | {"v": tuple(m["c"] * x for x in m["a"])},
            ),
        ),
    ),
)
