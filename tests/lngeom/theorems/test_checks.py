import re
from typing import Any

import numpy
import pytest

import lngeom as lg
from lngeom.proofs import find
from lngeom.prover import ProofError, root, square_norm
from lngeom.theorems import BodyError, CheckError, Epsilon, Scalar, Vector, _search, assume, theorem, wrong
from lngeom.theorems.checks import check_examples, check_proof, check_without, check_wrong, checks


@theorem("This project", "example", "a square times a positive number is positive")
def sound(x: Vector, a: Scalar):
    """A square times a positive number, and the number.

    ax² + a > 0

    Last step: Nothing is left to say.

    Cites: arithmetic; the order of the reals

    Remark: It is an
    example.
    """
    assume(a > 0)
    assert a * x * x + a > 0
    wrong("strictly above a", lambda: a * x * x > 0)


def test_what_is_written_is_what_is_said() -> None:
    assert (sound.id, sound.title) == ("test_checks.sound", "A square times a positive number, and the number")
    assert (sound.statement, sound.last_step, sound.remark) == (
        "ax² + a > 0",
        "Nothing is left to say.",
        "It is an example.",
    )
    assert sound.cites == ("arithmetic", "the order of the reals")
    assert (list(sound.hypotheses), list(sound.wrongs), sound.kind) == (["a > 0"], ["strictly above a"], "theorem")
    assert str(sound.source) == "This project, example"
    with pytest.raises(BodyError, match="kind is 'lema'"):
        theorem(kind="lema")(sound.body)


def test_a_sound_theorem_passes() -> None:
    names = [name for name, check in checks(sound) if check() is not None]
    assert names == ["proof", "examples", "wrong: strictly above a", "without: a > 0"]
    counts = check_examples(sound)
    assert counts.models >= 8
    assert len(counts.dimensions) >= 3
    assert check_wrong(sound, "strictly above a").dimension == 1


def test_faults_of_a_theorem_are_seen() -> None:
    @theorem
    def unused(x: Vector, a: Scalar):
        assume(a > 0)
        assert x * x >= 0

    @theorem
    def unproved(x: Vector, a: Scalar):
        assert a * x * x + a > 0

    @theorem(proof=lambda goal, x, a: sound.prove()[0])
    def undeclared(x: Vector, a: Scalar):
        assert a * x * x + a > 0

    @theorem(proof=lambda goal, given, x, a: sound.prove()[0])
    def another(x: Vector, a: Scalar):
        assume(a > 0)
        assert a * x * x > 0

    for body, kind, fault in (
        (undeclared, CheckError, "undeclared hypotheses"),
        (unproved, ProofError, "false at d = 1: x = .*, a = "),
        (another, ProofError, "which is not the goal"),
    ):
        with pytest.raises(kind, match=fault):
            check_proof(body)
    (proved,) = unused.prove()
    assert proved.hypotheses == {unused.hypotheses["a > 0"].formula}
    with pytest.raises(CheckError, match="no counterexample without 'a > 0'"):
        check_without(unused, "a > 0")


def test_a_failed_proof_says_what_examples_show() -> None:
    @theorem
    def false(x: Vector):
        assert square_norm(x) > 0

    @theorem
    def even(x: Vector, a: Scalar):  # at x = 0 true
        assume(a != 0)
        assert lg.rms_norm(a * x, eps=0) == lg.rms_norm(x, eps=0)

    for claim, smallest in ((false, "x = (0)"), (even, "x = (1), a = -1")):
        with pytest.raises(ProofError) as failed:
            check_proof(claim)
        where, there = str(failed.value).splitlines()
        assert where == f"false at d = 1: {smallest}"
        assert there.startswith("there ")
        assert failed.value.__notes__[0].startswith("as normal forms: no proof found")


def test_a_hypothesis_without_models_and_a_false_claim_are_seen() -> None:
    @theorem
    def vacuous(a: Scalar):
        assume(-a * a > 0, "a² < 0")
        assert a == 1

    @theorem
    def false(x: Vector):
        assume(square_norm(x) > 0, "x ≠ 0")
        assert x * x > 0

    with pytest.raises(CheckError, match="0 exact models of the hypotheses"):
        check_examples(vacuous)
    with pytest.raises(AssertionError) as failed:
        check_examples(false)
    assert re.fullmatch(r"false at d = \d: x = \(.*0.*\)", failed.value.__notes__[-1])


