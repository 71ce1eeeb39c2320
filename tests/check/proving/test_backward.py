import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from lngeom.check._proving.proof import Proof
from lngeom.check._proving.verdict import prove_target
from lngeom.checker import recheck
from tests.kernels.derived import asserting, differentiated, kernel, mean, plain, rms, square
from tests.kernels.rows import EPS
from tests.kernels.traced import PROVED

KERNELS: dict[str, Any] = {
    "": kernel(plain),
    "mean": kernel(lambda h, y, g, n, r: r * (h - n * mean(h * n))),
    "row twice": kernel(plain, lambda y, n, axes: (y * n * n).sum(axes)),
    "one axis": kernel(plain, lambda y, n, axes: (y * n).sum(0)),  # PyTorch adds the other one up
    "mean over rows": kernel(plain, lambda y, n, axes: (y * n).mean(axes)),
    "bias forgotten": kernel(plain, of_bias=lambda y, n, axes: y.new_zeros(y.shape[-1])),
}
"""Usual mistakes."""


def from_output(x: Any, weight: Any, v: Any, _: Any) -> Any:
    """RMSNorm that divides its own output by the gain to find the normalized row again."""
    normal, inner = rms(x, weight) / weight, v * weight
    return torch.rsqrt(square(x) + EPS) * (inner - normal * mean(normal * inner)), (v * normal).sum((0, 1))


