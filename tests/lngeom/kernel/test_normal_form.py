"""Audit of the terms: the normal form of a term means what the expression meant, in every dimension."""

from fractions import Fraction
from operator import add, mul, sub
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, example, given, strategies as st

from lngeom.carriers import Interval, UndecidedError
from lngeom.kernel import ProofError, S, Term, d, ends, evaluate, inv, ones, scalar, sqrt, substitute, term, vector

X, Y, A = vector("x"), vector("y"), scalar("a")


class Node(NamedTuple):
    """An expression, kept as a tree so that its meaning does not depend on the kernel."""

    name: str
    children: tuple[Any, ...] = ()


LEAVES = [Node(name) for name in ("x", "y", "a", "d", "1", "-2", "1/3", "0")]


def trees(*operations: str) -> st.SearchStrategy[Node]:
    """Random expressions of the given operations."""
    binary = [name for name in operations if name in "+-*"]
    unary = [name for name in operations if name not in binary]

    def grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        pairs = st.tuples(st.sampled_from(binary), st.tuples(inner, inner))
        single = st.tuples(st.sampled_from(unary), st.tuples(inner))
        return st.one_of(pairs, pairs, single).map(lambda made: Node(*made))

    return st.recursive(st.sampled_from(LEAVES), grow, max_leaves=8)


POLYNOMIALS = trees("+", "-", "*", "S")
EXPRESSIONS = trees("+", "-", "*", "S", "inv", "sqrt")

OPERATIONS: dict[str, Any] = {"+": add, "-": sub, "*": mul, "S": S, "inv": inv, "sqrt": sqrt}


def as_term(node: Node) -> Term:
    """The expression as the kernel normalizes it."""
    named = {"x": X, "y": Y, "a": A, "d": d}
    if node.name in named:
        return named[node.name]
    if not node.children:
        return term(Fraction(node.name))
    return OPERATIONS[node.name](*map(as_term, node.children))


def is_vector(node: Node) -> bool:
    """Whether arrays of this expression would have the shape (d,) and not (1,)."""
    return node.name in ("x", "y") or (node.name != "S" and any(map(is_vector, node.children)))


def meaning(node: Node, values: dict[str, Any], n: int) -> list[Any]:
    """The components of the expression by school arithmetic: an oracle that knows no normal form."""
    if node.name in ("x", "y"):
        return list(values[node.name])
    if not node.children:
        named = {"a": values["a"], "d": Fraction(n)}
        return [named[node.name] if node.name in named else Fraction(node.name)] * n
    parts = [meaning(child, values, n) for child in node.children]
    if node.name == "S" and not is_vector(node.children[0]):
        return parts[0]  # one component
    if node.name == "S":
        return [sum(parts[0], start=Fraction(0))] * n
    if node.name == "inv":
        return [_inverse(value) for value in parts[0]]
    if node.name == "sqrt":
        return [_root(value) for value in parts[0]]
    return list(map(OPERATIONS[node.name], *parts))


def _inverse(value: Any) -> Any:
    return Fraction(0) if ends(value) == (0, 0) else 1 / value


def _root(value: Any) -> Any:
    low, high = ends(value)
    return Interval(max(low, Fraction(0)), max(high, Fraction(0))).sqrt()


def model(seed: int, n: int, size: int = 4) -> dict[str, Any]:
    """Rational values of the atoms."""
    random = Random(f"{seed}/{n}")

    def number() -> Fraction:
        return Fraction(random.randint(-size, size), random.choice((1, 1, 2, 3)))

    return {"x": [number() for _ in range(n)], "y": [number() for _ in range(n)], "a": number()}


@given(EXPRESSIONS, st.integers(0, 10**6), st.integers(1, 8))
@example(Node("inv", (Node("-", (Node("x"), Node("x"))),)), 0, 3)
@example(Node("sqrt", (Node("-2"),)), 0, 2)
@example(Node("inv", (Node("-", (Node("d"), Node("*", (Node("d"), Node("d"))))),)), 0, 1)
def test_normal_form_means_what_the_expression_means(node: Node, seed: int, n: int) -> None:
    values = model(seed, n)
    try:
        expected = meaning(node, values, n)
        evaluated = evaluate(as_term(node), values, n)
    except UndecidedError:
        assume(False)
        raise
    for left, right in zip(expected, evaluated, strict=True):
        (low, high), (bottom, top) = ends(left), ends(right)
        # Exact values are compared exactly, enclosures must meet.
        assert low <= top
        assert bottom <= high


@given(POLYNOMIALS, POLYNOMIALS, st.integers(0, 10**6))
def test_polynomials_equal_in_all_dimensions_have_one_normal_form(left: Node, right: Node, seed: int) -> None:
    """Completeness: power sums are independent, so a nonzero normal form is nonzero somewhere."""
    difference = as_term(left) - as_term(right)
    zero = all(
        set(evaluate(difference, model(seed + k, n, size=10**6), n)) == {Fraction(0)}
        for k in range(2)
        for n in (1, 2, 3, 5, 8, 13)
    )
    assert zero == (not difference)


@given(EXPRESSIONS, POLYNOMIALS, st.integers(0, 10**6), st.integers(1, 6))
def test_substitution_means_evaluation_at_the_replacement(node: Node, new: Node, seed: int, n: int) -> None:
    values = model(seed, n)
    t, replacement = as_term(node), as_term(new)
    inner = values | {"x": evaluate(replacement, values, n)}
    try:
        left, right = evaluate(substitute(t, {X: replacement}), values, n), evaluate(t, inner, n)
    except UndecidedError:
        assume(False)
        raise
    for p, q in zip(left, right, strict=True):
        assert ends(p)[0] <= ends(q)[1]
        assert ends(q)[0] <= ends(p)[1]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (S(X + Y), S(X) + S(Y)),
        (S(A * X), A * S(X)),
        (S(ones(X)), d),
        (S(S(X)), S(X)),
        (S(A), A),
        (S(S(X) * Y), S(X) * S(Y)),
        (inv(d) * d, term(1)),
        (inv(X * Y), inv(X) * inv(Y)),
        (inv(inv(X + Y)), X + Y),
        (inv(X * 3 - d * 3), inv(X - d) / 3),
        (sqrt(X * Fraction(4, 9)), sqrt(X) * Fraction(2, 3)),
        (sqrt(term(-4)), term(0)),
        (abs(X), sqrt(X * X)),
        (X**3 / d, X * X * X * inv(d)),
    ],
)
def test_laws_of_the_normal_form(left: Term, right: Term) -> None:
    assert left == right


@pytest.mark.parametrize(("left", "right"), [(X * inv(X), term(1)), (S(X) * S(Y), S(X * Y)), (sqrt(X * X), X)])
def test_what_is_no_law_is_not_in_the_normal_form(left: Term, right: Term) -> None:
    assert left != right


@pytest.mark.parametrize("value", [0.5, "x", None, 1j])
def test_terms_take_exact_numbers_only(value: Any) -> None:
    with pytest.raises(ProofError, match="neither term nor integer nor fraction"):
        _ = X + value


def test_sums_run_along_the_last_axis_only() -> None:
    with pytest.raises(ProofError, match="axis 0"):
        X.__array_namespace__().sum(X, axis=0)


def test_terms_are_read_only() -> None:
    with pytest.raises(TypeError):
        X[0] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        X.value = 1  # type: ignore[attr-defined]
    with pytest.raises(IndexError):
        _ = X[0]
