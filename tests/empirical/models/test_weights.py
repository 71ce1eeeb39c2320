import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

from lngeom.empirical.models import find_model, load_model
from lngeom.empirical.sweep import Sweep, run_sweep
from lngeom.errors import LngeomError

from ..conftest import Weights, rewritten


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "tiny"
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=16, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def _without(part: str) -> Callable[[Weights], Weights]:
    return lambda weights: {name: value for name, value in weights.items() if part not in name}


@pytest.mark.parametrize(
    ("change", "config", "message"),
    [
        (_without("layers.0."), {}, r"lacks 9 weights \(layers\.0\..* and 6 more\): .*file is incomplete"),
        (_without("model.norm."), {}, r"lacks 1 weight \(norm\.weight\): the file is incomplete"),
        (_without("0.mlp.up"), {}, r"lacks 1 weight \(layers\.0\.mlp\.up_proj\.weight\): the file is incomplete"),
        (_without(".input_layernorm."), {}, r"layers\.0\.input_layernorm\.weight, layers\.1\.input"),
        (lambda w: {f"net.{n.replace('mlp', 'ffn')}": v for n, v in w.items()}, {}, r"the file has net\."),
        (lambda w: w, {"num_hidden_layers": 3}, r"config\.json asks for more blocks than the 2 "),
        (lambda w: w, {"num_hidden_layers": -1}, "num_hidden_layers is -1: a model has a block"),
        (lambda w: {n.replace("proj.", "proj.base_layer."): v for n, v in w.items()}, {}, "holds an adapter"),
        (lambda w: w, {"intermediate_size": 24}, r"has shape \(.*\) in the file and \(.*24.*\) by config"),
        (lambda w: w, {"quantization_config": {"quant_method": "fp8"}}, r"stored quantized \(fp8\)"),
    ],
    ids=["block", "final norm", "tensor", "norms", "renamed", "n_layer", "no layer", "adapter", "shape", "fp8"],
)
def test_other_weights_are_refused(saved: Path, tmp_path, change: Any, config: Any, message: str) -> None:
    source = find_model(str(rewritten(shutil.copytree(saved, tmp_path / "changed"), change, **config)))
    with pytest.raises(LngeomError, match=message) as caught:
        load_model(source, device="cpu")
    assert "\n" not in str(caught.value)


def test_what_feeds_no_norm_may_be_missing(tmp_path) -> None:
    config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=16)
    BertForMaskedLM(config).save_pretrained(tmp_path)  # without a pooler, which the base model has
    assert all(name.startswith("cls.") for name in load_model(find_model(str(tmp_path)), device="cpu").unused)


def test_a_run_knows_its_weights(saved: Path, tmp_path, without_pages: None) -> None:
    model = rewritten(shutil.copytree(saved, tmp_path / "model"))
    sweep = Sweep(str(model), "random", tokens=32, sequence_length=8, shard_tokens=16, output=str(tmp_path / "run"))
    printed = io.StringIO()
    run_sweep(sweep, console=Console(file=printed, width=200))
    assert "not needed and not loaded: lm_head.weight" in printed.getvalue()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["unused_weights"] == ["lm_head.weight"]
    assert len(manifest["weights_sha256"]) == len(manifest["norm_weights_sha256"]) == 64


@pytest.mark.parametrize("sharded", [False, True], ids=["file", "index"])
def test_weights_that_the_configuration_names_are_hashed(sharded: bool, saved: Path, tmp_path) -> None:
    """A finished run is known by this hash, and not shown for other weights."""
    model = rewritten(shutil.copytree(saved, tmp_path / "named"), transformers_weights="sub/w.safetensors")
    (model / "sub").mkdir()
    held = (model / "model.safetensors").rename(model / "sub" / "w.safetensors")
    if sharded:
        index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(held), "sub/w.safetensors")}
        (model / "sub" / "w.safetensors.index.json").write_text(json.dumps(index))
        rewritten(model, transformers_weights="sub/w.safetensors.index.json")
    before = load_model(find_model(str(model)))
    save_file({name: 3 * value for name, value in load_file(held).items()}, held, {"format": "pt"})
    after = load_model(find_model(str(model)))
    assert not torch.equal(*(each.model.get_submodule("norm").weight for each in (before, after)))  # type: ignore[arg-type]
    assert before.revision != after.revision
