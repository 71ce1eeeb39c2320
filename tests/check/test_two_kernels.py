import pytest

from lngeom.check import check
from lngeom.check._proving import traced
from lngeom.cli import main
from lngeom.errors import InputError

from .conftest import recorded

KERNELS = """
import torch
def reference(x, gamma, epsilon=1e-6):
    wide = x.float()
    return (wide * (wide.pow(2).mean(-1, keepdim=True) + epsilon).rsqrt() * gamma).to(x.dtype)
def divided(x, weight, eps=1e-6): return x * weight / torch.sqrt((x * x).sum(-1, keepdim=True) / x.shape[-1] + eps)
def gemma(x, weight, eps=1e-6): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (1 + weight)
def fixed(x, weight): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight
def layer(x, weight, bias, eps=1e-5): return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
def batch(x, weight): return x * weight / x.sum()
def half(x, weight, eps=1e-6): return weight * x * torch.rsqrt(x[..., ::2].pow(2).mean(-1, keepdim=True) + eps)
def short(x, weight, eps=1e-6):
    if x.shape[-1] > 64: raise ValueError("too long")
    return divided(x, weight, eps)
def makes(k): return torch.nn.LayerNorm(k)
def first(x, weight, eps=1e-6): return weight * x * torch.rsqrt(x[..., :1].pow(2).mean(-1, keepdim=True) + eps)
"""


pytestmark = pytest.mark.usefixtures("some_kernels")


def test_two_kernels_compute_the_same_function(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["some_kernels:divided", "--spec", "some_kernels:reference", "--d", "16", "--json", "found.json"]
    assert main(["check", *asked, "--proved"]) == 0
    told = capsys.readouterr().out
    assert "divided computes some_kernels:reference(x, weight, eps) in exact arithmetic, for every d ≥ 1" in told
    assert "beside      some_kernels:reference: the same bits in" in told
    beside = recorded()["results"][0]["beside"]
    assert 0 < beside["equal"] < beside["rows"]
    assert 1 <= beside["last_places"] < 8
    assert beside["of_both_bounds"] < max(beside["of_bounds"]) < 1
    assert all(0 < part < 1 for part in beside["nearer"])
    assert not main(["check", "some_kernels:divided", "--d", "16"])
    assert "beside" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kernel", "spec", "d", "code", "exact"),
    [
        ("gemma", "reference", 1, 1, "(1 + weight)∘RMSNorm"),
        ("half", "reference", 2, 1, "half is not some_kernels:reference(x, weight, eps)"),
        ("half", "first", 3, 1, "half is not some_kernels:first(x, weight, eps)"),
        ("first", "first", 0, 0, "first computes some_kernels:first(x, weight, eps)"),
    ],
)
def test_another_function_is_refuted_at_a_smallest_input(kernel: str, spec: str, d: int, code: int, exact: str) -> None:
    finding = check(f"some_kernels:{kernel}", spec=f"some_kernels:{spec}", d=16)
    assert finding.proof is not None
    assert finding.beside is not None
    assert exact in finding.proof.text
    assert (finding.proof.counterexample or {"d": 0})["d"] == d
    assert finding.passes() != code
    assert (finding.beside.equal == finding.beside.rows) != code


def test_eps_is_the_same_number_in_both() -> None:
    """A setting stands for a setting; a number that one writes for the value of the other."""
    finding = check("some_kernels:divided", spec="some_kernels:fixed", d=16)
    assert finding.proof is not None
    assert (finding.verdict, finding.proof.status, finding.proof.given) == ("rounding", "proved", ("eps = 1e-06",))
    finding = check("some_kernels:fixed", spec="torch.nn:RMSNorm", d=16)  # whose default is that of the format
    assert finding.proof is not None
    assert finding.beside is not None
    assert (finding.verdict, finding.proof.status) == ("bug", "variant")
    assert finding.beside.nearer[0] < finding.beside.nearer[1]


def test_a_module_beside_a_function_has_its_gain() -> None:
    for kernel, spec in (
        ("torch.nn:LayerNorm", "some_kernels:layer"),
        ("some_kernels:layer", "torch.nn:LayerNorm"),
        ("some_kernels:layer", "some_kernels:makes"),  # of no name that tells that it makes one
    ):
        finding = check(kernel, spec=spec, d=16)
        assert finding.beside is not None
        assert finding.beside.equal == finding.beside.rows > 0


def test_the_other_kernel_is_what_runs_and_its_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = check("some_kernels:divided", spec="some_kernels:short", d=16).proof
    assert proof is not None
    assert any(text.startswith("some_kernels:short where d > 64, which it rejects") for text in proof.unexamined)
    monkeypatch.setattr(traced, "differs", lambda *_: "at d = 3")
    with pytest.raises(InputError, match=r"specifies nothing: the code that runs is not .* traced: at d = 3"):
        check("some_kernels:divided", spec="some_kernels:short", d=16)


def test_what_is_not_traced_says_why() -> None:
    """A kernel is compared without a proof; what specifies it has to be traced, with the same parameters."""
    finding = check("some_kernels:batch", spec="some_kernels:reference", d=16)
    assert finding.proof is not None
    assert finding.beside is not None
    assert (finding.proof.status, finding.beside.of_bounds[0]) == ("not traced", None)
    for spec, told in (("batch", "batch specifies nothing, as it is not traced: a sum over"), ("layer", "a bias")):
        with pytest.raises(InputError, match=told):
            check("some_kernels:divided", spec=f"some_kernels:{spec}", d=16)
