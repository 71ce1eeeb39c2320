import csv
from pathlib import Path

import pytest

from experiments.folds import row

TABLE = Path(__file__).parents[2] / "docs" / "results" / "gauge" / "folds_by_type.csv"


@pytest.mark.parametrize("kind", ["bert", "dinov2", "segformer"])
def test_the_table_says_what_a_fold_does(kind: str) -> None:
    rows = {each[0]: each for each in csv.reader(TABLE.read_text(encoding="utf-8").splitlines())}
    assert [str(value) for value in row(kind)] == rows[kind]
