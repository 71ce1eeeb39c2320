"""The second checker must be able to say no: with the kernel's own checks off, SymPy catches every false step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lngeom as lg
from lngeom import symbolic
from lngeom.symbolic import (
    S,
    Theorem,
    add,
    assume,
    at_least,
    cancel,
    combine,
    congruence,
    constant,
    cut,
    d,
    definite,
    dimension,
    dot,
    equal,
    greater,
    instantiate,
    inverse,
    multiply,
    root_of_square,
    square,
    square_of_root,
    strengthen,
    term,
    total,
    transport,
    unequal,
    vector,
    weaken,
)

from ._theorem import CheckError
from .checks import recheck

X, Y = vector("x"), vector("y")
ZERO, NONZERO, NONNEGATIVE = assume(equal(X, 0)), assume(unequal(X)), assume(at_least(X))

FALSE_STEPS: dict[str, Callable[[], Theorem]] = {
    "a combination that does not add up": lambda: combine(X + 1, [(1, None, ZERO)]),
    "a sum that is forgotten": lambda: combine(S(X * Y), [(1, None, ZERO)]),
    "a combination of an inequality": lambda: combine(X, [(1, None, NONNEGATIVE)]),
    "a factor that is not there": lambda: cancel(Y, assume(equal(X * X, 0)), NONZERO),
    "a factor that may be 0": lambda: cancel(Y, assume(equal(X * Y, 0)), NONNEGATIVE),
    "a false constant": lambda: constant(-1, ">"),
    "an inverse of 0": lambda: inverse(NONNEGATIVE),
    "a root of a negative number": lambda: square_of_root(NONZERO),
    "a root of another square": lambda: root_of_square(Y, NONNEGATIVE, assume(equal(X * X, 2 * Y))),
    "congruence of unequal terms": lambda: congruence("inv", X, Y, ZERO),
    "a sum of nonzero terms": lambda: add(NONZERO, NONZERO),
    "a product without sign": lambda: multiply(NONNEGATIVE, NONZERO),
    "a stronger relation": lambda: weaken(NONNEGATIVE, ">"),
    "two different terms": lambda: strengthen(NONNEGATIVE, assume(unequal(Y))),
    "the total of a nonzero vector": lambda: total(NONZERO),
    "a form that is not definite": lambda: definite(X, assume(equal(S(X * Y), 0))),
    "transport along another equation": lambda: transport(Y, ZERO, NONNEGATIVE),
    "a scalar that becomes a vector": lambda: instantiate(
        assume(greater(symbolic.scalar("a") * S(X))), {symbolic.scalar("a"): X}
    ),
}


@pytest.mark.parametrize("name", FALSE_STEPS)
def test_false_steps_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("lngeom.symbolic._kernel._require", lambda condition, rule: None)
        theorem = FALSE_STEPS[name]()
    with pytest.raises(CheckError, match="SymPy does not confirm"):
        recheck(theorem)


def test_a_false_step_deep_in_a_proof_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("lngeom.symbolic._kernel._require", lambda condition, rule: None)
        false = combine(X + 1, [(1, None, ZERO)])
    with pytest.raises(CheckError, match="'combine'"):
        recheck(add(square(Y), weaken(combine((X + 1) * 2, [(2, None, false)]), ">=")))


def test_true_steps_pass() -> None:
    eps = symbolic.scalar("eps")
    theorem = symbolic.prove(
        greater(d - S(lg.standardize(X, eps=eps) ** 2)),
        assume(greater(eps)),
        remainder=d * eps / (lg.moments(X)[1] + eps),
    )
    assert recheck(theorem) > 10
    assert recheck(cut(dimension(), add(assume(at_least(d - 1)), square(X)))) == 5
    assert recheck(instantiate(square(X - Y), {X: term(2) * Y})) == 2


def test_sums_inside_roots_and_inverses_are_read_to_their_atoms() -> None:
    root = symbolic.root(dot(X, X) + symbolic.scalar("eps"))
    theorem = instantiate(assume(greater(root)), {X: X + symbolic.scalar("c")})
    assert recheck(theorem) == 2
