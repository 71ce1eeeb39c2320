from pathlib import Path

import pytest

from lngeom.empirical import judge
from lngeom.empirical.observe import COLUMNS
from lngeom.proofs.claims import claims

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def head(table: str) -> set[str]:
    return set((RESULTS / table).read_text(encoding="utf-8").splitlines()[0].split(","))


REFERENCES = sorted({column for claim in claims() for column in claim.columns})


@pytest.mark.parametrize("column", REFERENCES, ids=str)
def test_columns_that_claims_name_exist(column: str) -> None:
    files = {
        "sites.csv": set(COLUMNS),
        "predictions.csv": set(judge.COLUMNS),
        "runs.csv": head("training/runs.csv"),
        "kernels.csv": head("cost/kernels.csv"),
        "ablation.csv": head("whisper/ablation.csv"),
    }
    file, _, name = column.partition(":")
    assert name in files[file]


def test_claims_that_name_verdicts_name_theorems_that_get_one() -> None:
    answered = [
        claim for claim in claims() if "predictions.csv" in {column.partition(":")[0] for column in claim.columns}
    ]
    assert [claim.id for claim in answered] == ["gupta.43"]
    assert {claim.prediction for claim in answered} <= set(judge.THEOREM_IDS)
