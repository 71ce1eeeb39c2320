"""Same bits in every batch and every run: proved of launches, seen in trials, or not, with the reason."""

import re
from pathlib import Path

import pytest
import torch

from lngeom.check import check
from lngeom.check._proving.verdict import prove_target
from tests.check.triton.test_triton import loaded
from tests.kernels.derived import differentiated, rms, terms
from tests.kernels.rows import EPS

_BY_ROWS = "1024 if M < 256 else 256"
_TUNED = "autotune chooses a configuration by its time"
_CONFIGS = '@triton.autotune([triton.Config({"BT": 8}), triton.Config({"BT": 16})], key=["N"])\n'
_MANY = "which rows a program sums follows their number"
_ATOMIC = "atomic_add sums in the order in which programs end"
RIGHT = {
    "rms_norm": (), "layer_norm": (), "in_two_layer_norm": (), "residual_rms_norm": (), "in_tiles_rms_norm": (),
    "headed_rms_norm": (("rows > 1000 and N <= 256", "N is None"),
                        ("BLOCK, HOW", "BLOCK, num_warps=min(max(BLOCK // 256, 1), 8), HOW")),
    "blocked_layer_norm": (("_blocked[(M,)]", "if M == 0:\n        return x\n    _blocked[(M,)]"),),
}  # fmt: skip
WRONG: list[tuple[str, tuple[tuple[str, str], ...], str, str, str]] = [
    ("blocked_layer_norm", (("BLOCK=128)", f"BLOCK={_BY_ROWS})"),), "forward", "BLOCK is 256, but 1024", ""),
    ("layer_norm", (("min(max(BLOCK // 256, 1), 8)", "8 if M > 64 else 4"),), "forward", "num_warps is 4, but 8", ""),
    ("tiled_layer_norm", (), "forward", _TUNED, _TUNED),
    ("tiled_layer_norm", ((_CONFIGS, ""),
                          ("eps, BLOCK", "eps, BT=16 if M > 64 else 8, BLOCK")),
     "forward", "BT is 8, but 16 where", ""),
    ("headed_rms_norm", (), "forward", "but _seated where", ""),
    ("atomic_rms_norm", (), "d/dweight", _ATOMIC, _ATOMIC),
    ("pulled_layer_norm", (), "d/dweight", _MANY, ""),
    ("pulled_layer_norm", (("torch.cuda.get_device_properties(x.device).multi_processor_count", "triton.cdiv(M, 16)"),
                           ("math.ceil(M / programs)", "16")), "d/dweight", "PyTorch sums over ceil_", ""),
]  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_kernel_whose_blocks_follow_d_alone_has_the_same_bits(name: str, tmp_path: Path) -> None:
    proof = prove_target(loaded(tmp_path, name, *RIGHT[name]), name, "torch", backward=name == "in_tiles_rms_norm")
    assert [(one.batch, one.run) for one in proof.orders] == [("", "")] * (3 if proof.derivatives else 1), proof.orders
    by = {one.name: " ".join(one.launches) for one in proof.orders}
    assert not proof.derivatives or ("_gather(" in by["d/dweight"] and "_gather(" not in by["d/dx"])
    assert all(re.search(r"\(.*BLOCK = .*\) \(kernels_\d+\.py:\d+\)$", text) for text in proof.orders[0].launches)


@pytest.mark.parametrize(("name", "changes", "of", "batch", "run"), WRONG)
def test_a_kernel_whose_sums_follow_the_batch_has_not(name, changes, of, batch, run, tmp_path) -> None:
    proof = prove_target(loaded(tmp_path, name, *changes), name, "torch", backward=of != "forward")
    known = {one.name: one for one in proof.orders}
    assert batch in known[of].batch, str(proof)
    assert (run, bool(run)) == (known[of].run[: len(run)], bool(known[of].run))
    assert of == "forward" or known["d/dx"].batch == "", "a sum over rows says nothing of each row"


def test_what_is_required_of_bits_fails_unless_it_is_known(tmp_path: Path) -> None:
    right, wrong = loaded(tmp_path, "rms_norm"), loaded(tmp_path, *WRONG[0][:1], *WRONG[0][1])
    asked = {"d": 8, "require": ("batch-invariant", "deterministic")}
    assert check(right, kind="rmsnorm", **asked).verdict == "rounding"
    found = check(wrong, kind="layernorm", **asked)
    assert (found.verdict, found.named and found.named.kind) == ("variant", "bits differ")
    assert "in every batch: not: BLOCK is 256, but 1024 where 256 > B·L (kernels_" in str(found)
    assert found.record()["same_bits"]["run"] == {"forward": "proved"}


