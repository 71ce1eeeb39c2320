"""The proofs are about the library's own functions: change one, and named theorems fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import lngeom as lg
from lngeom.kernel import ProofError, dim
from lngeom.theorems import CheckError
from proofs import find, theorems


def affine(y: Any, gain: Any, bias: Any) -> Any:
    y = y if gain is None else y * gain
    return y if bias is None else y + bias


def sample_variance(x: Any, gain: Any = None, bias: Any = None, *, eps: Any, placement: Any = "inside") -> Any:
    mean, variance = lg.moments(x)
    unbiased = variance * dim(x) / (dim(x) - 1)
    return affine((x - mean) / lg.norms.scale(unbiased, eps=eps, placement=placement), gain, bias)


def not_centred(x: Any, gain: Any = None, bias: Any = None, *, eps: Any, placement: Any = "inside") -> Any:
    return affine(x / lg.norms.scale(lg.moments(x)[1], eps=eps, placement=placement), gain, bias)


def eps_outside(x: Any, gain: Any = None, bias: Any = None, *, eps: Any, placement: Any = "inside") -> Any:
    mean, variance = lg.moments(x)
    return affine((x - mean) / lg.norms.scale(variance, eps=eps, placement="outside"), gain, bias)


def gain_squared(x: Any, gain: Any = None, bias: Any = None, *, eps: Any, placement: Any = "inside") -> Any:
    mean, variance = lg.moments(x)
    squared = None if gain is None else gain * gain
    return affine((x - mean) / lg.norms.scale(variance, eps=eps, placement=placement), squared, bias)


BROKEN: dict[Callable[..., Any], tuple[str, ...]] = {
    sample_variance: (
        "standardization.definition",
        "standardization.norm",
        "standardization.idempotent",
        "epsilon.norm",
        "epsilon.fixed_point",
    ),
    not_centred: (
        "standardization.mean_zero",
        "standardization.geometric",
        "irreversibility.shift",
        "irreversibility.no_affine_recovery",
        "epsilon.constant",
    ),
    eps_outside: (
        "epsilon.norm",
        "epsilon.gauge",
        "epsilon.scaling",
        "irreversibility.inverse",
        "irreversibility.onto_ball",
    ),
    gain_squared: ("standardization.affine", "irreversibility.shared_statistics"),
}


@pytest.mark.parametrize(
    ("broken", "id"),
    [(broken, id) for broken, ids in BROKEN.items() for id in ids],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_a_changed_layer_norm_breaks_the_proof(
    broken: Callable[..., Any], id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theorem = replace(find(id))  # without what it has computed
    for module in (lg, lg.norms):
        monkeypatch.setattr(module, "layer_norm", broken)
    with pytest.raises((CheckError, ProofError)):
        theorem.prove()


def test_a_changed_projection_breaks_its_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lg, "project", lambda x: x)
    failed = set()
    for theorem in theorems():
        if theorem.chapter == "projection":
            try:
                replace(theorem).prove()
            except (CheckError, ProofError):
                failed.add(theorem.id)
    assert failed >= {"projection.mean_subtraction", "projection.annihilates_uniform", "projection.trace"}
