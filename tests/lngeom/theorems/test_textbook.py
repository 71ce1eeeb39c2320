from collections.abc import Callable
from fractions import Fraction
from inspect import isfunction
from typing import Any, ClassVar

import pytest

import lngeom as lg
from lngeom.prover import Effort, ExhaustedError, ProofError, assume as given, dim, dot, norm, root, search, square_norm
from lngeom.theorems import Basis, Epsilon, Mask, Scalar, Vector, assume, theorem
from lngeom.theorems.checks import check_proof, undefined_at


class Claimed:
    """The constant of the claims: 1, or one that is a hundredth too good."""

    most: ClassVar[Any] = 1


def lengths(x: Vector, v: Vector, eps: Epsilon):
    y, s = lg.rms_norm(x, eps=eps), root(square_norm(x) / dim(x) + eps)
    assert norm((v - y * dot(y, v) / dim(x)) / s) <= Claimed.most * norm(v) / s


def triangle(h: Vector, z: Vector, g: Vector, c: Scalar, eps: Epsilon):
    assume(abs(g) <= c)
    assert norm(h + lg.rms_norm(z, g, eps=eps)) <= norm(h) + Claimed.most * c * root(dim(h))


def summed(a: Vector, hi: Scalar):
    assume(a <= hi)
    assert a.sum() <= Claimed.most * dim(a) * hi


def weighted_square(p: Vector, v: Vector, c: Scalar):
    assume(p >= 0)
    assert dot(p, v * v) - 2 * c * dot(p, v) + c * c * Claimed.most * p.sum() >= 0


def weights_of_sum_one(p: Vector, v: Vector):
    assume(p >= 0)
    assume(p.sum() == 1)
    assert dot(p, v) ** 2 <= Claimed.most * dot(p, v * v)


def products(q: Vector, k: Vector, g: Vector, eps: Epsilon):
    assert abs(dot(lg.rms_norm(q, g, eps=eps), lg.rms_norm(k, eps=eps))) <= Claimed.most * dim(q) * norm(g)


def mean_square(x: Vector):
    assert abs(lg.project(x)).mean() <= Claimed.most * root(lg.moments(x)[1])


def either_sign(a: Scalar, b: Scalar, x: Vector):
    assert a * norm(x) <= Claimed.most * abs(a) * norm(x)


def component(e: Basis, x: Vector):
    assert e * x == Claimed.most * dot(e, x) * e


def largest_component(e: Basis, x: Vector):
    assert dot(e, x) ** 2 <= Claimed.most * square_norm(x)


def kept(x: Vector, m: Mask):
    assume(square_norm(m * x) > 0)
    assert Claimed.most * square_norm(x / root(square_norm(m * x) / m.sum())) >= m.sum()


def bounded_product(q: Vector, x: Vector, y: Vector, eps: Epsilon):
    step = lg.rms_norm(x, eps=eps) - lg.rms_norm(y, eps=eps)
    assert dot(lg.rms_norm(q, eps=eps), step) ** 2 <= Claimed.most * dim(q) * square_norm(step)


def other_side(x: Vector, z: Vector, eps: Epsilon):
    assert norm(x + lg.rms_norm(z, eps=eps)) >= norm(x) - Claimed.most * root(dim(x))


def along_itself(x: Vector, a: Scalar):
    assume(a >= 0)
    y = lg.rms_norm(x, eps=0)
    assert lg.rms_norm(x + a * y, eps=0) == Claimed.most * y


STEPS = [value for value in [*globals().values()] if isfunction(value) and value.__module__ == __name__]


@pytest.mark.parametrize("body", STEPS)
def test_a_step_proves_what_it_is_for_and_no_near_miss(body: Callable[..., Any], monkeypatch) -> None:
    assert check_proof(theorem(body))
    monkeypatch.setattr(Claimed, "most", Fraction(99, 100))
    near = theorem(body)
    with pytest.raises(ProofError, match="false at d = "):
        check_proof(near)
    premises = [given(condition.formula) for condition in near.conditions.values()]
    with pytest.raises((ProofError, ExhaustedError)), Effort.limited(50_000):
        search(near.goals[-1], *premises)


def both_lengths(x: Vector):
    assert norm(x) * lg.rms_norm(x, eps=0) == root(dim(x)) * x


def of_one_sign(x: Vector):
    assume(square_norm(x) > 0)
    assert norm(x) * lg.rms_norm(x, eps=0) == root(dim(x)) * x


def given_at_0_alone(x: Vector):
    assume(lg.rms_norm(x, eps=0) == 0)
    assert square_norm(x) == 0


def given_elsewhere_too(x: Vector, a: Scalar):
    assume(a / square_norm(x) == 0)
    assert a * x == 0


def test_where_the_library_divides_by_0_is_known() -> None:
    for body in (both_lengths, given_at_0_alone):
        assert str(undefined_at(theorem(body))) == "d = 1: x = (0), where the library divides by 0"
    for body in (of_one_sign, given_elsewhere_too):
        assert undefined_at(theorem(body)) is None


def test_a_bound_that_fails_in_a_long_vector_alone_is_refuted_there() -> None:
    def one_of_many(x: Vector, e: Basis):
        assert dot(e, x) ** 2 <= 100 * (x * x).mean()

    with pytest.raises(ProofError, match=r"false at d = 128: x = \(1, 0, .*, …\), e = \(1, 0, .*, …\)"):
        check_proof(theorem(one_of_many))


def test_a_hint_does_not_follow_and_the_end_of_the_search_is_told() -> None:
    def undecided(x: Vector, eps: Epsilon):
        assert x**6 - x + 1 + eps > 0

    with pytest.raises(ProofError) as failed:
        check_proof(theorem(undecided))
    assert "the search tried all that it knows (" in str(failed.value)
    assert "may be missing" not in str(failed.value)
