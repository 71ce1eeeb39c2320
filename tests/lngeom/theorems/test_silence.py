import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy
import pytest

import lngeom as lg
from lngeom.carriers import Enclosure, Rounded
from lngeom.prover import ProofError, dim, dot, norm, ones, square_norm
from lngeom.theorems import BodyError, Scalar, Theorem, Vector, assume, nonzero, theorem, wrong
from lngeom.theorems._run import Exact, Floats


def false(x: Any) -> Any:
    """A statement that no proof has."""
    return lg.project(x) == x


def nothing(x: Vector):
    """The body is empty."""


def unasked(x: Vector):
    assert square_norm(x) >= 0
    false(x)


def unasked_alone(x: Vector):
    false(x)


def tupled(x: Vector):
    both: Any = (false(x), "a tuple is true")
    assert both


def swallowed_barely(x: Vector):
    assert square_norm(x) >= 0
    with contextlib.suppress(BaseException):
        assert false(x)


def returned_in_finally(x: Vector):
    try:
        assert false(x)
    finally:
        return  # noqa: B012


def negated(x: Vector):
    left = lg.project(x) == x
    assert not left


def branched(x: Vector):
    if false(x):
        assert square_norm(x) >= 0
    assert square_norm(x) >= 0


def one_of_two(x: Vector):
    assert false(x) or square_norm(x) >= 0


def returned(x: Vector):
    assert square_norm(x) >= 0
    return false(x)


def yielded(x: Vector) -> Iterator[Any]:
    yield false(x)


def looped(x: Vector):
    for component in x:
        assert component == 0


def counted(x: Vector):
    for k in range(len(x)):
        assert x[..., k] == 0


def component(x: Vector):
    assert x[..., 0] == x[..., 0]


def unequal_vectors(x: Vector):
    assert x + 1 != x


def a_number(x: Vector):
    assert float(square_norm(x)) >= 0


def as_condition(x: Vector):
    assert x


def compared_with_text(x: Vector):
    assert x != "a vector"


def compared_statements(x: Vector):
    assert false(x) == false(x)


def assumed_true(x: Vector):
    assume(True, "anything")
    assert square_norm(x) >= 0


def assumed_claim(x: Vector):
    assert false(x)
    assume(lg.project(x) == x, "the claim itself, too late")


def array_function(x: Vector):
    assert numpy.array_equal(lg.project(x), x)


def plain(x: Vector):
    assert square_norm(x) >= 0
    assert 1 == 2


TRICKS = [
    value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__ and callable(value)
]
TRICKS.remove(false)


@pytest.mark.parametrize("body", TRICKS, ids=lambda body: body.__name__)
@pytest.mark.filterwarnings("ignore::pytest.PytestAssertRewriteWarning")
def test_nothing_is_true_in_silence(body: Callable[..., Any]) -> None:
    tricky = theorem(body)
    with pytest.raises((BodyError, ProofError, lg.errors.LngeomError)):
        tricky.prove()


NUMBERS = [nothing, unasked, unasked_alone, tupled, swallowed_barely, returned_in_finally]
NUMBERS += [branched, returned, looped, counted, unequal_vectors, a_number, as_condition, compared_statements, plain]


@pytest.mark.parametrize("body", NUMBERS, ids=lambda body: body.__name__)
def test_nothing_is_true_in_silence_on_numbers(body: Callable[..., Any]) -> None:
    x = (Fraction(1), Fraction(3))
    for run, atom in ((Exact({"x": x}, 2), Enclosure(x)), (Floats(), Rounded.of(x))):
        with pytest.raises((BodyError, AssertionError)):
            run.execute(body, {"x": atom})


def test_a_true_body_passes_all_runs() -> None:
    @theorem
    def body(x: Vector, a: Scalar):
        assume(a != 0)
        assert dot(ones(x), a * lg.project(x)) == 0 and a * x / a == x  # noqa: PT018

    assert len(body.prove()) == 2


def test_branches_on_terms_are_those_of_every_vector() -> None:
    @theorem
    def body(x: Vector):
        if square_norm(x) >= 0:
            assert norm(lg.project(lg.project(x))) == norm(lg.project(x))
        else:
            assert norm(x) == dim(x)

    assert len(body.prove()) == 2


def test_a_statement_has_no_truth_outside_of_a_body() -> None:
    kept: list[Any] = []

    @theorem
    def body(x: Vector):
        kept.append(square_norm(x) >= 0)
        assert kept[0]

    body.prove()
    for ask in (lambda: bool(kept[0]), replace(body).prove):
        with pytest.raises(BodyError, match="no longer running"):
            ask()
    for word in (lambda: assume(True), lambda: wrong("no body", lambda: True), lambda: nonzero(1)):
        with pytest.raises(BodyError, match="in the body of a theorem only"):
            word()


def test_python_without_asserts_is_refused() -> None:
    code = "from lngeom.theorems import Vector, theorem\n@theorem\ndef t(x: Vector):\n    assert x == x\n"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=False)
    assert "python -O drops asserts" in done.stderr


def largest(x: Vector):
    assert numpy.max(x) >= 0


def matrix(x: Vector):
    assert lg.jacobian(x, eps=1) @ x == 0


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (lambda x: None, "x is not a parameter of a theorem: write x: Vector, Scalar, Epsilon, Basis or Mask"),
        (lambda: None, "asserts nothing"),
        (largest, "bound every component"),
        (matrix, "eye .* take the products of a matrix"),
    ],
)
def test_a_body_that_cannot_run_says_what_can(body: Callable[..., Any], fault: str) -> None:
    with pytest.raises((BodyError, AttributeError), match=fault):
        theorem(body).prove()


def stated(**options: Any) -> Callable[[Callable[..., Any]], Theorem]:
    return theorem("This project", "example", "says nothing", **options)


def test_wrong_variants_change_something_that_is_there() -> None:
    @stated()
    def unchanged(x: Vector):
        assert square_norm(x) >= 0
        wrong("the same again")

    @stated()
    def unknown(x: Vector):
        assert square_norm(x) >= 0
        wrong("of nothing", instead={"x ≠ 0": lambda: x == 0})

    @stated()
    def twice(x: Vector):
        assert square_norm(x) >= 0
        wrong("one", lambda: square_norm(x) > 0)
        wrong("one", lambda: square_norm(x) > 1)

    @stated()
    def more(x: Vector):
        assert square_norm(x) >= 0
        wrong("one", lambda: (false(x), square_norm(x) > 0)[1])

    for body, fault in (
        (unchanged, "changes neither"),
        (unknown, "is not assumed"),
        (twice, "two wrong variants"),
        (more, "does not state"),
    ):
        with pytest.raises(BodyError, match=fault):
            _ = body.wrongs
