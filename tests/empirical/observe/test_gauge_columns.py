"""Which columns of a sweep belong to the network and which to its coordinates, on networks of equal outputs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from empirical.folding import Fold, random_rotation, rotate, sample_inputs, shift
from empirical.models import sites_of
from empirical.observe import TABLE, Observer, gauge_dependent, rows

from ..conftest import WIDTH
from ..folding.test_folding import FAMILIES, RMS, trained


def table(network: Any) -> list[dict[str, Any]]:
    sites = sites_of(network)
    with torch.inference_mode(), Observer(network, sites) as observer:
        network(**sample_inputs(network, seed=3))
    return [row for row in rows(observer.states, sites) if row["d"] == WIDTH]


def agree(a: Any, b: Any) -> bool:
    """Whether two cells differ by no more than networks that compute in float32, and bins of a histogram."""
    return a == b or (isinstance(a, float) and a == pytest.approx(b, rel=1e-4, abs=1e-4, nan_ok=True))


def _shifted(network: Any) -> Fold:
    return shift(network, amount=0.7)


def _rotated(network: Any) -> Fold:
    return rotate(network, random_rotation(WIDTH, 5))


@pytest.mark.parametrize(
    ("make", "gauge"), [(FAMILIES["gpt2"], _shifted), (FAMILIES["gpt_neox"], _shifted), (RMS["llama"], _rotated)]
)
def test_the_gauge_changes_the_columns_that_are_said_to_change(
    make: Callable[[], Any], gauge: Callable[[Any], Fold]
) -> None:
    network = trained(make)
    before, after = table(network), table(gauge(network).checkpoint)
    for side in ("input", "output"):
        pairs = [pair for pair in zip(before, after, strict=True) if pair[0]["side"] == side]
        for column in TABLE:
            same = [agree(a[column.name], b[column.name]) for a, b in pairs]
            dependent = gauge_dependent(column.name, before[0]["norm"], side)
            values = {a[column.name] for a, _ in pairs}
            assert all(same) if not dependent else not all(same) or values == {None}, (column.name, side)
