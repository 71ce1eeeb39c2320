"""The words that statements are made of: derivative, trace, and readable text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest

import lngeom as lg
from lngeom.symbolic import (
    ProofError,
    assume,
    certificate,
    derivative,
    dim,
    dot,
    equal,
    evaluate,
    formula,
    greater,
    inv,
    norm,
    ones,
    prove,
    scalar,
    sequent,
    sqrt,
    summed,
    text,
    trace,
    vector,
)

X, V, G, EPS = vector("x"), vector("v"), vector("g"), scalar("eps")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lg.layer_norm(x, eps=0.1),
        lambda x: lg.rms_norm(x, eps=0.1),
        lambda x: lg.layer_norm(x, eps=0.1, placement="outside"),
        lambda x: lg.gauge(x, eps=0.1),
        lambda x: 2 / (x * x + 3) - x * x * x,
        lambda x: norm(x) * ones(x) / dim(x),
    ],
)
def test_derivative_is_that_of_automatic_differentiation(function: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch", reason="the oracle is PyTorch's derivative")
    random = numpy.random.default_rng(0)
    x, v = (torch.from_numpy(random.normal(size=7)) for _ in range(2))
    _, expected = torch.autograd.functional.jvp(function, x, v)
    found = derivative(function, x, v)
    # Both compute the same sums of 7 terms of size 1 in another order: a hundred roundings at most.
    assert torch.max(torch.abs(torch.as_tensor(found) - expected)) < 100 * 2.0**-52


def test_derivative_of_terms_is_formal() -> None:
    assert derivative(lambda x: x * x * G, X, V) == X * V * G * 2
    assert derivative(lambda x: 1 / x, X, V) == -V * inv(X) * inv(X)
    assert derivative(lambda x: dot(x, x), X, V) == dot(X, V) * 2
    assert derivative(lambda x: sqrt(x) if x is X else x.__array_namespace__().sqrt(x), X, V) == V * inv(sqrt(X)) / 2


def test_trace_is_the_sum_of_the_diagonal() -> None:
    random = numpy.random.default_rng(1)
    matrix = random.normal(size=(5, 5))
    # An operator on lists of coordinates: the diagonal is read off coordinate vectors.
    # Products with coordinate vectors are exact; the two sums of five numbers may differ in their order.
    slack = 2 * 4 * 2.0**-53 * float(numpy.abs(numpy.diag(matrix)).sum())
    assert abs(trace(lambda v: matrix @ v, random.normal(size=5)).item() - numpy.trace(matrix)) <= slack


def test_trace_of_terms_is_the_trace_of_the_operator() -> None:
    operators: list[Callable[[Any, Any, Any], Any]] = [
        lambda v, g, b: lg.project(v),
        lambda v, g, b: g * lg.project(g * v),
        lambda v, g, b: g * summed(b * v) - summed(v) * b * b + v,
    ]
    random = numpy.random.default_rng(2)
    g, b = random.integers(-3, 4, size=4).astype(float), random.integers(-3, 4, size=4).astype(float)
    values = {"g": [Fraction(v) for v in g], "b": [Fraction(v) for v in b]}
    for operator in operators:
        t = trace(lambda v, operator=operator: operator(v, G, vector("b")), X)
        matrix = numpy.array([operator(e, g, b) for e in numpy.eye(4)]).T
        (found, *_) = evaluate(t, values, 4)
        # Integers and quarters below 2⁵³: no rounding.
        assert float(found) == numpy.trace(matrix)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "operator",
    [
        lambda v: v * v,
        lambda v: G + v,
        lambda v: summed(v) * v,
        lambda v: v * inv(v),
        lambda v: norm(v) * v,
        lambda v: G * summed(v * inv(v)),
    ],
)
def test_trace_refuses_what_is_not_linear(operator: Callable[[Any], Any]) -> None:
    with pytest.raises(ProofError, match="not linear"):
        trace(operator, X)


def test_text_uses_the_notation_of_the_derivations() -> None:
    assert text(lg.moments(X)[1]) == "−S(x)²/d² + S(x²)/d"
    assert text(vector("x2") - vector("y_")) == "x₂ − y′"
    assert formula(greater(EPS)) == "ε > 0"
    assert text(inv(X + 1) / 2 + sqrt(EPS)) == "1/2·inv(1 + x) + √(ε)"
    assert sequent(assume(equal(X, 0))) == "x = 0 ⊢ x = 0"


def test_different_terms_never_print_alike() -> None:
    names = ("x", "x1", "x_1", "x1_", "a", "d", "eps", "S", "x_", "x__", "inv")
    terms = [make(name) for name in names for make in (vector, scalar)]
    terms += [dim(X), ones(X), EPS * 0 + 1, X * 0, EPS * 0, summed(X), summed(X) * ones(X), inv(X), X / dim(X)]
    assert len({text(t) for t in terms}) == len(terms)


def test_a_certificate_lists_premises_first_and_each_statement_once() -> None:
    theorem = prove(equal(norm(lg.standardize(X, eps=0)) ** 2, dim(X)), assume(greater(lg.moments(X)[1])))
    lines = [line for line in certificate(theorem) if "[" in line]
    statements = [line.split("    [")[0].split(". ", 1)[1] for line in lines]
    assert len(set(statements)) == len(statements)
    for number, line in enumerate(lines, start=1):
        cited = [
            int(part.split(")")[0]) for part in line.split("    [")[1].split("(")[1:] if part.split(")")[0].isdigit()
        ]
        assert all(premise < number for premise in cited)
