import subprocess
import sys
import textwrap
from collections.abc import Callable
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


TRUE = "assert square_norm(x) >= 0\n"
ON_NUMBERS = {
    "nothing": "pass",
    "unasked": f"{TRUE}false(x)",
    "unasked alone": "false(x)",
    "a tuple": "both = (false(x), 'a tuple is true')\nassert both",
    "swallowed": f"{TRUE}try:\n assert false(x)\nexcept BaseException:\n pass",
    "returned in finally": "try:\n assert false(x)\nfinally:\n return",
    "branched": f"if false(x):\n {TRUE}{TRUE}",
    "returned": f"{TRUE}return false(x)",
    "looped": "for component in x:\n assert component == 0",
    "counted": "for k in range(len(x)):\n assert x[..., k] == 0",
    "unequal vectors": "assert x + 1 != x",
    "a number": "assert float(square_norm(x)) >= 0",
    "as condition": "assert x",
    "compared statements": "assert false(x) == false(x)",
    "plain": f"{TRUE}assert 1 == 2",
}
"""Bodies that are no theorem, on terms and on numbers."""

TRICKS = ON_NUMBERS | {
    "negated": "left = false(x)\nassert not left",
    "one of two": "assert false(x) or square_norm(x) >= 0",
    "yielded": "yield false(x)",
    "a component": "assert x[..., 0] == x[..., 0]",
    "compared with text": "assert x != 'a vector'",
    "assumed true": f"assume(True, 'anything')\n{TRUE}",
    "assumed claim": "assert false(x)\nassume(false(x), 'the claim itself, too late')",
    "array function": "assert numpy.array_equal(lg.project(x), x)",
}
"""Also those that only a run on terms refuses."""


def body_of(text: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(compile(f"def body(x: Vector):\n{textwrap.indent(text, ' ')}", __file__, "exec"), globals(), names)
    return names["body"]


@pytest.mark.filterwarnings("ignore:assertion is always true:SyntaxWarning")
@pytest.mark.parametrize("name", TRICKS)
def test_nothing_is_true_in_silence(name: str) -> None:
    tricky = theorem(body_of(TRICKS[name]))
    with pytest.raises((BodyError, ProofError, lg.errors.LngeomError)):
        tricky.prove()


@pytest.mark.parametrize("name", ON_NUMBERS)
def test_nothing_is_true_in_silence_on_numbers(name: str) -> None:
    x = (Fraction(1), Fraction(3))
    for run, atom in ((Exact({"x": x}, 2), Enclosure(x)), (Floats(), Rounded.of(x))):
        with pytest.raises((BodyError, AssertionError)):
            run.execute(body_of(ON_NUMBERS[name]), {"x": atom})


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
