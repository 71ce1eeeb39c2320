"""Which columns of a sweep belong to the network and which to its coordinates, on networks of equal outputs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from empirical.folding import Fold, random_rotation, rotate, sample_inputs, shift
from empirical.models import sites_of
from empirical.observe import TABLE, Observer, gauge_dependent, rows

from ..conftest import WIDTH
from ..networks import FAMILIES, RMS, trained


def table(network: Any) -> list[dict[str, Any]]:
    sites = sites_of(network)
    with torch.inference_mode(), Observer(network, sites) as observer:
        network(**sample_inputs(network, seed=3))
    return [row for row in rows(observer.states, sites) if row["d"] == WIDTH]


def in_float64(network: Any) -> Any:
    """The network with norms that compute in its own dtype, not in float32 whatever it is."""
    for path, module in list(network.named_modules()):
        if type(module).__name__ == "LlamaRMSNorm":
            norm = torch.nn.RMSNorm(WIDTH, eps=module.variance_epsilon, dtype=module.weight.dtype)
            norm.weight = module.weight
            network.set_submodule(path, norm)
    return network


def agree(column: str, before: list[Any], after: list[Any], coarse: list[Any]) -> bool:
    """Whether a column differs by less in float64 than by computing the first network in float32.

    The same operations round by 2⁻²⁹ of that in float64, so that what a gauge leaves alone stays far below it.
    """
    cells = [[row[column] for row in table] for table in (before, after, coarse)]
    if not any(isinstance(cell, float) for cell in cells[0]):
        return cells[0] == cells[1]
    a, b, c = (np.array(each, float) for each in cells)
    return bool(np.array_equal(np.isnan(a), np.isnan(b))) and bool(
        np.nanmax(np.abs(a - b), initial=0) <= np.nanmax(np.abs(a - c), initial=0)
    )


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
    network = in_float64(trained(make))
    tables = [table(each) for each in (network, gauge(network).checkpoint, in_float64(trained(make, torch.float32)))]
    for side in ("input", "output"):
        rows = [[row for row in each if row["side"] == side] for each in tables]
        for column in TABLE:
            dependent = gauge_dependent(column.name, rows[0][0]["norm"], side)
            told = len({row[column.name] for row in rows[0]}) > 1  # of two sequences the interval of a rank is 0 to all
            assert agree(column.name, *rows) != dependent or (dependent and not told), (column.name, side)