def test_bits_that_nothing_is_known_of_are_no_finding(tmp_path: Path) -> None:
    change = "tl.sum(wide * wide, axis=0)", "tl.max(tl.cumsum(wide * wide, 0), axis=0)"
    found = check(loaded(tmp_path, "rms_norm", change), kind="rmsnorm", d=8, require=("batch-invariant",))
    assert str(found).startswith(
        "FAIL: undecided: whether bits are the same in every batch is neither proved nor seen\n"
    )


def test_the_first_call_may_read_beyond_the_end(tmp_path: Path) -> None:
    found = check(loaded(tmp_path, "rms_norm", ("w_ptr + cols, mask=cols < n_cols", "w_ptr + cols")), d=100)
    assert str(found).startswith("FAIL: reads beyond the end of w_ptr (kernels_"), str(found)


def test_a_backward_pass_that_was_taken_from_its_class_is_followed(tmp_path: Path) -> None:
    kernel = loaded(tmp_path, "pulled_layer_norm", ("    return Pulled.apply(x", "    return applied(x"))
    kernel.__globals__["applied"] = kernel.__globals__["Pulled"].apply
    proof = prove_target(kernel, "pulled_layer_norm", "torch", backward=True)
    assert [one.status for one in proof.derivatives] == ["proved"] * 3, str(proof)


def by_halves(x, weight, dy, _):
    """The derivative by the gain is summed in an order that follows the number of rows."""
    of_x, rows = terms(x, weight, dy)
    return of_x, rows[::2].sum(0) + rows[1::2].sum(0) if len(rows) % 2 else rows.sum(0)


def by_rows(x, weight):
    parts = 2 if x.numel() // x.shape[-1] > 100 and x.shape[-1] % 2 == 0 else 1
    square = x.square().reshape(*x.shape[:-1], parts, -1).sum(-1).sum(-1, keepdim=True)
    return x * torch.rsqrt(square / x.shape[-1] + EPS) * weight


def test_bits_of_other_languages_are_seen_in_trials() -> None:
    asked = {"kind": "rmsnorm", "eps": EPS, "d": 64, "require": ("batch-invariant", "deterministic")}
    found = check(rms, **asked)
    assert found.verdict == "rounding", str(found)
    seen = "seen in trials (alone, in two parts, in another place, beside other rows)"
    assert found.record()["same_bits"]["batch"] == {"forward": seen}
    assert f"in every batch: {seen}" in str(found)  # what is required is told, without --verbose too
    assert "same bits" not in str(check(rms, **asked | {"require": ()}))
    found = check(by_rows, **asked)
    assert "not the same bits in every batch: not batch invariant: 785 of 4,100 rows have other bits alone" in str(
        found
    )
    assert found.record()["same_bits"]["run"] == {"forward": "seen in trials (when called again)"}
    found = check(differentiated(by_halves), backward=True, **asked)
    assert "d/dgain not batch invariant: 1 of 1 rows have other bits beside other rows" in str(found.cause), found


def test_the_condition_of_a_proof_stands_in_the_first_line(tmp_path: Path) -> None:
    found = check(loaded(tmp_path, "layer_norm", ("mask=mask, other=0.0)", "mask=mask)")), kind="layernorm", d=4)
    assert str(found).startswith("PASS: proved if lanes beyond the mask read 0, only for d ≤ 65536")
    assert found.passes(proved=True) is False
    assert found.passes(("mask read 0",), proved=True)
    changes = (
        ("dy = tl.load(DY + cols, mask=mask, other=0.0)", "dy = tl.load(DY + cols, mask=mask)"),
        ("rows = x.view", "rows = x.contiguous().view"),
    )
    found = check(loaded(tmp_path, "pulled_layer_norm", *changes), kind="layernorm", d=4, backward=True)
    first, told = str(found).partition("\n")[0], "d/dx and d/dweight and d/dbias proved if lanes beyond the mask read 0"
    passed = "PASS: proved for every d ≥ 1; backward pass within rounding (second derivatives not tested)"
    assert first == f"{passed}, {told}"
    assert (found.passes(proved=True), found.passes(("mask read 0",), proved=True)) == (False, True)
