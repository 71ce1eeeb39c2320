import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

from lngeom import standardize
from lngeom.carriers import Enclosure, Interval
from lngeom.cli import main
from lngeom.errors import InputError
from lngeom.proofs import _registry
from lngeom.proofs.claims import DOCUMENTS, Claim, as_text, case, claims, document_of, explanation, find, ledger, select
from lngeom.proofs.claims.case import Counterexample, agree
from lngeom.proofs.claims.texts import _claim, examples
from lngeom.prover import root
from lngeom.theorems import CheckError, Scalar, assume, theorem, wrong as wrong_variant
from lngeom.verdicts import CLAIM_VERDICTS, Verdict
from tests.support import refused, said

CLAIMS = claims()
EXAMPLES = list({claim.counterexample.name: claim.counterexample for claim in CLAIMS if claim.counterexample}.values())
PROVED = [(claim, id) for claim in CLAIMS for id in claim.theorems]


def name(value: Any) -> str:
    return getattr(value, "id", None) or getattr(value, "name", None) or str(value)


IN_FULL = 5
"""So many documents, the first, were at hand in full, and each of their claims is quoted."""


def test_every_document_has_claims_of_its_own() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    for k, document in enumerate(DOCUMENTS):
        ids = [claim.id for claim in select(document=document.key)]
        assert ids
        assert {id.rpartition(".")[0] for id in ids} == {document.key}
        numbers = [int(id.rpartition(".")[2]) for id in ids]
        assert numbers == sorted(set(numbers))  # a withdrawn claim leaves a gap: ids stay
        unquoted = [claim for claim in select(document=document.key) if not claim.quote]
        assert k >= IN_FULL or not unquoted
        told = [claim.id for claim in select(document=document.key) if claim.told_by]
        assert not ("read in full" in document.reference and told)
        assert set(told) <= {claim.id for claim in unquoted}


@pytest.mark.parametrize("claim", CLAIMS, ids=name)
def test_every_claim_is_settled(claim: Claim) -> None:
    assert claim.unsettled() == []
    assert claim.settled_by


@pytest.mark.parametrize(
    ("change", "need"),
    [
        ({"verdict": "false", "counterexample": None}, "a counterexample"),
        ({"verdict": "false", "theorems": ()}, "a theorem for the correction"),
        ({"verdict": "false", "why": ""}, "a reason"),
        ({"verdict": "true_under", "hypotheses": ()}, "the hypotheses left out"),
        ({"counterexample": None}, "a counterexample without them"),
        ({"verdict": "true"}, "no counterexample"),
        ({"verdict": "non_sequitur"}, "a premise that holds in it"),
        ({"verdict": "empirical", "columns": ()}, "a column of a result file"),
        ({"verdict": "convention", "citations": ("Ba et al.: no year",)}, "a dated source"),
        ({"correction": ""}, "a statement, a place and a correction"),
    ],
)
def test_what_a_verdict_lacks_is_named(change: dict[str, Any], need: str) -> None:
    record = {field: getattr(find("gupta.16"), field) for field in Claim.__dataclass_fields__}
    assert need in Claim(**(record | change)).unsettled()


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"verdit": "true"}, "verdit is not a field"),
        ({"citations": ["none"]}, "none is not known as citations: add it"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(entry: dict[str, Any], told: str) -> None:
    with pytest.raises(CheckError, match=f"gupta.toml, 1-99: {told}"):
        _claim("gupta", {"id": "1-99", **entry})


@pytest.mark.parametrize(("claim", "id"), PROVED, ids=name)
def test_theorems_exist_and_assume_no_more_than_the_claim_says(claim: Claim, id: str) -> None:
    # A proof uses exactly the hypotheses of its theorem; that is one of the theorem's own checks.
    assert set(_registry.find(id).hypotheses) <= {*claim.hypotheses, *claim.where}


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.prediction], ids=name)
def test_predictions_are_theorems_about_what_is_measured(claim: Claim) -> None:
    assert claim.columns
    assert _registry.find(str(claim.prediction)).statement


def test_every_counterexample_serves_a_claim() -> None:
    worked = {claim.example.name for claim in CLAIMS if claim.example}
    assert set(examples()) == {example.name for example in EXAMPLES if "/" not in example.name} | worked


@pytest.mark.parametrize("example", [example for example in EXAMPLES if "/" in example.name], ids=name)
def test_a_wrong_variant_is_shown_beside_its_theorem(example: Counterexample) -> None:
    label = example.name.partition("/")[2]
    assert {line.says for line in example.work().refuted} == {label}
    with pytest.raises(InputError, match="has no wrong variant 'none'"):
        case.of_wrong(example.name.removesuffix(label) + "none").work()


def test_of_several_claims_those_are_shown_that_are_certainly_false(monkeypatch) -> None:
    @theorem
    def body(a: Scalar):
        assume(a > 0)
        assert root(a * a + 1) * root(a * a + 1) == a * a + 1
        assert a > -1
        wrong_variant("of any sign", instead={"a > 0": lambda: a != 0}, at={"a": -2})

    monkeypatch.setattr("lngeom.proofs.claims.case.find", {"body": body}.__getitem__)
    assert [line.numbers for line in case.of_wrong("body/of any sign").work().refuted] == ["−2 ≤ −1"]


