import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lngeom.proofs import theorems
from lngeom.prover import ProofError
from lngeom.theorems import CheckError, Theorem
from lngeom.theorems._run import Wrong
from lngeom.theorems._search import Search

CALLS = 1_000_000
"""Calls of functions without a proof, after which none is expected: three times what the longest of all takes."""

HELPS = ("own_proof", "lemmas", "remainder")


class TooLongError(Exception):
    """No proof was found in the calls that there are."""


@contextmanager
def limited(calls: int) -> Iterator[None]:
    """A run of so many calls at most: steps are counted and not seconds, so that the machine's load decides nothing."""
    count = itertools.count()

    def seen(_frame: object, event: str, _argument: object) -> None:
        if event == "call" and next(count) > calls:
            raise TooLongError

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize(
    ("stated", "help"),
    [(theorem, help) for theorem in theorems() for help in HELPS if getattr(theorem, help)],
    ids=lambda value: getattr(value, "id", value),
)
def test_a_proof_needs_its_help(stated: Theorem, help: str, monkeypatch) -> None:
    def short_only(self: Theorem, goal: object, facts: object, earlier: object, error: ProofError) -> None:
        raise error  # what the long search would find takes more steps, and other certificates

    monkeypatch.setattr(stated, help, None)
    monkeypatch.setattr(Theorem, "_searched", short_only)
    with pytest.raises((ProofError, CheckError, TooLongError)), limited(CALLS):
        stated.prove()


@pytest.mark.parametrize(
    ("stated", "label"),
    [(theorem, label) for theorem in theorems() for label in theorem.without],
    ids=lambda value: getattr(value, "id", value),
)
def test_the_necessity_of_a_hypothesis_needs_its_models(stated: Theorem, label: str) -> None:
    rest = {name: condition for name, condition in stated.hypotheses.items() if name != label}
    search = Search(stated.kinds, Wrong(label, tuple(stated.goals), rest), (), stated.hypotheses[label].formula)
    assert search.small(total=True) is None, "the search of small models finds a counterexample without help"
