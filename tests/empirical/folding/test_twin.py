import json

import pytest
import torch
import transformers as hf

from lngeom.cli import main
from lngeom.empirical.folding import layernorm_twin, own, sample_inputs
from lngeom.empirical.folding.certificate import certify_maps
from lngeom.empirical.support import ModelError
from tests.support import failed, said

from ..networks import FAMILIES, RMS, agrees, compared, corpus_for, trained


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


def test_the_command_writes_a_twin_with_a_certificate(tmp_path, capsys) -> None:
    original, written = trained(RMS["llama"], torch.float32), tmp_path / "written"
    original.save_pretrained(tmp_path / "model")
    words = ["--to", "layernorm", "--corpus", str(corpus_for(original, tmp_path)), "--sequence-length", "16"]
    assert main(["fold", str(tmp_path / "model"), *words, "--output", str(written)]) == 0
    assert "replaced 5 RMSNorms by LayerNorms without parameters" in capsys.readouterr().out
    twin, inputs = hf.AutoModelForCausalLM.from_pretrained(written).eval(), sample_inputs(original, seed=2)
    with torch.inference_mode():
        gap = (original(**inputs).logits - twin(**inputs).logits).abs().max()
    assert isinstance(twin, hf.OlmoForCausalLM)
    assert gap <= json.loads((written / "certificate.json").read_text())["compared"]["limit_in_float64"]
    assert main(["fold", "--verify", str(written)]) == 0
    with torch.no_grad():
        own(twin, "model.layers.0.mlp.up_proj.weight")[0, 0] += 1e-3
    twin.save_pretrained(written)
    failed(said("fold", "--verify", written), "up_proj.weight is not the lifted map, rounded once")
