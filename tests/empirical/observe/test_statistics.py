from dataclasses import fields, replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from torch import nn

from lngeom.empirical import observe
from lngeom.empirical.judge import ISOTROPY
from lngeom.empirical.models import NormSite
from lngeom.empirical.observe import Observer, States, compute, merge, rows
from lngeom.empirical.support import write_table
from lngeom.errors import InputError, RunError
from lngeom.proofs import find
from tests.support import CONDITION, assert_close

SEQUENCES, POSITIONS, D = 6, 10, 8
SITE = NormSite("0", None, "final", "layernorm", 1e-5, D)
REQUIRED = [
    *("site", "layer", "role", "norm", "side", "bucket", "tokens", "angle_mean_deg", "angle_std_deg"),
    *("d_cos2", "d_cos2_low", "d_cos2_high", "random_d_cos2_median", "rank_among_random"),
    *("norm_mean", "norm_std", "norm_max", "gauge_mean"),
]
"""What readers of ``sites.csv`` rely on, in this order, before all other columns."""


def norm_model(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(0)
    norm = nn.LayerNorm(D, eps=SITE.eps, dtype=dtype)
    with torch.no_grad():
        norm.weight.add_(0.3 * torch.randn(D))
        norm.bias.add_(0.3 * torch.randn(D))
    return nn.Sequential(norm)


def hidden_states(seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((SEQUENCES, POSITIONS, D)))


def states(
    x: torch.Tensor, mask: torch.Tensor | None = None, seed: int = 0, *, null: torch.Tensor | None = None
) -> States:
    with Observer(norm_model(x.dtype), [SITE], directions=4, seed=seed) as observer:
        observer.mask(mask)
        observer.null(null)
        observer._model(x)
    return observer.states


def test_the_required_columns_come_first() -> None:
    assert list(observe.COLUMNS[: len(REQUIRED)]) == REQUIRED
    assert len(set(observe.COLUMNS)) == len(observe.COLUMNS)
    table = rows(states(hidden_states()), [SITE])
    assert [tuple(row) for row in table] == [observe.COLUMNS] * 6
    assert [(row["side"], row["bucket"]) for row in table] == [
        (side, bucket) for side in ("input", "output") for bucket in ("first", "rest", "all")
    ]


def test_each_column_says_what_it_is_and_by_which_theorem() -> None:
    assert all(each.doc and each.unit in ("", "°", "text") for each in observe.TABLE)
    assert {each.name.endswith("_deg") == (each.unit == "°") for each in observe.TABLE} == {True}
    theorems = {each.theorem for each in observe.TABLE} - {""}
    assert {find(id).id for id in theorems} == theorems
    assert ISOTROPY in theorems


def test_the_table_survives_the_disk(tmp_path) -> None:
    table = rows(states(hidden_states()), [SITE])
    write_table(tmp_path / "sites.csv", table, observe.COLUMNS)
    assert observe.read_sites(tmp_path / "sites.csv") == table


@pytest.mark.parametrize("size", [47.17, 2.0**-40, 2.0**40, 1e-150, 1e150])
def test_a_median_norm_lies_between_the_smallest_and_the_largest(size: float) -> None:
    x = torch.nn.functional.normalize(hidden_states(), dim=-1)
    lengths = size * (1 + 1e-6 * torch.from_numpy(np.random.default_rng(2).random((SEQUENCES, POSITIONS, 1))))
    found, norms = states(lengths * x)["0", "input"], torch.linalg.vector_norm(lengths * x, dim=-1)
    for keep, bucket in ((slice(0, 1), "first"), (slice(1, None), "rest"), (slice(None), "all")):
        told, low, high = compute(found, "input")[bucket], norms[:, keep].min(), norms[:, keep].max()
        least = found.least[keep].min()
        assert [least, told["norm_max"]] == pytest.approx([float(low), float(high)], rel=CONDITION * D * 2.0**-53)
        assert least <= told["norm_median"] <= told["norm_max"]


SOME = torch.from_numpy(np.random.default_rng(1).random((SEQUENCES, POSITIONS)) < 0.3)
SOME[2] = False
"""Tokens that are projected on the random directions, none of one sequence."""


@pytest.mark.parametrize("null", [None, SOME], ids=["all", "some"])
@pytest.mark.parametrize("cut", [1, 2, 5])
def test_merged_parts_equal_the_whole(cut: int, null: torch.Tensor | None) -> None:
    x, starts = hidden_states(), range(0, SEQUENCES, cut)
    parts = [states(x[at : at + cut], null=None if null is None else null[at : at + cut]) for at in starts]
    assert_close(reduce(merge, parts), states(x, null=null), x.shape[0] * x.shape[1])


def test_ranks_take_the_tokens_that_are_projected_and_all_else_takes_all() -> None:
    x = hidden_states()
    x[~SOME] += 3  # towards 1
    x[0, 0] = 0  # left out, whether projected or not
    x[1, 1, 0] = torch.inf
    whole, part, those = states(x), states(x, null=SOME), states(x, SOME)
    for key in whole:
        every, some, alone = (compute(found[key], key[1])["all"] for found in (whole, part, those))
        assert 0 < some["null_tokens"] == alone["tokens"] < some["tokens"] == every["null_tokens"]
        ranked = [
            name
            for name in every
            if name.startswith(("rank_", "random_", "sign_", "null_", "centred_", "angle_a", "angle_b"))
        ]
        for name in every.keys() - set(ranked):
            assert some[name] == every[name], name
        for name in ranked:
            assert some[name] == pytest.approx(alone[name], rel=CONDITION * x.numel() * 2.0**-53), name
        assert some["angle_a_mean"] != every["angle_a_mean"]
        if key[1] == "input":
            assert some["rank_among_random"] < every["rank_among_random"] == 4


@pytest.mark.parametrize("name", [field.name for field in fields(observe.SiteState)])
def test_a_change_of_any_field_is_noticed(name: str) -> None:
    whole = states(hidden_states())
    change = {key: 1 if (x := getattr(state, name)).dtype == np.int64 else 1e-9 * x for key, state in whole.items()}
    other = {key: replace(state, **{name: getattr(state, name) + change[key]}) for key, state in whole.items()}
    with pytest.raises(AssertionError):
        assert_close(other, whole, 60)


def test_an_empty_part_changes_nothing() -> None:
    x = hidden_states()
    nothing = states(x, torch.zeros(SEQUENCES, POSITIONS, dtype=torch.bool))
    whole = states(x)
    assert_close(merge(nothing, whole), whole, 60)
    assert_close(merge(whole, nothing), whole, 60)
    row = compute(nothing["0", "input"], "input")["all"]
    assert row["tokens"] == row["sequences"] == 0
    assert np.isnan(row["angle_mean"])
    assert np.isnan(row["cos2"])


def test_states_of_other_measurements_do_not_merge() -> None:
    a = states(hidden_states())
    with pytest.raises(InputError, match="the output of 0 is in one state and not in the other"):
        merge(a, {("0", "input"): a["0", "input"]})
    with Observer(norm_model(torch.float64), [SITE], directions=5) as observer:
        observer._model(hidden_states())
    with pytest.raises(InputError, match="has 4 random directions in one state and 5 in the other"):
        merge(a, observer.states)


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("filler", [0.0, 1e3, float("nan"), float("inf")])
def test_padding_never_counts(left: bool, filler: float) -> None:
    x = hidden_states()
    text = x[:, 3:] if left else x[:, :-3]
    padded = x.clone()
    mask = torch.ones(SEQUENCES, POSITIONS)
    where = slice(0, 3) if left else slice(-3, None)
    padded[:, where] = filler
    mask[:, where] = 0
    assert_close(states(padded, mask), states(text), 42)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e200])
