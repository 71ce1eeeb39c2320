from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy
import pytest

import lngeom as lg
from lngeom import prover as sy

X, V, G, EPS = sy.vector("x"), sy.vector("v"), sy.vector("g"), sy.scalar("eps")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lg.layer_norm(x, eps=0.1),
        lambda x: lg.rms_norm(x, eps=0.1),
        lambda x: lg.layer_norm(x, eps=0.1, placement="outside"),
        lambda x: lg.epsilon.relative_radius(x, eps=0.1),
        lambda x: 2 / (x * x + 3) - x * x * x,
        lambda x: sy.norm(x) * sy.ones(x) / sy.dim(x),
    ],
)
def test_derivative_is_that_of_automatic_differentiation(function: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch", reason="the oracle is PyTorch's derivative")
    random = numpy.random.default_rng(0)
    x, v = (torch.from_numpy(random.normal(size=7)) for _ in range(2))
    _, expected = torch.autograd.functional.jvp(function, x, v)
    derivative = sy.derivative(function, x, v)
    # Both compute the same sums of 7 terms of size 1 in another order: a hundred roundings at most.
    assert torch.max(torch.abs(torch.as_tensor(derivative) - expected)) < 100 * 2.0**-52


def test_derivative_of_terms_is_formal() -> None:
    assert sy.derivative(lambda x: x * x * G, X, V) == X * V * G * 2
    assert sy.derivative(lambda x: 1 / x, X, V) == -V * sy.inv(X) * sy.inv(X)
    assert sy.derivative(lambda x: sy.dot(x, x), X, V) == sy.dot(X, V) * 2
    nested = sy.derivative(lambda x: x * sy.derivative(lambda s: x + s, G, sy.ones(G)), X, V)
    assert nested == V  # the inner derivative is 1, whatever moves outside of it
    assert (
        sy.derivative(lambda x: sy.sqrt(x) if x is X else x.__array_namespace__().sqrt(x), X, V)
        == V * sy.inv(sy.sqrt(X)) / 2
    )


def test_trace_of_terms_is_the_trace_of_the_operator() -> None:
    operators: list[Callable[[Any, Any, Any], Any]] = [
        lambda v, g, b: lg.project(v),
        lambda v, g, b: g * lg.project(g * v),
        lambda v, g, b: g * sy.summed(b * v) - sy.summed(v) * b * b + v,
    ]
    random = numpy.random.default_rng(2)
    g, b = random.integers(-3, 4, size=4).astype(float), random.integers(-3, 4, size=4).astype(float)
    values = {"g": [Fraction(v) for v in g], "b": [Fraction(v) for v in b]}
    for operator in operators:
        t = sy.trace(lambda v, operator=operator: operator(v, G, sy.vector("b")), X)
        matrix = numpy.array([operator(e, g, b) for e in numpy.eye(4)]).T
        (value, *_) = sy.evaluate(t, values, 4)
        # Integers and quarters below 2⁵³: no rounding.
        assert float(value) == numpy.trace(matrix)  # type: ignore[arg-type]


def test_text_uses_the_notation_of_the_derivations() -> None:
    assert sy.text(lg.moments(X)[1]) == "−S(x)²/d² + S(x²)/d"
    assert sy.text(sy.vector("x2") - sy.vector("y_")) == "x₂ − y′"
    assert sy.formula(sy.greater(EPS)) == "ε > 0"
    assert sy.text(sy.inv(X + 1) / 2 + sy.sqrt(EPS)) == "1/2·inv(1 + x) + √(ε)"
    assert sy.sequent(sy.assume(sy.equal(X, 0))) == "x = 0 ⊢ x = 0"


def test_different_terms_never_print_alike() -> None:
    names = ("x", "x1", "x_1", "x1_", "a", "d", "eps", "S", "x_", "x__", "inv")
    terms = [make(name) for name in names for make in (sy.vector, sy.scalar)]
    terms += [sy.dim(X), sy.ones(X), EPS * 0 + 1, X * 0, EPS * 0, sy.inv(X), X / sy.dim(X)]
    terms += [sy.summed(X), sy.summed(X) * sy.ones(X)]
    assert len({sy.text(t) for t in terms}) == len(terms)


def test_a_printer_keeps_the_order_of_operations() -> None:
    table = sy.Table()
    x, y = (sy.recording(table)(name, True) for name in "xy")
    texts = {
        x + (y + x): "x + (y + x)",
        x - y - (x - y): "x − y − (x − y)",
        x * y * (x * y): "x·y·(x·y)",
        x / (y * x) / y: "x/(y·x)/y",
        (x + y) ** 2 * -x: "(x + y)²·(−x)",
        (x * y) ** -1: "inv(x·y)",
        2 * x + Fraction(-1, 2) * y: "2·x − 1/2·y",
    }
    assert {each: sy.Text(table.nodes).part(each.place) for each in texts} == texts
