"""Norms that the library does not have, written as their authors would, and what is said of them."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

import lngeom as lg
from lngeom import prover as sy
from lngeom.prover import ProofError, at_least, dim, dot, equal, greater, norm, root, search, square_norm
from lngeom.strategies import masks
from lngeom.theorems import Basis, Epsilon, Mask, Vector, assume, checks, theorem
from tests.support import python

x, y, z, a, b, eps = *map(sy.vector, "xyz"), sy.scalar("a"), sy.scalar("b"), sy.scalar("eps")


def masked(x: Any, m: Any, eps: Any) -> Any:
    """RMSNorm by the components that a mask keeps."""
    return x / ((m * x**2).sum(-1, keepdims=True) / m.sum(-1, keepdims=True) + eps) ** 0.5


def grouped(x: Any, m: Any, eps: Any) -> Any:
    """Each of two groups, m and 1 − m, divided by its own root mean square."""
    return m * masked(x, m, eps) + (1 - m) * masked(x, 1 - m, eps)


@theorem(models=lambda d: {"m": masks(d)})
def masked_length(x: Vector, m: Vector, eps: Epsilon):
    """The kept part of k components is shorter than √k."""
    assume(m * m == m, "m∘m = m")
    assume(sy.summed(m) > 0, "k > 0")
    assume(eps > 0)
    assert square_norm(m * masked(x, m, eps)) < sy.summed(m)


@theorem
def grouped_length(x: Vector, m: Mask, eps: Epsilon):
    """Both groups together stay shorter than √d."""
    assume(m.sum() > 0, redundant="of an empty group the output is 0")
    assume(m.sum() < dim(x), redundant="of an empty group the output is 0")
    assert square_norm(grouped(x, m, eps)) < dim(x)


@theorem
def own_slope(x: Vector, e: Basis, eps: Epsilon):
    """Each output of RMSNorm grows with its own input."""
    assert dot(e, lg.derivatives.jacobian_product(x, e, eps=eps, centered=False)) > 0


@theorem
def gained(x: Vector, g: Vector, eps: Epsilon):
    """A gain lengthens by at most its own length times √d."""
    assert square_norm(g * lg.rms_norm(x, eps=eps)) <= dim(x) * square_norm(g)


@theorem
def fixed(x: Vector, eps: Epsilon):
    """What RMSNorm takes a third of has the mean square 9/4 − ε; small models are found where chance finds few."""
    assume(square_norm(x) > 0, "x ≠ 0")
    assume(3 * lg.rms_norm(x, eps=eps) == 2 * x, "3 RMS(x) = 2x")
    assert eps < 9 / 4


_LN, _RMS, _INSIDE = lg.layer_norm(x, eps=eps), lg.rms_norm(x, eps=eps), square_norm(x) / dim(x) + eps
FOUND = {
    "after an assert of equal normal forms": (
        at_least(root(dim(x)) * norm(x), dot(_RMS, x)),
        [greater(eps), equal(lg.project(x), lg.project(lg.project(x)))],
    ),
    "the triangle from the other side": (at_least(norm(x - 2 * z), norm(x - y) - norm(y - 2 * z)), []),
    "a gain between numbers": (at_least(a * norm(y), norm(x * y)), [at_least(x), at_least(a, x)]),
    "Popoviciu": (at_least(b - a, 2 * root(lg.moments(x)[1])), [at_least(x, a), at_least(b, x)]),
    "one norm after the other": (
        equal(lg.rms_norm(_RMS, eps=a), lg.rms_norm(x, eps=a * _INSIDE)),
        [greater(eps), greater(a)],
    ),
    "a cosine": (
        equal(dot(_LN, y) / norm(_LN), dot(lg.project(x), y) / norm(lg.project(x))),
        [greater(eps), greater(lg.moments(x)[1])],
    ),
    "a sign by an equation": (greater(2 + eps, a), [greater(square_norm(x)), equal(square_norm(x) + a, 2 + eps)]),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_search_finds(name: str) -> None:
    goal, facts = FOUND[name]
    assert search(goal, *map(sy.assume, facts))


_SEARCHED = """
import hashlib, lngeom as lg
from lngeom.proofs import find
from lngeom.prover import *
from lngeom.prover import Effort, Table, steps
x, g, eps = vector("x"), vector("g"), scalar("eps")
goal = at_least(dim(x) * square_norm(g), square_norm(g * lg.rms_norm(x, eps=eps)))
print(hashlib.sha256(repr(steps(search(goal, assume(greater(eps))), Table())).encode()).hexdigest(), Effort.terms)
print(find("jacobian.lipschitz").certificates()[-1]["sha256"])  # whose hypotheses are where a term occurs first
"""


def test_no_proof_depends_on_how_a_process_hashes_strings() -> None:
    seeds = ({**os.environ, "PYTHONHASHSEED": seed} for seed in "04")
    one, other = (python("-c", _SEARCHED, env=env, check=True).stdout for env in seeds)
    assert one == other


def test_a_search_ends_by_what_it_did_and_not_by_its_time(monkeypatch) -> None:
    monkeypatch.setattr(checks, "TERMS", 1000)
    with pytest.raises(ProofError, match=r"ended at its limit of 1000 terms \(. cases, 0 products"):
        checks.check_proof(gained)
    monkeypatch.undo()
    monkeypatch.setattr(time, "process_time", lambda: pytest.fail("a search looks at the clock"))
    assert checks.check_proof(gained)


FAILURES: dict[str, tuple[Callable[[], Any], str]] = {
    "a sign of a divisor": (
        lambda: sy.prove(
            at_least(1, cosine_of(x, y) ** 2), sy.assume(greater(square_norm(x))), sy.cauchy_schwarz(x, y)
        ),
        "no proof found of",
    ),
    "a sign of a parameter": (lambda: sy.prove(greater(a * square_norm(x) + 1)), "no proof found of"),
    "a bound of a square": (
        lambda: sy.prove(at_least(a, dot(x, y) ** 2), sy.assume(greater(a))),
        "; a bound of this may be missing: S(x·y)²",
    ),
    "the shortest rest": (lambda: sy.prove(greater(1, a / (square_norm(x) + 1))), ": 1 + S(x²) − a > 0 is left"),
    "an equation that raises powers": (lambda: sy.prove(equal(a, 1), (sy.assume(equal(a * a * eps, a)), a)), "is left"),
}


def cosine_of(v: Any, w: Any) -> Any:
    return dot(v, w) / (norm(v) * norm(w))


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_says_what_is_left_and_what_is_missing(name: str) -> None:
    attempt, message = FAILURES[name]
    with pytest.raises(ProofError) as failed:
        attempt()
    assert message in str(failed.value)
    assert len(str(failed.value)) < 400