def test_a_nonfinite_activation_is_counted_and_does_not_poison_the_rest(value: float) -> None:
    x = hidden_states()
    x[1, 0, 2] = x[4, 7, 0] = value
    left_out = torch.ones(SEQUENCES, POSITIONS)
    left_out[1, 0] = left_out[4, 7] = 0
    found = states(x)
    for side in ("input", "output"):
        state = found["0", side]
        assert state.nonfinite.tolist() == [1, 1]
        assert state.tokens.tolist() == [5, 53]
        for row in compute(state, side).values():
            assert all(np.isfinite(number) for number in row.values())
    # The same numbers as if these tokens were padding, but for the bucket of the position after a first one.
    x[1], left_out[1] = hidden_states()[1], 1
    without = states(x, left_out)
    counted = {key: replace(state, nonfinite=np.zeros_like(state.nonfinite)) for key, state in states(x).items()}
    assert_close(counted, without, 60)


def test_states_survive_the_disk(tmp_path) -> None:
    whole = states(hidden_states())
    for name in ("a", "b"):
        observe.save_states(tmp_path / name, whole, {"seconds": "1", "batch_size": "6"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    found, metadata = observe.load_states(tmp_path / "a")
    assert metadata == {"seconds": "1", "batch_size": "6"}
    assert found.keys() == whole.keys()
    for key, state in found.items():
        for field in fields(state):
            mine, theirs = getattr(state, field.name), getattr(whole[key], field.name)
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs), (key, field.name)


def test_a_state_whose_numbers_or_metadata_changed_is_refused(tmp_path) -> None:
    observe.save_states(tmp_path / "a", states(hidden_states()), {"seconds": "1"})
    tensors, (stored,) = load_file(tmp_path / "a"), safe_open(tmp_path / "a", "numpy").metadata().values()
    for other, about in (
        (tensors | {"0/input/tokens": tensors["0/input/tokens"] + 1}, stored),
        ({name.replace("0/", "1/"): tensor for name, tensor in tensors.items()}, stored),
        (tensors, stored.replace('"seconds": "1"', '"seconds": "2"')),
    ):
        save_file(other, tmp_path / "b", {"lngeom": about})
        with pytest.raises(RunError, match="is damaged"):
            observe.load_states(tmp_path / "b")


@pytest.mark.parametrize(("floor", "low"), [(0.0, 0.0), (-np.inf, 1 / 3 - observe.student(2) / 3)])
def test_an_interval_ends_at_the_least_value_of_the_mean(floor: float, low: float) -> None:
    sums, tokens = np.array([0.0, 0.0, 1.0]), np.array([1, 1, 1])
    mean, found, high = observe.ratio_interval(sums, tokens, floor=floor)
    assert (mean, found, high) == pytest.approx((1 / 3, low, 1 / 3 + observe.student(2) / 3))
    assert observe.ratio_interval(sums[2:], tokens[2:], floor=floor) == (1, floor, np.inf)


def test_a_state_that_is_not_there_or_of_another_version_is_told(tmp_path, monkeypatch) -> None:
    with pytest.raises(RunError, match=r"remove it and run again$"):
        observe.load_states(tmp_path / "state")
    observe.save_states(tmp_path / "state", states(hidden_states()), {})
    monkeypatch.setattr("lngeom.empirical.observe.storage._FORMAT", "lngeom-state-next")
    with pytest.raises(
        RunError, match=r"holds no state of this version \(lngeom-state-next\); remove it and run again"
    ):
        observe.load_states(tmp_path / "state")


def hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_hooks_are_gone_after_an_exception() -> None:
    model = norm_model()

    def fail() -> Any:
        with Observer(model, [SITE], directions=2):
            assert hooks(model) == 2
            model(torch.zeros(1, 1, D + 1))

    with pytest.raises(RuntimeError, match="normalized_shape"):
        fail()
    assert hooks(model) == 0


@pytest.mark.parametrize("site", [replace(SITE, path="7"), "0"])
def test_misuse_is_told(site: NormSite) -> None:
    with pytest.raises(InputError, match="is not a NormSite of a module of Sequential; take the sites from this model"):
        Observer(norm_model(), [site])


def test_constant_vectors_count_where_rms_norm_has_no_eps() -> None:
    site = NormSite("0", None, "final", "rmsnorm", 0.0, D)
    x = hidden_states()
    x[0] = 2.0  # along 1, at every position of one sequence
    with Observer(nn.Sequential(nn.RMSNorm(D, eps=0.0, dtype=x.dtype)), [site], directions=4) as observer:
        observer._model(x)
    state = observer.states["0", "input"]
    assert state.tokens.tolist() == [SEQUENCES, SEQUENCES * (POSITIONS - 1)]
    assert state.zero.tolist() == [0, 0]
    # LN(c1) = 0 for every ε > 0, and RMS(c1) = 1: nothing is farther apart but for spread vectors, below √2.
    found = compute(state, "input")["all"]
    assert 1 <= found["distance_max"] < np.sqrt(2)
    assert found["angle_p01"] < 1
