import linecache
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy  # noqa: F401
import pytest

import lngeom as lg
from lngeom.carriers import Enclosure, Rounded
from lngeom.prover import ProofError, dot, ones, root, square_norm  # noqa: F401
from lngeom.theorems import BodyError, Scalar, Vector, assume, nonzero, theorem, wrong
from lngeom.theorems._run import Exact, Floats
from lngeom.theorems.checks import line_of
from tests.support import python


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
    "yielded": "yield false(x)",
    "a component": "assert x[..., 0] == x[..., 0]",
    "compared with text": "assert x != 'a vector'",
    "assumed true": f"assume(True, 'anything')\n{TRUE}",
    "array function": "assert numpy.array_equal(lg.project(x), x)",
}
"""Also those that only a run on terms refuses."""


def body_of(text: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    text, file = f"def body(x: Vector, c: Scalar):\n{textwrap.indent(text, ' ')}", f"<{text}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), globals(), names)
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
            run.execute(body_of(ON_NUMBERS[name]), {"x": atom, "c": atom})


def test_a_true_body_passes_all_runs() -> None:
    @theorem
    def body(x: Vector, a: Scalar):
        assume(a != 0)
        assert dot(ones(x), a * lg.project(x)) == 0 and a * x / a == x  # noqa: PT018

    assert len(body.prove()) == 2


class Own(int):
    def __ge__(self, other: object) -> bool:
        return True


REFUSED = {
    "assert false(x) or c * c >= 0": "assert each statement as it is",
    "left = false(x)\nassert not left": "assert each statement as it is",
    "assert (0 if false(x) else 1) * x == x": "assert each statement as it is",
    "if false(x): assert x == x": "assume one case",
    f"{TRUE}match c:\n case 2:  # here\n  assert c > 0": "assume one case",
    "assume(-1 <= c <= 1)  # here\nassert c >= -1": "write two",
    "assume(c > 0 and c < 1)  # here\nassert c > 0": "write two",
    f"{TRUE}wrong('inside', lambda: -1 < c < 1)": "write two",
    "assert max(c, 1) >= 1": "such as max or sorted",
    "assert c > 0\nassume(c > 0)": "after an assert",
    f"{TRUE}assert Own(-5) >= c": "compares no values",
    "assert c * c >= Own(5)": "write a plain number",
    f"{TRUE}assert isinstance(c, object)": "compares no values",
    f"{TRUE}def never():\n assert c < 0": "never reached",
    f"{TRUE}return\nassert c < 0": "never reached",
    "y, m = x, x.mean()\ny -= m  # here\nassert y + m == x": "under all of its names",
    "assert numpy.array([1.0, 2.0]) * x == x": "write a vector as a parameter",
    "assert root(2) * c == c": "root(2 + 0 * c)",
}
"""Bodies, and why they are refused: in the line marked so, else in the last one."""


@pytest.mark.parametrize("text", REFUSED)
def test_what_reads_otherwise_than_it_runs_is_refused_with_its_line(text: str) -> None:
    odd = theorem(body_of(text))
    with pytest.raises((BodyError, lg.errors.InputError), match=re.escape(REFUSED[text])) as refused:
        _ = odd.wrongs
    assert line_of(odd, refused.value) == 2 + text.partition("  # here")[0].count("\n")


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
    done = python("-O", "-c", code)
    assert "python -O drops asserts" in done.stderr


CANNOT = {
    "assert x.max() >= 0": "bound every component",
    "assert lg.jacobian(x, eps=1) @ x == 0": "eye .* take the products of a matrix",
    f"{TRUE}wrong('the same again')": "changes neither",
    f"{TRUE}wrong('of nothing', instead={{'x ≠ 0': lambda: x == 0}})": "is not assumed",
    f"{TRUE}wrong('one', lambda: c > 0)\nwrong('one', lambda: c > 1)": "two wrong variants",
    f"{TRUE}wrong('one', lambda: (false(x), c > 0)[1])": "does not state",
}
BODIES = [(body_of(text), fault) for text, fault in CANNOT.items()] + [
    (lambda x: None, "x is not a parameter of a theorem: write x: Vector, Scalar, Epsilon, Basis or Mask"),
    (lambda: None, "asserts nothing"),
]


@pytest.mark.parametrize(("body", "fault"), BODIES)
def test_a_body_that_cannot_run_says_what_can(body: Callable[..., Any], fault: str) -> None:
    with pytest.raises((BodyError, AttributeError), match=fault):
        _ = theorem(body).wrongs
