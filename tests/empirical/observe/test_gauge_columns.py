import copy
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from lngeom import project
from lngeom.empirical import observe
from lngeom.empirical.folding import entering, find_norms, rotate, sample_inputs, shift
from lngeom.empirical.models import Kind, sites_of
from lngeom.empirical.observe import SIDES, TABLE, Gauge, Observer, gauge_dependent, random_gauge, rows
from lngeom.empirical.pages.console import STORED
from lngeom.empirical.pages.sweep import is_stored

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


@pytest.mark.parametrize(
    ("make", "gauge"), [(FAMILIES["gpt2"], _shifted), (FAMILIES["gpt_neox"], _shifted), (RMS["llama"], _rotated)]
)
def test_gauges_of_a_network_leave_the_other_columns_alone(
    make: Callable[[], Any], gauge: Callable[[Any], Any]
) -> None:
    network = in_float64(trained(make))
    changed, inputs = gauge(network), sample_inputs(network, seed=3)
    with torch.inference_mode():
        logits, others = network(**inputs).logits, changed(**inputs).logits
    assert (logits - others).abs().max() <= np.sqrt(torch.finfo(torch.float64).eps) * logits.abs().max()
    tables = [table(each) for each in (network, changed, in_float64(trained(make, torch.float32)))]
    for side in SIDES:
        rows = [[row for row in each if row["side"] == side] for each in tables]
        for column in TABLE:
            if not gauge_dependent(column.name, rows[0][0]["norm"], side):
                assert agree(column.name, *rows), (column.name, side)


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


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "whisper", "llama"])
def test_twenty_gauges_of_each_network_move_what_gauges_change(family: str) -> None:
    network, rng = trained({**FAMILIES, **RMS}[family]), np.random.default_rng(1)
    norm = next(n for n in find_norms(network, sample_inputs(network)).values() if n.d == WIDTH)
    inputs = [sample_inputs(network, seed=seed) for seed in range(4)]
    x = entering(network, inputs, [norm.path], lambda x: x[: len(x) // 2 * 2])[norm.path].unflatten(0, (-1, 2))
    gauges = [random_gauge(norm.kind, WIDTH, rng) for _ in range(20)]
    expected = {(c.name, side) for c in TABLE for side in SIDES if gauge_dependent(c.name, norm.kind, side)}
    moved = observe.moved_columns(norm.kind, x, norm.eps, gauges)
    assert sorted(moved - expected) == []
    # A small integer may stay by chance.
    assert all(re.match("rank|sign_rank|top|components", name) for name, _ in expected - moved)


@pytest.mark.parametrize("fault", ["ε is kept", "Q does not fix 1", "a shift before RMSNorm"])
def test_what_is_no_gauge_moves_more(fault: str) -> None:
    kind, rng = "rmsnorm" if "RMS" in fault else "layernorm", np.random.default_rng(2)
    x, one = torch.from_numpy(rng.standard_normal((4, 5, 8))), random_gauge(kind, 8, rng)
    parts = {**vars(one)} | {
        "Q does not fix 1": {"rotation": observe.random_rotation(8, 1)}, "a shift before RMSNorm": {"shift": 1.0},
    }.get(fault, {})  # fmt: skip
    wrong = Gauge(**parts)
    if fault == "ε is kept":
        object.__setattr__(wrong, "eps", lambda eps: eps)
    assert ("gauge_mean", "input") in observe.moved_columns(kind, x, 0.1, [wrong])
    assert ("gauge_mean", "input") not in observe.moved_columns(kind, x, 0.1, [one])


def test_the_summary_says_of_no_other_column_that_it_is_stored() -> None:
    kinds: tuple[Kind, ...] = ("layernorm", "rmsnorm")
    assert all(gauge_dependent(*place) for place in itertools.product(STORED, kinds, SIDES))
    for column in TABLE:  # and the report
        assert is_stored(column) == any(
            gauge_dependent(column.name, *place) for place in itertools.product(kinds, SIDES)
        )


def test_no_gauge_moves_the_mean_cosine_and_constants_have_none() -> None:
    kinds: tuple[Kind, ...] = ("layernorm", "rmsnorm")
    assert not any(gauge_dependent("mean_cosine", kind, side) for kind in kinds for side in SIDES)
    x = torch.tensor([[[3.0, 1.0], [5.0, 7.0], [2.0, 2.0], [torch.inf, 0.0]]], dtype=torch.float64)
    layer, rms = (observe.norm_table(kind, x, 0.1, np.ones(2), np.zeros(2))[2]["mean_cosine"] for kind in kinds)
    assert layer == pytest.approx(-1)  # (1, −1) and (−1, 1)
    a, b, c = x[0, :3] / x[0, :3].norm(dim=-1, keepdim=True)
    assert rms == pytest.approx(float(a @ b + b @ c + c @ a) / 3)
