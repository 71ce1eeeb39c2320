import pytest
import torch

from lngeom.empirical.folding import layernorm_twin, own
from lngeom.empirical.folding.certificate import certify_maps
from lngeom.empirical.support import ModelError

from ..networks import FAMILIES, RMS, agrees, compared, trained


def test_the_twin_has_layernorms_and_the_same_outputs() -> None:
    network = trained(RMS["llama"])
    twin = layernorm_twin(network)
    assert all(entry["exact"] for entry in certify_maps(network, twin))
    assert agrees(compared(network, twin))
    assert {type(m).__name__ for m in twin.checkpoint.modules() if "Norm" in type(m).__name__} == {"OlmoLayerNorm"}
    with torch.no_grad():
        own(twin.checkpoint, "model.layers.1.mlp.gate_proj.weight").mul_(1.5)
    assert not agrees(compared(network, twin))
    wrong = [entry["parameter"] for entry in certify_maps(network, twin) if not entry["exact"]]
    assert wrong == ["model.layers.1.mlp.gate_proj.weight"]


@pytest.mark.parametrize("make", [FAMILIES["gpt2"], RMS["gemma"], RMS["qwen3"]])
def test_other_networks_are_refused(make: object) -> None:
    with pytest.raises(ModelError, match="has no LayerNorm form here"):
        layernorm_twin(trained(make))  # type: ignore[arg-type]
