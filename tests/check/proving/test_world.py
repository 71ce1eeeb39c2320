import functools
import re

import numpy as np
import pytest
import torch

from lngeom.check._proving.proof import Proof
from lngeom.check._proving.verdict import prove_target
from lngeom.checker import recheck
from tests.kernels.traced import PROVED

from . import world


@functools.cache
def not_proved(name: str) -> Proof:
    world.STATE.update(calls=0)
    return prove_target(world.NOT_PROVED[name], "code", "torch", kind="rmsnorm")


@pytest.mark.parametrize("name", world.NOT_PROVED)
def test_code_outside_the_allow_list_is_not_proved(name: str) -> None:
    proof = not_proved(name)
    assert proof.status in ("not traced", "variant", "refuted"), str(proof)
    assert not proof.passes()


@pytest.mark.parametrize("name", world.EXCLUDED)
def test_values_and_circumstances_that_the_proof_leaves_out_are_listed(name: str) -> None:
    code, where, words = world.EXCLUDED[name]
    proof = prove_target(code, "code", "torch", kind="rmsnorm")
    assert proof.status == "not traced" or any(words in part for part in getattr(proof, where)), str(proof)


def test_a_caught_refusal_is_a_refusal() -> None:
    proof = prove_target(world.catches, "catches", "torch")
    assert proof.status == "not traced"
    assert "all is not among the operations" in proof.text
    assert "world.py" in proof.text


def test_a_branch_on_eps_is_two_formulas() -> None:
    proof = prove_target(lambda x, weight, eps=1e-6: world.rms(x, weight, max(eps, 1e-7)), "code", "torch")
    assert (proof.status, proof.text.count(" where ")) == ("proved", 2)
    assert "RMSNorm(x; ε = 1e-07) where ε < 1e-07" in proof.text


def test_the_code_s_own_numbers_are_where_it_is_tried() -> None:
    assert {49_999, 50_000, 50_001} <= set(not_proved("a size far away").sizes)


def test_a_certificate_says_what_it_is_about() -> None:
    proof = prove_target(PROVED["in place"], "code", "torch")
    words = proof.certificates[-1]["words"]
    assert words["program"] == proof.text
    assert set(re.findall(r"(\w+) [0-9a-f]{64}", words["sources"])) == {"_in_place", "mean", "square"}
    assert all(recheck(data) for data in proof.certificates)


def test_the_numbers_of_code_that_is_not_traced_are_tried_too() -> None:
    assert {6143, 6144, 6145} <= set(prove_target(lambda x: x / (x.shape[-1] // 6144), "code", "torch").sizes)


def test_a_cast_that_need_not_copy_shares_memory() -> None:
    def layer_norm(x, eps=1e-6):
        y = x * 1
        mean = y.mean(axis=-1, keepdims=True)
        h = y.astype(np.float64, copy=False)
        h -= mean
        return (y - mean) / np.sqrt((h * h).mean(axis=-1, keepdims=True) + eps)

    proof = prove_target(layer_norm, "layer_norm", "numpy")
    assert (proof.status, "float64, where it takes another path" in proof.unexamined) == ("proved", True)


def test_a_class_is_proved_after_torch_compile_has_wrapped_module_init(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo.mutation_guard import install_generation_tagging_init

    monkeypatch.setattr(torch.nn.Module, "__init__", torch.nn.Module.__init__)
    install_generation_tagging_init()
    assert prove_target(world.Norm, "Norm", "torch").status == "proved"