def test_wrong_variants_and_hypotheses_need_counterexamples(monkeypatch) -> None:
    @theorem
    def body(x: Vector, a: Scalar):
        assume(a > 0)
        assert a * x * x + a > 0
        wrong("true", lambda: a * x * x + a + a > 0)
        wrong("true, but beyond the prover", lambda: x**6 - x + 1 > 0)
        wrong("said where it is true", lambda: x == a, at={"a": 1, "x": (1, 1)})
        wrong("said", lambda: x == a, at={"a": 1, "x": (1, 0)})

    @theorem
    def needless(x: Vector, a: Scalar):
        assume(a > 0)
        assert x == x

    monkeypatch.setattr(_search, "TRIES", 50)  # the claims are true: no search finds more
    with pytest.raises(CheckError, match="has a proof"):
        check_wrong(body, "true")
    with pytest.raises(CheckError, match="no counterexample to the wrong variant"):
        check_wrong(body, "true, but beyond the prover")
    with pytest.raises(CheckError, match=r"d = 2: x = \(1, 1\), a = 1 is not a counterexample"):
        check_wrong(body, "said where it is true")
    assert str(check_wrong(body, "said")) == "d = 2: x = (1, 0), a = 1"
    with pytest.raises(CheckError, match="no counterexample without"):
        check_without(needless, "a > 0")


def test_no_floats_that_break_a_hypothesis_are_measured() -> None:
    @theorem
    def body(a: Scalar, b: Scalar):
        assume(a * b > 0)
        assert a / b > 0

    counts = check_examples(body)
    assert counts.measured == counts.models


def test_floats_beside_the_usual_range_show_a_fault(monkeypatch) -> None:
    spread = lg.projection.spread

    def divided_once(x: Any, unit: Any) -> Any:  # σ²/u in place of σ²/u²
        parts, variance = spread(x, unit)
        return parts, variance if unit is None else variance * unit

    monkeypatch.setattr(lg.projection, "spread", divided_once)
    with pytest.raises((AssertionError, CheckError)):
        _ = [check_examples(find(id)) for id in ("projection.pythagoras_moments", "rmsnorm.angle")]


def test_floats_without_a_bound_are_no_check() -> None:
    @theorem
    def body(x: Vector):
        assume(square_norm(x) == 0, "x = 0")
        assert x / square_norm(x) == x / square_norm(x)

    with pytest.raises(CheckError, match="divides by 0 at every example"):
        check_examples(body)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda x: numpy.var(x, ddof=1), "no proof found"),
        (lambda x: x.sum(dim=-1), "unexpected keyword argument"),
        (lambda x: numpy.mean(x, axis=0), "mean along axis 0"),
        (lambda x: numpy.cumsum(x), "cumsum does not run on vectors of every dimension"),
        (lambda x: numpy.add.reduce(x), "add.reduce does not run"),
        (lambda x: x.d, "the dimension is dim"),
        (lambda x: (x == 0).any(), "assert each as it is, without any"),
        (lambda x: numpy.any(x == 0), "assert each as it is, without any"),
        (lambda x: (x == 0) & (x == 1), "assert each as it is, without any"),
    ],
)
def test_what_has_no_meaning_in_every_dimension_is_refused(write: Any, said: str) -> None:
    @theorem
    def body(x: Vector):
        assert write(x) + 0 * x == lg.moments(x)[1] + 0 * x

    with pytest.raises((BodyError, AttributeError, TypeError, ProofError), match=said):
        body.prove()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.var(-1, keepdims=True),
        lambda x: numpy.std(x) ** 2,
        lambda x: numpy.square(x).mean(-1) - numpy.mean(x) ** 2,
        lambda x: numpy.linalg.norm(x - x.sum() / x.shape[-1]) ** 2 / x.size,
    ],
)
def test_functions_of_numpy_state_theorems(write: Any) -> None:
    @theorem
    def body(x: Vector):
        assert write(x) + 0 * x == lg.moments(x)[1] + 0 * x

    assert all(check() is not None for _, check in checks(body))


def test_a_multiple_of_eps_that_is_compared_with_0_replaces_its_sign() -> None:
    def signs(condition: Any) -> list[str]:
        def body(eps: Epsilon):
            assume(condition(eps))
            assert eps * eps >= 0

        return [formula.relation for formula in theorem(body).implied]

    assert signs(lambda eps: 2 * eps >= 0) == signs(lambda eps: eps >= 0) == signs(lambda eps: eps + 1 >= 1) == [">="]
    assert signs(lambda eps: eps >= -1) == signs(lambda eps: eps * eps >= 0) == [">"]


def test_what_is_false_by_little_or_by_convention_says_so() -> None:
    @theorem
    def little(c: Scalar):
        assert (0.1 + 0.2) * c == 0.3 * c

    @theorem
    def below(c: Scalar):
        assert root(c) ** 2 == c

    @theorem
    def by_text(c: Scalar):
        assert c * c >= (str(c) != "c") * c

    for check, body, said in (
        (check_proof, little, "-0.6 = -0.6, which differ by 1.11e-16, is false"),
        (check_proof, below, "the root of a negative number"),
        (check_examples, by_text, "term and library differ"),
    ):
        with pytest.raises((ProofError, CheckError), match=said):
            check(body)


def test_numbers_of_numpy_are_numbers() -> None:
    @theorem
    def body(c: Scalar):
        assert numpy.int64(2) * c + numpy.sqrt(4) * c == 4 * c

    assert body.prove()
