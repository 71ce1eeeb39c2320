from fractions import Fraction
from typing import Any

import pytest

from lngeom.prover import ProofError, S, Term, d, inv, ones, scalar, sqrt, term, vector

X, Y, A = vector("x"), vector("y"), scalar("a")


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
