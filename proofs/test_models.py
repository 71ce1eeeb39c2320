"""The samplers cover what hypotheses speak about: signs, zeros, repetitions, special vectors, every dimension."""

from fractions import Fraction
from random import Random

import pytest

from lngeom.kernel import equal, greater, scalar, vector

from ._shared import centered, coordinate, standard
from ._theorem import CheckError, Mutant, Source, Theorem
from .checks import (
    DIMENSIONS,
    _check,
    check_hypothesis,
    check_models,
    check_mutant,
    check_proof,
    check_truth,
    draw,
    draw_scalar,
    draw_vector,
    refuted,
    satisfied,
    search,
)

RANDOM = Random(0)
VECTORS = [draw_vector(RANDOM, d) for d in DIMENSIONS for _ in range(300)]
SCALARS = [draw_scalar(RANDOM) for _ in range(300)]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("zero component", lambda x: 0 in x and any(x)),
        ("two zero components", lambda x: x.count(0) >= 2 and any(x)),
        ("repeated component", lambda x: len(set(x)) < len(x) and len(set(x)) > 1),
        ("constant", lambda x: len(x) > 1 and len(set(x)) == 1 and any(x)),
        ("zero vector", lambda x: not any(x)),
        ("one-hot", lambda x: len(x) > 1 and sorted(map(bool, x)) == [False] * (len(x) - 1) + [True]),
        ("massive", lambda x: len(x) > 1 and max(x) > 100 * max(1, *(abs(v) for v in x[1:]))),
        ("all components nonzero", lambda x: all(x)),
        ("all positive", lambda x: min(x) > 0),
        ("negative and positive", lambda x: min(x) < 0 < max(x)),
        ("rational deviation", lambda x: sum(x) == 0 and len(set(map(abs, x))) == 1 and any(x)),
        ("fraction", lambda x: any(v.denominator > 1 for v in x)),
    ],
)
def test_vectors_of_every_kind_are_drawn(kind: str, found: object) -> None:
    assert any(found(x) for x in VECTORS), kind  # type: ignore[operator]


def test_scalars_of_every_sign_are_drawn() -> None:
    assert {(value > 0) - (value < 0) for value in SCALARS} == {-1, 0, 1}
    assert any(0 < value < 1 for value in SCALARS)


def test_search_finds_models_in_every_dimension() -> None:
    x, a = vector("x"), scalar("a")
    wanted = [greater(x * x + 1), greater(-a)]
    found = search(
        lambda random, d: draw(["x"], ["a"], random, d),
        lambda values, d: satisfied(wanted, values, d),
        seed="test",
        tries=300,
    )
    assert {d for d, _ in found} == set(DIMENSIONS)


def test_refuted_means_certainly_false() -> None:
    x = vector("x")
    assert refuted(equal(x, 1), {"x": (Fraction(1), Fraction(2))}, 2)
    assert not refuted(equal(x, 1), {"x": (Fraction(1), Fraction(1))}, 2)
    root = abs(x) * abs(x) - x * x
    # √2² − 2 is enclosed, not decided: neither satisfied nor refuted.
    assert not refuted(equal(root, 0), {"x": (Fraction(2),)}, 1)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_special_samplers_give_what_they_say(d: int) -> None:
    for seed in range(50):
        random = Random(seed)
        assert sum(centered(random, d)) == 0
        assert sorted(coordinate(random, d)) == [0] * (d - 1) + [1]
        y = standard(random, d)
        assert sum(y) == 0
        assert sum(v * v for v in y) == (d if d % 2 == 0 else 0)


def statement(**changes: object) -> Theorem:
    """A small true theorem, with changes that its checks must notice."""
    fields: dict[str, object] = {
        "id": "projection.test",
        "title": "",
        "statement": "",
        "source": Source("This project", "", ""),
        "vectors": "x",
        "scalars": "a",
        "hypotheses": {"a > 0": lambda a: greater(a)},
        "claim": lambda x, a: greater(a * x * x + a),
        "mutants": (Mutant("strictly above a", lambda x, a: greater(a * x * x)),),
    }
    return Theorem(**(fields | changes))  # type: ignore[arg-type]


def test_a_sound_theorem_passes() -> None:
    theorem = statement()
    check_proof(theorem)
    found = check_models(theorem)
    assert len({d for d, _ in found}) >= 3
    assert check_truth(theorem, found) == len(found)
    assert check_mutant(theorem, theorem.mutants[0]).dimension == 1
    assert not isinstance(check_hypothesis(theorem, "a > 0"), str)


def test_faults_of_a_theorem_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check, "TRIES", 600)  # in vain where nothing is to be found
    more = {"a > 0": lambda a: greater(a), "x = 1": lambda x: equal(x, 1)}
    with pytest.raises(CheckError, match="unused hypotheses"):
        check_proof(statement(hypotheses=more))
    with pytest.raises(CheckError, match="is not proved"):
        check_proof(statement(hypotheses={}))
    with pytest.raises(CheckError, match="undeclared hypotheses"):
        check_proof(statement(hypotheses={}, proof=lambda goal, a, x: statement().prove()))
    with pytest.raises(CheckError, match="is false at"):
        check_truth(statement(claim=lambda x, a: greater(x * x)), check_models(statement()))
    with pytest.raises(CheckError, match="no model"):
        check_models(statement(hypotheses={"a² < 0": lambda a: greater(-a * a)}))
    with pytest.raises(CheckError, match="has a proof"):
        check_mutant(statement(), Mutant("true", lambda x, a: greater(a * x * x + a + a)))
    with pytest.raises(CheckError, match="no counterexample to the mutant"):
        # True, but beyond the prover: a failed proof alone refutes nothing.
        check_mutant(statement(), Mutant("true", lambda x, a: greater(x * x * x * x - x * x + 1)))
    with pytest.raises(CheckError, match="no counterexample without"):
        check_hypothesis(statement(claim=lambda x: equal(x, x)), "a > 0")
