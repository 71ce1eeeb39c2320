"""Six norms that the library does not have, written as their authors would, and what is said of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lngeom as lg
from lngeom.kernel import (
    ProofError,
    assume as given,
    at_least,
    cauchy_schwarz,
    dim,
    dot,
    equal,
    greater,
    norm,
    prove,
    scalar,
    search,
    square_norm,
    summed,
    vector,
)
from lngeom.strategies import masks, one_hot
from lngeom.theorems import Epsilon, Scalar, Vector, assume, theorem, varies


def masked(x: Any, m: Any, eps: Any) -> Any:
    """RMSNorm by the components that a mask keeps."""
    return x / ((m * x**2).sum(-1, keepdims=True) / m.sum(-1, keepdims=True) + eps) ** 0.5


def shared(x: Any, share: Any, eps: Any) -> Any:
    """LayerNorm that takes a share of the mean away."""
    y = x - share * x.mean(-1, keepdims=True)
    return y / np.sqrt(np.mean(y**2) + eps)


def squashed(x: Any, a: Any) -> Any:
    """The inverse square root unit."""
    return a * x / np.sqrt(1.0 + a**2 * x**2)


def cosine(x: Any, y: Any) -> Any:
    """Centred cosine: a correlation."""
    x, y = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
    return dot(x, y) / (norm(x) * norm(y))


def grouped(x: Any, m: Any, eps: Any) -> Any:
    """Each of two groups, m and 1 − m, divided by its own root mean square."""
    return m * masked(x, m, eps) + (1 - m) * masked(x, 1 - m, eps)


def scaled(x: Any, size: Any) -> Any:
    """ScaleNorm: all vectors of one length."""
    return size * x / np.linalg.norm(x)


@theorem(models=lambda d: {"m": one_hot(d)})
def masked_components(x: Vector, z: Vector, m: Vector, eps: Epsilon):
    """Components that the mask drops do not count for those it keeps."""
    assume(m * m == m, "m∘m = m")
    assert m * masked(m * x + (1 - m) * z, m, eps) == m * masked(x, m, eps)


@theorem(models=lambda d: {"m": masks(d)})
def masked_length(x: Vector, m: Vector, eps: Epsilon):
    """The kept part of k components is shorter than √k."""
    assume(m * m == m, "m∘m = m")
    assume(summed(m) > 0, "k > 0")
    assume(eps > 0)
    assert square_norm(m * masked(x, m, eps)) < summed(m)


@theorem(models=lambda d: {"m": masks(d)})
def masked_sum(x: Vector, m: Vector, eps: Epsilon):
    """The sum of the k kept components stays below √(dk)."""
    assume(m * m == m, "m∘m = m")
    assume(summed(m) > 0, "k > 0")
    assume(eps > 0)
    assert dot(m, lg.rms_norm(m * x, eps=eps)) ** 2 < dim(x) * summed(m)


@theorem
def shared_mean(x: Vector, eps: Epsilon):
    """The share 1 is LayerNorm's."""
    assert shared(x, 1, eps) == lg.standardize(x, eps=eps)


@theorem
def squashed_bound(x: Vector, a: Scalar):
    """Each component stays inside (−1, 1)."""
    assert squashed(x, a) ** 2 < 1


@theorem(lemmas=lambda x, y: [cauchy_schwarz(x - summed(x) / dim(x), y - summed(y) / dim(y))])
def cosine_bound(x: Vector, y: Vector):
    """A correlation is at most 1."""
    assume(varies(x), "x is not constant", redundant="the kernel reads 1/0 as 0")
    assume(varies(y), "y is not constant", redundant="the kernel reads 1/0 as 0")
    assert cosine(x, y) ** 2 <= 1


@theorem(models=lambda d: {"m": one_hot(d)})
def grouped_shares(x: Vector, m: Vector, eps: Epsilon):
    """Inside a group the other does not count."""
    assume(m * m == m, "m∘m = m")
    assert m * grouped(x, m, eps) == m * masked(x, m, eps)


@theorem
def scaled_length(x: Vector, size: Scalar):
    """All outputs have the length that is asked for."""
    assume(square_norm(x) > 0, "x ≠ 0")
    assert square_norm(scaled(x, size)) == size**2


@theorem
def lengths_of_numpy(x: Vector):
    """Numbers without an axis are compared as statements, too."""
    assert np.dot(x, x) >= 0
    assert np.linalg.norm(x) >= 0
    assert np.vdot(x, x) == np.linalg.norm(x) ** 2


@theorem
def lengths_of_pytorch(x: Vector):
    """Functions that take one vector alone are tried on one."""
    torch = pytest.importorskip("torch")
    assert torch.dot(x, x) >= 0
    assert torch.linalg.norm(x) == torch.linalg.vector_norm(x)


@theorem
def monotone(x: Vector, y: Vector, eps: Epsilon):
    """RMSNorm turns no step by more than a right angle."""
    assert (lg.rms_norm(x, eps=eps) - lg.rms_norm(y, eps=eps)) @ (x - y) >= 0


@theorem
def convex_variance(x: Vector, y: Vector, t: Scalar):
    """The variance is convex."""
    assume(t >= 0)
    assume(t <= 1)
    assert np.var(t * x + (1 - t) * y) <= t * np.var(x) + (1 - t) * np.var(y)


@theorem
def gained(x: Vector, g: Vector, eps: Epsilon):
    """A gain lengthens by at most its own length times √d."""
    assert square_norm(g * lg.rms_norm(x, eps=eps)) <= dim(x) * square_norm(g)


@pytest.mark.parametrize(
    ("goal", "facts"),
    [
        (lambda x, y, a, t: at_least(dot(lg.rms_norm(x, eps=t) - lg.rms_norm(y, eps=t), x + y)), "t"),
        (lambda x, y, a, t: at_least(a * square_norm(x) + t * square_norm(y), dot(x, y)), "at"),
        (lambda x, y, a, t: greater(square_norm(x) + square_norm(y), 2 * dot(x, y)), ""),
        (lambda x, y, a, t: at_least(square_norm(x) * square_norm(y), dim(x) * square_norm(x * y)), ""),
    ],
)
def test_a_false_twin_is_no_combination(goal: Callable[..., Any], facts: str) -> None:
    atoms = {"x": x, "y": y, "a": a, "t": eps}
    with pytest.raises(ProofError):
        search(goal(**atoms), *(given(greater(atoms[name])) for name in facts))


x, y, a, eps = vector("x"), vector("y"), scalar("a"), scalar("eps")
FAILURES: dict[str, tuple[Callable[[], Any], str]] = {
    "a sign of a divisor": (
        lambda: prove(at_least(1, cosine_of(x, y) ** 2), given(greater(square_norm(x))), cauchy_schwarz(x, y)),
        "no proof found of",
    ),
    "a sign of a parameter": (lambda: prove(greater(a * square_norm(x) + 1)), "no proof found of"),
    "a bound of a square": (
        lambda: prove(at_least(a, dot(x, y) ** 2), given(greater(a))),
        "; what is missing may be a bound of S(x·y)²",
    ),
    "the shortest rest": (lambda: prove(greater(1, a / (square_norm(x) + 1))), ": 1 + S(x²) − a > 0 is left"),
    "an equation that raises powers": (lambda: prove(equal(a, 1), (given(equal(a * a * eps, a)), a)), "is left"),
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
