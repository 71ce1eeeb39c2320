"""What the claims ledger refers to outside the proofs exists: columns of result files, and pictures."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from empirical import judge
from empirical.observe import COLUMNS
from empirical.pages import FIGURES
from empirical.support import write_table
from empirical.train import _run, _study, _trainer, plan
from empirical.train._measure import TABLES
from proofs.claims import Claim, Column, claims

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def head(table: str) -> set[str]:
    """Columns of a committed table."""
    return set((RESULTS / table).read_text(encoding="utf-8").splitlines()[0].split(","))


REFERENCES = sorted({column for claim in claims() for column in claim.columns})


@pytest.fixture(scope="module")
def study_columns(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Columns of a study gathered from one finished run whose tables hold a row each."""
    out = tmp_path_factory.mktemp("study")
    condition, seed = run = next(iter(plan(1, 0)))
    folder = out / "runs" / f"{condition.name}-seed{seed}"
    folder.mkdir(parents=True)
    for name, columns in TABLES.items():
        write_table(folder / f"{name}.csv", [dict.fromkeys(columns, 0)])
    (folder / "summary.json").write_text("{}", encoding="utf-8")
    _study.gather(out, [run])
    return set((out / "study.csv").read_text(encoding="utf-8").splitlines()[0].split(","))


@pytest.fixture(scope="module")
def summary_entries() -> set[str]:
    """Entries of the summary of a run, made for a network of one parameter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_run, "flops_per_token", lambda model, length: 1.0)
        stand_in = SimpleNamespace(
            parameters=lambda: [torch.zeros(1)],
            steps=1,
            tokens_per_step=1,
            sequence_length=1,
            unigram_entropy=lambda: 0.0,
            device=torch.device("cpu"),
            count=1,
        )
        value = cast(Any, stand_in)
        return set(json.loads(json.dumps(_run.summary(value, value, value, value, 1.0))))


@pytest.mark.parametrize("column", REFERENCES, ids=str)
def test_columns_that_claims_name_exist(column: Column, study_columns: set[str], summary_entries: set[str]) -> None:
    files = {
        "sites.csv": set(COLUMNS),
        "predictions.csv": set(judge.COLUMNS),
        "study.csv": study_columns,
        "summary.json": summary_entries,
        "losses.csv": set(_trainer.LOSS_COLUMNS),
        "controls.csv": head("training/controls.csv"),
        "kernels.csv": head("cost/kernels.csv"),
    }
    assert column.name in files[column.file]


def test_claims_that_name_verdicts_name_theorems_that_get_one() -> None:
    answered = [claim for claim in claims() if {"predictions.csv"} & {column.file for column in claim.columns}]
    assert [claim.id for claim in answered] == ["1-43"]
    assert {claim.prediction for claim in answered} <= set(judge.THEOREM_IDS)


@pytest.mark.parametrize("claim", [claim for claim in claims() if claim.figure], ids=lambda claim: claim.id)
def test_pictures_that_claims_name_exist(claim: Claim) -> None:
    assert claim.figure in FIGURES
