from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import lngeom as lg
from lngeom.proofs import find
from lngeom.prover import ProofError, dim
from lngeom.theorems import CheckError


def changed(centre: Any = 1, sample: bool = False, place: Any = None, power: int = 1) -> Callable[..., Any]:
    """LayerNorm with a share of the mean subtracted, divisor d − 1, another place of ε, or a power of the gain."""

    def layer_norm(x: Any, gain: Any = None, bias: Any = None, *, eps: Any, placement: Any = "inside") -> Any:
        mean, variance = lg.moments(x)
        variance = variance * dim(x) / (dim(x) - 1) if sample else variance
        y = (x - centre * mean) / lg.norms.scale(variance, eps=eps, placement=place or placement)
        return (y if gain is None else y * gain**power) + (0 if bias is None else bias)

    return layer_norm


BROKEN = {
    "sample": (changed(sample=True), "standardization.definition standardization.norm standardization.idempotent"),
    "no mean": (changed(centre=0), "standardization.mean_zero standardization.geometric irreversibility.shift"),
    "part of the mean": (changed(centre=2), "irreversibility.no_affine_recovery epsilon.constant"),
    "eps outside": (changed(place="outside"), "epsilon.norm epsilon.gauge epsilon.scaling irreversibility.inverse"),
    "gain squared": (changed(power=2), "standardization.affine standardization.recovered"),
}


@pytest.mark.parametrize(("name", "id"), [(name, id) for name, (_, ids) in BROKEN.items() for id in ids.split()])
def test_a_changed_layer_norm_breaks_the_proof(name: str, id: str, monkeypatch) -> None:
    for module in (lg, lg.norms):
        monkeypatch.setattr(module, "layer_norm", BROKEN[name][0])
    with pytest.raises((CheckError, ProofError)):
        replace(find(id)).prove(searched=False)  # without what it has computed