def test_what_is_not_certain_is_refused() -> None:
    third, root = Fraction(1, 3), Interval(2).sqrt()
    for kind, statement in (
        ("given", (1, "=", 2)),
        ("given", (root * root, "=", 2)),  # true, but not known to the last digit
        ("claimed", (1, "<", 2)),
        ("claimed", (root * root, "=", 2)),
        ("true", (third, ">", third)),
        ("true", (root, "=", root + Fraction(1, 2**90))),
    ):
        with pytest.raises(CheckError):
            getattr(case.WorkedExample(), kind)("said", *statement)
    case.WorkedExample().true("equal irrational numbers", root * root, "=", 2)
    assert not agree(Interval(0, 1), Interval(0, 1))
    for size, digits in ((1, 29), (10**6, 29), (1, 31), (10**6, 31)):
        assert agree(Interval(size, size * (1 + Fraction(1, 10**digits))), size) == (digits > 30)
    with pytest.raises(CheckError, match="has a value"):
        case.WorkedExample().undefined("1/2", lambda: Fraction(1, 2))

    @case.counterexample
    def nothing(case: case.WorkedExample) -> None:
        """Nothing."""
        case.true("1 = 1", 1, "=", 1)

    with pytest.raises(CheckError, match="refutes nothing"):
        nothing.work()


def test_sums_in_sequence_exceed_the_formula_of_rocm_as_often_as_its_record_says() -> None:
    u, x = 2.0**-24, np.full(1024, 1.03, np.float32)
    x[0] *= -1023
    c = x - np.add.accumulate(x)[-1] / np.float32(1024)
    y = c / np.sqrt(np.add.accumulate(c * c)[-1] / np.float32(1024))
    exact = standardize(x.astype(float), eps=0)
    terms = [2 * k * u / (1 - 2 * k * u) for k in (2048, 1024)]
    times = np.abs(y - exact).max() / (terms[0] / 2 + terms[1] + 5 * u)
    assert f"the error is {times:.1f} times as large as the formula allows" in find("rocm.3").correction
    counterexample = find("rocm.3").counterexample
    assert counterexample is not None
    worked = {line.says: line.numbers for line in counterexample.work().lines}
    assert worked["more than 4.7 times the tolerance"].startswith("4.76")
    assert "by a factor 4.8 with u the unit roundoff, 2.4 with" in find("rocm.3").why


def test_numbers_are_shown_briefly() -> None:
    assert case.show(Enclosure([Fraction(-1, 2), Fraction(3)])) == "(−1/2, 3)"
    assert case.show(Interval(2).sqrt()) == "1.4142136"
    assert case.show(Fraction(1, 10**6)) == "1e−06"


def test_command_prints_every_claim(capsys) -> None:
    assert main(["claims"]) == 0
    printed = capsys.readouterr().out
    for claim in CLAIMS:
        assert f"  {claim.id} " in printed
    present: list[Verdict] = [verdict for verdict in CLAIM_VERDICTS if select(verdict=verdict)]
    rows = [line.split()[1:] for line in printed.splitlines()]
    for key, title, _ in DOCUMENTS:
        assert title in printed
        numbers = [len(select(document=key, verdict=verdict)) for verdict in present]
        assert [*map(str, (*numbers, sum(numbers)))] in rows
    assert "\x1b" not in printed


def test_command_filters(capsys) -> None:
    assert main(["claims", "--json", "riechers", "--verdict", "false"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["id"] for record in records] == [c.id for c in select(document="riechers", verdict="false")]
    assert all(
        {"id", "document", "verdict", "claim", "place", "correction", "settled_by"} <= set(record) for record in records
    )
    claim = find(records[0]["id"])
    assert records[0]["document"] == document_of(claim).title
    assert records[0]["settled_by"][0] == f"theorem {claim.theorems[0]}"


def test_command_lists_a_document_and_explains_a_claim_beside_it(capsys) -> None:
    assert main(["claims", "--json", "3", "5-1"]) == 0, "the ids of version 0.2.0"
    shown = [record["id"] for record in json.loads(capsys.readouterr().out)]
    assert shown == [claim.id for claim in select(document="riechers")] + ["riechers-paper.1"]


def test_command_refuses_what_does_not_exist() -> None:
    refused(said("claims", "99-1"), "'99-1' is not a claim: ids are summary.1 to summary.")


def test_command_explains(capsys) -> None:
    assert main(["claims", "riechers-paper.1"]) == 0
    printed = capsys.readouterr().out
    for part in ("the square of the Drazin inverse alone", "(0, 1/2) ≠ (0, 1)", "diag(g⁻²) + ααᵀ/k", "(2024)"):
        assert part in printed


def test_explanations_keep_to_the_width_and_lose_no_word() -> None:
    for number, claim in enumerate(CLAIMS):
        width = (72, 116)[number % 2]
        shown = as_text(explanation(claim), width)
        assert all(cell_len(line) <= width for line in shown.splitlines())
        assert "Counterexam…" not in shown
        assert {*f"{claim.says} {claim.why} {claim.correction}".split()} <= {*shown.split()}
    for width in (72, 116):
        assert all(cell_len(line) <= width for line in as_text(ledger(CLAIMS), width).splitlines())
