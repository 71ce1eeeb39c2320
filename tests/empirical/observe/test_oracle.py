import itertools
from typing import Any

import pytest
import torch

import lngeom
from lngeom.empirical.models import sites_of
from lngeom.empirical.observe import Observer

from ..conftest import ARCHITECTURES, tiny_model
from ..oracle import IDS, disagreements, measured_and_stored


@pytest.mark.parametrize(
    ("architecture", "dtype"),
    [*((name, torch.float32) for name in ARCHITECTURES),
     *itertools.product(("gpt2", "qwen3"), (torch.float64, torch.bfloat16))], ids=str,
)  # fmt: skip
def test_every_column_of_a_tiny_model(architecture: str, dtype: torch.dtype) -> None:
    model = tiny_model(architecture).to(dtype)
    table, expected = measured_and_stored(model, IDS, directions=16, seed=3)
    assert len(table) == len(sites_of(model)) * 2 * 3
    assert len({row["norm"] for row in table}) == 1
    assert disagreements(table, expected) == []


WRONG: dict[str, Any] = {
    "another divisor": lambda x, mean, variance: (mean, variance * (x.shape[-1] / (x.shape[-1] - 1))),
    "a rounded mean": lambda x, mean, variance: (mean.to(torch.bfloat16).to(mean.dtype), variance),
    "a rounded input": lambda x, mean, variance: lngeom.moments(x.to(torch.bfloat16)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_moments_are_rejected(name: str, monkeypatch) -> None:
    monkeypatch.setattr("lngeom.empirical.observe.sketches.moments", lambda x: WRONG[name](x, *lngeom.moments(x)))
    table, expected = measured_and_stored(tiny_model("gpt2"), IDS, directions=16, seed=3)
    assert disagreements(table, expected)


def test_a_lost_token_is_rejected(monkeypatch) -> None:
    whole = Observer._membership

    def short(self: Observer, *seen: Any) -> torch.Tensor:
        buckets = whole(self, *seen).clone()
        buckets[:, 0, -1] = False
        return buckets

    monkeypatch.setattr(Observer, "_membership", short)
    table, expected = measured_and_stored(tiny_model("llama"), IDS, directions=16, seed=3)
    assert any(" tokens: 119, not 120" in line for line in disagreements(table, expected))
