import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from lngeom.check import check
from lngeom.check._proving.proof import Proof
from lngeom.check._proving.verdict import prove_target
from lngeom.checker import Refused, recheck
from lngeom.cli import main
from lngeom.proofs._coqc import Library
from lngeom.proofs.certificates import replay, replays as _verify
from tests.kernels import traced

_NAMED = {f"k{k}_{status.replace(' ', '_')}": (status, function) for k, (status, function) in enumerate(
    (status, function) for status, table in traced.KERNELS for function in table.values())}  # fmt: skip
LABELS = [label for _, table in traced.KERNELS for label in table]


@pytest.fixture(scope="module")
def proofs() -> dict[str, Proof]:
    return {name: prove_target(function, name, "torch") for name, (_, function) in _NAMED.items()}


@pytest.mark.parametrize("name", _NAMED, ids=LABELS)
def test_a_kernel_gets_the_status_of_its_table(name: str, proofs: dict[str, Proof]) -> None:
    proof = proofs[name]
    assert proof.status == _NAMED[name][0], str(proof)
    assert bool(proof.certificates) == (proof.status in ("proved", "variant"))
    assert "c₁" not in "".join(proof.obligations)
    assert proof.status != "proved" or proof.dimensions == "every d ≥ 1"
    assert _NAMED[name][1] is not traced.VARIANT["gated"] or proof.counterexample is None
    if proof.status == "refuted":
        assert proof.counterexample is not None
        assert proof.counterexample["code"] != proof.counterexample["expected"]


def test_code_on_numpy_is_traced() -> None:
    statuses = {name: prove_target(kernel, name, "numpy").status for name, kernel in traced.NUMPY.items()}
    assert statuses == {name: "variant" if "variant" in name else "proved" for name in traced.NUMPY}

    def in_place(x: Any, g: Any) -> Any:
        x -= x.mean(-1, keepdims=True)
        return x * g

    assert "is changed in place" in prove_target(in_place, "in_place", "numpy").text


def test_a_kernel_of_any_name_is_shown() -> None:
    assert "certificate" in str(prove_target(dict(traced.KERNELS)["proved"]["fused rms"], "divided_by_rms", "torch"))


def test_the_range_comes_from_the_obligations() -> None:
    def unbiased(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) * weight + bias

    proof = prove_target(unbiased, "unbiased", "torch")
    assert (proof.status, proof.dimensions) == ("variant", "every d > 1")
    assert "−1 + d ≠ 0, proved for d > 1" in proof.obligations
    batch = prove_target(torch.nn.BatchNorm1d, "BatchNorm1d", "torch")
    assert "running_var ≥ 0" in batch.hypotheses


def test_a_class_a_module_and_a_function_are_one_norm() -> None:
    class Mine(torch.nn.Module):
        def __init__(self, dim: int, eps: float = 1e-5) -> None:
            super().__init__()
            self.eps, self.gain = eps, torch.nn.Parameter(torch.ones(dim))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.rms_norm(x, (x.shape[-1],), self.gain, self.eps)

    def function(dim: int, eps: float) -> Any:
        return lambda x, gain: F.rms_norm(x, (dim,), gain, eps)

    made = Mine, Mine(16), lambda dim, eps: Mine(dim, eps), function
    told = {prove_target(target, "Mine", "torch").text for target in made}
    assert told == {"Mine computes gain∘RMSNorm(x; ε = eps)"}
    assert prove_target(Mine(16), "Mine", "torch").eps == 1e-5


@pytest.fixture(scope="module")
def certificates(proofs: dict[str, Proof]) -> list[Any]:
    layers = [getattr(torch.nn, name) for name in ("LayerNorm", "RMSNorm", "BatchNorm1d", "GroupNorm")]
    more = [prove_target(layer, layer.__name__, "torch", backward=layer is torch.nn.RMSNorm) for layer in layers]
    more += [prove_target(kernel, f"n{k}", "numpy") for k, kernel in enumerate(traced.NUMPY.values())]
    every = [data for proof in [*proofs.values(), *more] for data in proof.certificates]
    return list({json.dumps([data["statement"], data["terms"]]): data for data in every}.values())


def test_the_second_checker_accepts_and_refuses(certificates: list[Any]) -> None:
    assert len(certificates) >= 60
    assert all(recheck(certificate) > 0 for certificate in certificates)
    for certificate in [each for each in certificates if each["statement"]["conclusion"][0]][::7]:
        forged = copy.deepcopy(certificate)
        forged["statement"]["conclusion"][0] = 0
        with pytest.raises(Refused):
            recheck(forged)


def test_coq_replays_every_certificate(certificates: list[Any], compiled: Callable[[Library], Path]) -> None:
    folder = compiled(_verify._COQ)
    replay(certificates, folder)
    told = (folder / "Replay.v").read_text(encoding="utf-8")
    assert f"Theorem {certificates[0]['id'].replace('.', '__')} (R : rcfType) (n : nat)" in told