def twice(factor: Callable[[Any], float]) -> Any:
    """RMSNorm of twice its input, halved, where the backward pass doubles by a factor of its own."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
            return 2 * x

        @staticmethod
        def backward(ctx: Any, v: Any) -> Any:  # type: ignore[override]
            return v * factor(v)

    return lambda x, weight, eps=1e-5: F.rms_norm(Twice.apply(x) / 2, (x.shape[-1],), weight, eps)


WORLDS: dict[str, Callable[[Any], float]] = {
    "traced": lambda v: 2 if isinstance(v.shape[0], torch.SymInt) else 3,
    "type": lambda v: 2 if type(v) is not torch.Tensor else 3,
    "threads": lambda v: 2 if torch.get_num_threads() < 4096 else 3,
    "attribute": lambda v: 2 if getattr(v, "main_grad", None) is None else 3,
}
"""Factors of a backward pass that are right as long as it is traced, or in the state that the check has."""


def proof(wrong: str = "") -> Proof:
    return prove_target(KERNELS[wrong], "norm", "torch", backward=True)


def test_derivatives_are_proved_with_certificates() -> None:
    verdict = proof()
    assert verdict.status == "proved"
    assert {d.name: d.status for d in verdict.derivatives} == dict.fromkeys(("x", "weight", "bias"), "proved")
    ids = [data["id"] for data in verdict.certificates]
    assert [id for id in ids if "_by_" in id and "defined" not in id] == [
        "user.norm_by_x",
        "user.norm_by_weight",
        "user.norm_by_bias",
    ]
    assert "user.norm_by_x_defined1" in ids
    assert all(recheck(data) for data in verdict.certificates)
    assert proof("one axis").passes()


@pytest.mark.parametrize(("wrong", "name"), [("mean", "x"), ("row twice", "weight")])
def test_a_wrong_backward_pass_is_refuted(wrong: str, name: str, caplog: pytest.LogCaptureFixture) -> None:
    verdict = proof(wrong)
    assert not caplog.records  # PyTorch logs what it traces
    by = {derivative.name: derivative for derivative in verdict.derivatives}
    assert by[name].status == "refuted"
    assert re.match(r"at d = \d+, .+: the code gives \S+, the formula \S+$", by[name].text)
    assert all(derivative.status == "proved" for derivative in verdict.derivatives if derivative.name != name)
    assert not verdict.passes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("mean over rows", "a mean over B, L"),
        ("bias forgotten", "summed over nothing"),
        ("traced", "as it runs"),
        ("type", "it uses type"),
        ("threads", "it uses torch.get_num_threads"),
        ("attribute", "asks whether an array has main_grad"),
    ],
)
def test_what_reads_other_rows_or_its_world_is_not_proved(wrong: str, message: str) -> None:
    asks = WORLDS.get(wrong)
    verdict = prove_target(twice(asks), "norm", "torch", backward=True) if asks else proof(wrong)
    assert any(message in derivative.text for derivative in verdict.derivatives)
    assert verdict.status == "proved"
    assert not verdict.passes()


def test_a_division_by_the_gain_is_not_defined_everywhere() -> None:
    verdict = prove_target(differentiated(from_output), "norm", "torch", backward=True)
    assert {derivative.text for derivative in verdict.derivatives} == {"it is not proved that weight ≠ 0"}


BY = {
    torch.nn.LayerNorm: "x weight bias", torch.nn.RMSNorm: "x weight", torch.nn.GroupNorm: "x weight bias",
    PROVED["one pass"]: "x weight bias", PROVED["residual, centred"]: "x residual weight bias",
    PROVED["einsum of three"]: "x weight", PROVED["a power"]: "x weight", PROVED["by its length"]: "x weight",
    PROVED["a gain with new axes"]: "x weight", PROVED["shifted by its first component"]: "x weight bias",
}  # fmt: skip
"""Norms whose derivatives autograd derives, and by what."""


@pytest.mark.parametrize("norm", BY)
def test_what_autograd_derives_by_itself_is_proved(norm: Any) -> None:
    verdict = prove_target(norm, "norm", "torch", backward=True)
    assert {(d.name, d.status, d.text) for d in verdict.derivatives} == {
        (name, "proved", "") for name in BY[norm].split()
    }
    assert all(recheck(data) for data in verdict.certificates)
    assert verdict.passes()


@pytest.mark.parametrize("question", [lambda d: d == 1, lambda d: d in (1, 640), lambda d: f"{d}" == "640"])
def test_a_backward_pass_that_asks_for_the_size_is_not_proved(question: Any) -> None:
    asks = twice(lambda v: 3 if question(v.shape[-1]) else 2)
    verdict = prove_target(asks, "norm", "torch", backward=True)
    assert verdict.status == "proved"
    assert {derivative.status for derivative in verdict.derivatives} == {"not traced"}
    assert all("the size of axis 2 of x (test_backward.py:" in derivative.text for derivative in verdict.derivatives)


CIRCUMSTANCES: dict[str, Callable[[Any], bool]] = {
    "in float16": lambda v: v.dtype == torch.float16,
    "in autocast": lambda v: torch.is_autocast_enabled("cpu"),
}


@pytest.mark.parametrize("where", CIRCUMSTANCES)
def test_where_derivatives_are_others_is_said(where: str) -> None:
    asks = twice(lambda v: 3 if CIRCUMSTANCES[where](v) else 2)
    verdict = prove_target(asks, "norm", "torch", backward=True)
    assert {derivative.status for derivative in verdict.derivatives} == {"proved"}
    assert f"derivatives {where} (it computes something else)" in verdict.unexamined


NAMES = {"weight", "x"}


def test_the_order_of_a_set_of_texts_is_named() -> None:
    def ordered(x: Any, weight: Any) -> Any:
        named = {"weight": weight, "x": x}
        first, second = (named[name] for name in NAMES)
        return rms(x, 1) * weight + 0 * (first - second)

    assert "another PYTHONHASHSEED, which orders the set NAMES" in prove_target(ordered, "f", "torch").unexamined


def test_an_assert_with_an_effect_is_named_with_its_line() -> None:
    line = asserting.__code__.co_firstlineno + 2
    verdict = prove_target(asserting, "rms_norm", "torch")
    assert verdict.status == "proved"
    assert f"Python with -O, which leaves out an assert (derived.py:{line})" in verdict.unexamined
