import copy
from typing import Any

import numpy as np
import pytest
import torch

from lngeom import project
from lngeom.empirical import observe
from lngeom.empirical.folding import entering, rotate, sample_inputs, shift
from lngeom.empirical.models import Kind, NormSite, sites_of
from lngeom.empirical.observe import SIDES, TABLE, Observer, rows
from lngeom.empirical.pages.console import STORED

from ..conftest import WIDTH
from ..networks import FAMILIES, RMS, trained


def table(network: Any) -> list[dict[str, Any]]:
    sites = sites_of(network)
    with torch.inference_mode(), Observer(network, sites) as observer:
        network(**sample_inputs(network, seed=3))
    return [row for row in rows(observer.states, sites) if row["d"] == WIDTH]


def in_float64(network: Any) -> Any:
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


def _shifted(network: Any) -> Any:
    return shift(network, amount=0.7).checkpoint


def _rotated(network: Any) -> Any:
    return rotate(network, observe.random_rotation(WIDTH, 5)).checkpoint


def test_gauges_of_networks_move_the_columns_that_are_said_to_be_stored() -> None:
    moved = set[str]()
    for make, gauge in ((FAMILIES["gpt2"], _shifted), (RMS["llama"], _rotated)):
        network = in_float64(trained(make))
        changed, inputs = gauge(network), sample_inputs(network, seed=3)
        with torch.inference_mode():
            logits, others = network(**inputs).logits, changed(**inputs).logits
        assert (logits - others).abs().max() <= np.sqrt(torch.finfo(torch.float64).eps) * logits.abs().max()
        tables = [table(each) for each in (network, changed, in_float64(trained(make, torch.float32)))]
        for side in SIDES:
            rows = [[row for row in each if row["side"] == side] for each in tables]
            moved |= {column.name for column in TABLE if not agree(column.name, *rows)}
    assert moved | {"eps"} == {
        column.name for column in TABLE if column.is_stored
    }  # times c² where all writers are by c
    assert moved >= STORED.keys()


def test_an_idle_block_elsewhere_changes_no_logit_and_what_no_gauge_changes() -> None:
    first, path = trained(FAMILIES["gpt2"]), "transformer.h.1.ln_1"
    with torch.no_grad():
        for writer in (first.transformer.h[0].attn.c_proj, first.transformer.h[0].mlp.c_proj):
            writer.weight.zero_()
            writer.bias.zero_()
    last, inputs, seen = copy.deepcopy(first), sample_inputs(first, seed=3), list[list[float]]()
    last.transformer.h = torch.nn.ModuleList(reversed(last.transformer.h))
    with torch.inference_mode():
        assert torch.equal(first(**inputs).logits, last(**inputs).logits)
    for network in (first, last):
        (row,) = (row for row in table(network) if (row["site"], row["side"], row["bucket"]) == (path, "input", "all"))
        x = entering(network, [inputs], [path], project)[path]
        seen.append([float(x.norm(dim=-1).mean()), row["mean_cosine"], row["gauge_mean"]])
    assert [[round(length, 2), round(cosine, 3)] for length, cosine, _ in seen] == [[1.16, 0.104], [5.05, 0.569]]
    assert np.abs(np.subtract(seen[0], seen[1])).min() > np.sqrt(torch.finfo(torch.float64).eps)


def test_constants_and_infinite_states_have_no_mean_cosine() -> None:
    x = torch.tensor([[[3.0, 1.0], [5.0, 7.0], [2.0, 2.0], [torch.inf, 0.0]]], dtype=torch.float64)
    found = []
    kinds: dict[Kind, Any] = {"layernorm": torch.nn.LayerNorm(2).double(), "rmsnorm": torch.nn.RMSNorm(2).double()}
    for kind, norm in kinds.items():
        site = NormSite("0", None, "final", kind, 0.1, 2)
        with Observer(torch.nn.Sequential(norm), [site]) as observer:
            observer._model(x)
        found.append(rows(observer.states, [site])[2]["mean_cosine"])
    a, b, c = x[0, :3] / x[0, :3].norm(dim=-1, keepdim=True)
    assert found == pytest.approx([-1, float(a @ b + b @ c + c @ a) / 3])  # of (1, −1) and (−1, 1), and of all three