KERNELS = """
import torch
def right(x, weight, eps=1e-6):
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps))
def one_pass(x, weight, bias, eps=1e-5):
    m = x.mean(-1, keepdim=True)
    return (x - m) / torch.sqrt((x * x).mean(-1, keepdim=True) - m * m + eps) * weight + bias
def wrong(x, weight, eps=1e-6):
    return weight * (x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps))
"""


@pytest.mark.usefixtures("some_kernels")
def test_the_command_says_both_and_writes_certificates(capsys) -> None:
    options = ["--d", "8", "--proved"]
    assert main(["check", "some_kernels:right", *options, "--certificate", "right.json", "--json", "found.json"]) == 0
    proof = json.loads(Path("found.json").read_text())["results"][0]["proof"]
    assert (proof["status"], proof["dimensions"]) == ("proved", "every d ≥ 1")
    assert len(proof["certificate_sha256"]) == 64
    assert [recheck(certificate) for certificate in json.loads(Path("right.json").read_text())]
    capsys.readouterr()
    assert main(["check", "some_kernels:one_pass", "--d", "8"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(
        "FAIL one_pass: one-pass variance mean(x^2) - mean(x)^2, whose relative error grows as kappa^2 (unstable)"
    )
    assert "\n  proved      one_pass computes weight∘LayerNorm" in printed
    assert main(["check", "some_kernels:wrong", "--d", "8", "--kind", "rmsnorm"]) == 1
    assert "refuted     wrong is not weight∘RMSNorm(x; ε = eps)" in capsys.readouterr().out
    assert main(["check", "some_kernels:wrong", "--d", "8", "--certificate", "wrong.json"]) == 1
    assert "nothing was proved" in capsys.readouterr().err


def test_what_is_allowed_may_be_proved_as_a_variant() -> None:
    finding = check(torch.nn.RMSNorm, d=8, eps=1e-6, kind="rmsnorm")
    assert finding.passes(proved=True)
    assert not replace(finding, proof=Proof("refuted", "f is another function")).passes()
    formula = "(1 + weight)∘RMSNorm(x; ε = eps)"
    variant = Proof("variant", f"f computes {formula}", formula=formula)
    assert not variant.passes()
    assert variant.passes(("1 + weight",))
    one = check(lambda x, weight, eps=1e-6: F.rms_norm(x, x.shape[-1:], 1 + weight, eps), kind="rmsnorm", d=8)
    two = check(lambda x, w, eps=1e-6: (1 + w) * x / (x.square().mean(-1, True).sqrt() + eps), kind="rmsnorm", d=8)
    for word in ("1 + weight", "1 + gain", "Gemma", "outside the root", "RMSNorm", " "):
        assert one.passes((word,), proved=True) == one.passes((word,)) == (word[0] in "1G")
        assert not two.passes((word,))
        assert not (two.proof and two.proof.passes((word,)))
    assert two.passes(("Gemma", "outside the root"), proved=True)


def test_what_each_parameter_is_for_is_read_off_the_proof() -> None:
    finding = check(lambda x, moves, stretch: F.layer_norm(x, x.shape[-1:], stretch, moves, 1e-5), d=8)
    assert finding.proof is not None
    assert finding.proof.text.endswith("computes stretch∘LayerNorm(x; ε = 1e-05) + moves")
    assert (finding.verdict, finding.kind, finding.eps) == ("rounding", "layernorm", 1e-5)


def test_a_proof_does_not_overrule_a_parameters_name() -> None:
    finding = check(lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], bias, gain, 1e-5), kind="layernorm", d=8)
    assert (finding.verdict, finding.cause) == ("bug", "gain and bias exchanged")
    assert finding.proof is not None
    assert finding.proof.status == "variant"


def test_a_norm_of_the_second_axis_is_proved_for_images_too() -> None:
    def channels(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
        scale = torch.rsqrt(x.square().mean(1, keepdim=True) + eps)
        return x * scale * weight.view(-1, *([1] * (x.dim() - 2)))

    proof = prove_target(channels, "channels", "torch")
    assert (proof.shape, proof.unexamined) == ("(B, d) or (B, d, L) or (B, d, H, W)", ())


def test_a_bias_that_multiplies_makes_a_variant() -> None:
    def scaled(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], bias, None, 1e-5)

    assert prove_target(scaled, "scaled", "torch").status == "variant"


def rms(x: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


@pytest.mark.parametrize(
    ("norm", "told"),
    [
        (lambda x, gain: rms(x) * (2 * gain if x.shape[-1] > 5 else 1 + gain), r"refuted.* where d > 5; .*\(1 \+ g"),
        (lambda x, gain, eps=0.0: rms(x, eps) * gain, "not traced.* it is not proved that .* > 0"),
        (lambda x, gain: rms(x) * 2e38 / 2e38 * gain, "not traced.* at d = 8 in float32 it gives inf for 2"),
    ],
    ids=["worst path", "eps of 0", "some components"],
)
def test_the_worst_path_eps_or_component_decides_the_status(norm: Any, told: str) -> None:
    assert re.match(told, str(prove_target(norm, "norm", "torch")))
