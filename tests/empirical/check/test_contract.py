"""Which definition is meant, kernels fused with the residual, the zoo, and acceptance tests under seeded faults."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from empirical.check import check, score, zoo
from empirical.check._held_out import HELD_OUT
from empirical.check._stand_ins import STAND_INS, SURVEY
from lngeom.cli import main
from lngeom.errors import InputError

BF16: dict[str, Any] = {"kind": "rmsnorm", "eps": 1e-5, "d": 24, "dtype": "bfloat16"}


def rms(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


def llama(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return weight * rms(x, torch.ones_like(weight), eps)


def gemma(x: Tensor, weight: Tensor, eps: float = 1e-5) -> Tensor:
    return rms(x, 1 + weight.float(), eps)


@pytest.mark.parametrize("fault", [s.name for s in STAND_INS])
def test_a_reported_fault_is_caught_and_named(fault: str) -> None:
    (caught,) = (each for each in zoo(fault) if each.fault == fault)
    assert caught.right, caught


@pytest.mark.parametrize(("norm", "spec"), [(rms, "torch"), (llama, "llama"), (llama, "onnx"), (gemma, "gemma")])
def test_each_family_is_right_under_its_own_name_alone(norm: Any, spec: str) -> None:
    assert check(norm, **BF16, spec=spec).verdict == "rounding"
    others = {"torch", "llama", "gemma"} - ({"llama"} if spec == "onnx" else {spec})
    assert [check(norm, **BF16, spec=other).verdict for other in others if other != spec].count("rounding") == 0


def test_a_file_may_say_what_is_meant(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"kind": "rmsnorm", "offset": 1.0, "eps": 1e-5}))
    assert check(gemma, spec=str(tmp_path / "mine.json"), d=8).verdict == "rounding"
    (tmp_path / "mine.json").write_text(json.dumps({"gain": 1.0}))
    with pytest.raises(InputError, match="neither one of torch, llama, gemma, onnx"):
        check(gemma, spec=str(tmp_path / "mine.json"), d=8)


def test_without_eps_a_kernel_means_that_of_its_family() -> None:
    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, None)

    assert check(norm, spec="torch", kind="rmsnorm", d=8).verdict == "rounding"
    assert check(norm, spec="llama", d=8).cause == "eps = 1.192e-07"


def test_a_fused_kernel_is_held_to_the_sum_it_returns() -> None:
    def fused(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return rms(total, weight), total

    def without(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        return rms(x + residual, weight), x

    finding = check(fused, **BF16)
    assert finding.verdict == "rounding"
    assert "sum of input and residual rounded before it is normalized" in finding.notes
    assert check(fused, **BF16, spec="torch").verdict == "rounding"
    assert "the sum that is returned" in (check(without, **BF16).cause or "")


def silu(z: Tensor) -> Tensor:
    return torch.nn.functional.silu(z.float())


GATED: dict[str, Any] = {
    "after": lambda x, gate, weight, eps: (rms(x.float(), weight.float(), eps) * silu(gate)).to(x.dtype),
    "before": lambda x, gate, weight, eps: rms(x.float() * silu(gate), weight.float(), eps).to(x.dtype),
    "sigmoid": lambda x, weight, z, eps: (rms(x.float(), weight.float(), eps) * torch.sigmoid(z.float())).to(x.dtype),
    "linear": lambda x, weight, linear_weight, linear_bias, eps: rms(x, weight, eps) @ linear_weight + linear_bias,
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", GATED)
def test_gates_and_matrices_are_taken_off(name: str, dtype: str) -> None:
    finding = check(GATED[name], kind="rmsnorm", eps=1e-5, d=24, dtype=dtype)
    assert finding.verdict == "rounding", finding


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_fault_beside_a_gate_is_named(name: str) -> None:
    def wrong(x: Tensor, gate: Tensor, weight: Tensor) -> Tensor:
        return GATED[name](x, gate, weight, 0.0)

    assert check(wrong, kind="rmsnorm", eps=1e-5, d=24).cause == "eps missing"


def test_a_variant_is_allowed_only_where_it_holds_every_row() -> None:
    def late(x: Tensor, weight: Tensor) -> Tensor:
        y = gemma(x, weight)
        return torch.cat([y[:2050], 0.97 * y[2050:2051], y[2051:]])

    finding = check(late, kind="rmsnorm", eps=1e-5, d=24)
    assert finding.verdict == "bug"
    assert "as Gemma" in (finding.cause or "")
    assert "row 2050" in (finding.cause or "")
    assert not finding.passes(("Gemma",))


def test_gains_left_out_behind_the_last_block_are_named() -> None:
    def tail(x: Tensor, weight: Tensor) -> Tensor:
        return rms(x, torch.cat([weight[:32], torch.ones_like(weight[32:])]))

    cause = check(tail, kind="rmsnorm", eps=1e-5, d=37).cause
    assert cause == "components after the last whole block of 8 without the gain"


def test_the_zoo_is_a_command_and_its_table_is_that_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--zoo", "IRON/pull/139", "--csv", str(tmp_path / "zoo.csv")]) == 0
    printed = capsys.readouterr().out
    assert "1 of 1 faults of 1 threads caught" in printed
    assert "1 of the survey's 1 reports caught under the right name" in printed
    (row,) = csv.DictReader((tmp_path / "zoo.csv").read_text(encoding="utf-8").splitlines())
    page = Path(__file__).parents[3] / "docs" / "results" / "norm_bug_zoo.csv"
    rows = {each["fault"]: each for each in csv.DictReader(page.read_text(encoding="utf-8").splitlines())}
    assert rows[row["fault"]] == row
    assert [(name, each["verdict"], each["caught"]) for name, each in rows.items() if not each["held out"]] == [
        (stand_in.name, stand_in.verdict, "yes") for stand_in in STAND_INS
    ]
    assert [name for name, each in rows.items() if each["held out"]] == [stand_in.name for stand_in in HELD_OUT]
    numbered = {int(number) for each in rows.values() for number in filter(None, each["survey"].split(", "))}
    assert numbered == set(range(1, len(SURVEY) + 1))


def weak(kernel: Any) -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 64))).float()
    expected = torch.nn.functional.layer_norm(x, (64,), torch.ones(64), torch.zeros(64), 1e-5)
    torch.testing.assert_close(kernel(x, torch.ones(64), torch.zeros(64)), expected)


def test_an_acceptance_test_is_scored_by_what_it_lets_pass(capsys: pytest.CaptureFixture[str]) -> None:
    result = score(weak)
    assert {"gain missing", "bias missing", "variance in one pass"} <= set(result.survivors)
    assert "sign of the gain wrong" not in result.survivors
    assert main(["check", "--test", f"{__file__}:weak"]) == 1
    assert f"lets {len(result.survivors)} of {result.faults}" in capsys.readouterr().out
    with pytest.raises(InputError, match="rejects the exact definition"):
        score(lambda _: False)
