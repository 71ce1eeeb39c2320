import copy
import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from torch import nn

import lngeom
import lngeom.empirical
from lngeom.cli import main
from lngeom.empirical.folding import Fold, load_folded, own, sample_inputs
from lngeom.empirical.folding.certificate import certify_maps, failures, ruin
from lngeom.empirical.porting import compare_weights
from lngeom.empirical.support import ModelError, read_table
from lngeom.files import read_sealed, sha256_of, write_sealed
from tests.support import failed, refused, said

from ..conftest import SHARED, tiny_config
from ..networks import FAMILIES, RMS, ROUNDING, VISION, Odd, agrees, compared, corpus_for, saved, trained

ENTRIES = {"whisper": "model.encoder.layers.0", "bloom": "transformer.h.0"}


@pytest.mark.parametrize(
    ("family", "gains", "dtype"),
    [
        *((name, True, torch.float32) for name in FAMILIES),
        *((name, False, torch.float64) for name in ("gpt2", *ENTRIES)),
    ],
    ids=str,
)
def test_every_family_computes_the_same(family: str, gains: bool, dtype: torch.dtype) -> None:
    network = trained(FAMILIES[family], dtype)
    before, settings = copy.deepcopy(network.state_dict()), network.config.to_dict()
    folded = lngeom.empirical.fold(network, gains=gains)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert network.config.to_dict() == settings
    assert [path for path, module in folded.model.named_modules() if isinstance(module, nn.LayerNorm)] == []
    assert [path for path, _ in folded.entries] == ([ENTRIES[family]] if family in ENTRIES else [])
    assert folded.moved if gains and "falcon" not in family else not folded.moved
    assert all(entry["exact"] for entry in certify_maps(network, folded))
    comparison = compared(network, folded)
    assert agrees(comparison)
    assert comparison["top1"] == 1
    half_the_digits = math.sqrt(torch.finfo(dtype).eps)
    assert comparison["largest_difference"] < half_the_digits * comparison["largest_output"]


@pytest.mark.parametrize("family", RMS)
def test_gains_of_rms_norm_models_move_and_nothing_is_centred(family: str) -> None:
    network = trained(RMS[family])
    with pytest.raises(ModelError, match="it has no LayerNorm, so no mean is subtracted and none may be removed"):
        lngeom.empirical.fold(network)
    folded = lngeom.empirical.fold(network, gains=True)
    assert len(folded.moved) == 5
    assert {entry.change for entry in folded.maps} == {"folded", "neutral"}
    assert agrees(compared(network, folded))
    own(folded.model, "model.embed_tokens.weight").data = lngeom.folding.center_writer(
        own(folded.model, "model.embed_tokens.weight").data, layout="conv1d"
    )[0]
    assert not agrees(compared(network, folded)), "the embeddings of an RMSNorm model must stay as they are"


def _other_eps(folded: Fold) -> None:
    # 1e-5 written into the code, whatever the model says: here the model says 1e-3.
    for module in folded.model.modules():
        if type(module).__name__ == "RMSNorm":
            module.eps = 1e-5  # type: ignore[assignment]


def _one_writer(folded: Fold) -> None:
    with torch.no_grad():
        own(folded.model, "transformer.h.1.mlp.c_proj.bias").add_(0.01)


@pytest.mark.parametrize("slip", [_other_eps, _one_writer])
def test_a_dropped_condition_is_seen_in_the_outputs(slip: Callable[[Fold], None]) -> None:
    network = trained(FAMILIES["gpt2"])
    for module in network.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 1e-3
    folded = lngeom.empirical.fold(network)
    assert set(folded.norms.values()) == {1e-3}
    assert agrees(compared(network, folded))
    slip(folded)
    assert not agrees(compared(network, folded))


def test_a_nonlinear_entry_needs_its_centring() -> None:
    network = trained(FAMILIES["whisper"])
    folded = lngeom.empirical.fold(network)
    folded.model.get_submodule(ENTRIES["whisper"])._forward_pre_hooks.clear()
    assert not agrees(compared(network, folded))


def test_tied_embeddings_are_untied() -> None:
    network = trained(FAMILIES["gpt2"])
    assert network.lm_head.weight is network.transformer.wte.weight
    folded = lngeom.empirical.fold(network)
    checkpoint: Any = folded.checkpoint
    assert folded.untied == ["transformer.wte.weight"]
    assert torch.equal(checkpoint.lm_head.weight, network.lm_head.weight)
    assert not checkpoint.config.tie_word_embeddings
    checkpoint.lm_head.weight = folded.model.lm_head.weight = checkpoint.transformer.wte.weight  # type: ignore[union-attr]
    assert not agrees(compared(network, folded))


@pytest.mark.parametrize(
    ("oddity", "reason"),
    [
        ("reader", "a reader without a norm: linear in b sees the mean of the stream"),
        ("output", "a reader without a norm: the stream itself, .* is an output of the model"),
        ("gelu", "unknown writer: gelu in the model is not a linear map, and writes inside the network"),
        ("dropout", r"dropout is on, at dropout in drop, between a writer and the stream: call eval\(\)"),
    ],
)
def test_what_cannot_be_folded_is_refused_with_the_reason(oddity: str, reason: str) -> None:
    network = trained(lambda: Odd(oddity))
    plain = trained(Odd)
    assert agrees(compared(plain, lngeom.empirical.fold(plain)))
    network.train(oddity == "dropout")
    if oddity == "gelu":  # the first norm reads the embedding alone
        partly = lngeom.empirical.fold(network)
        assert list(partly.norms) == ["p"]
        assert re.match(reason, partly.kept["q"])
    else:
        with pytest.raises(ModelError, match=reason):
            lngeom.empirical.fold(network)
    if oddity == "dropout":
        assert len(lngeom.empirical.fold(network.eval()).norms) == 2


@pytest.mark.parametrize("gains", [False, True])
@pytest.mark.parametrize("oddity", ["shared norm", "shared gain", "item", "view", "long"])
def test_what_is_folded_is_the_network_on_inputs_of_any_length(oddity: str, gains: bool) -> None:
    network = trained(lambda: Odd(oddity))
    try:
        folded = lngeom.empirical.fold(network, gains=gains)
    except ModelError:
        assert "shared" not in oddity
        return
    inputs = torch.randint(9, (2, 16), generator=torch.Generator().manual_seed(2))
    right, got = (each(inputs)["logits"] for each in (network, folded.model))
    assert (right - got).abs().max() < 1e-12 * right.abs().max()


def test_a_fold_of_a_network_without_norms_fails() -> None:
    network = trained(Odd)
    network.p, network.q = nn.Identity(), nn.Identity()
    folded = lngeom.empirical.fold(network, gains=True)
    certificate = {"norms": folded.norms, "moved": folded.moved, "maps": certify_maps(network, folded)}
    assert failures(certificate) == ["no norm is recorded as folded"]


NEAR = {"outputs": 100, "dtype": "float16", "largest_difference": 0.1, "difference_in_float64": 0.01,
        "limit_in_float64": 0.01, "top1": 0.97, "top1_of_control": 0.99}  # fmt: skip


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({}, ""),
        ({"difference_in_float64": 0.011}, "an output differs by 0.1, and in float64 by 0.011"),
        ({"largest_difference": math.inf}, "an output differs by inf"),
        ({"top1": 0.96}, "top-1 stays at 96.00 % of 100 outputs in float16, at 99.00 % if its weights are rounded"),
    ],
)
def test_outputs_too_far_apart_are_told(found: dict[str, float], told: str) -> None:
    assert [line.startswith(told) for line in ruin({**NEAR, **found})] == [True] * bool(told)


def test_post_norm_needs_constant_gains_and_centred_biases(tmp_path) -> None:
    network = trained(lambda: hf.BertForMaskedLM(tiny_config("bert")))
    partly = lngeom.empirical.fold(network)
    assert agrees(compared(network, partly))
    assert list(partly.norms) == ["bert.embeddings.LayerNorm"], "whose input alone is a sum of writers"
    last = partly.kept["bert.encoder.layer.1.output.LayerNorm"]
    assert last.startswith("Post-LN: bert.encoder.layer.1.attention.output.LayerNorm writes to the stream itself")
    network.save_pretrained(tmp_path / "model")
    words = ["--corpus", str(corpus_for(network, tmp_path)), "--output", str(tmp_path / "folded")]
    assert main(["fold", str(tmp_path / "model"), *words]) == 0
    assert main(["fold", "--verify", str(tmp_path / "folded")]) == 0, "biases that stay tied are stored under each name"
    for path, module in network.named_modules():
        if isinstance(module, nn.LayerNorm) and not path.startswith("cls"):
            module.weight.data.fill_(0.7)
            module.bias.data -= module.bias.data.mean()
    folded = lngeom.empirical.fold(network)
    assert len(folded.norms) == 5
    assert agrees(compared(network, folded))
    assert list(folded.kept) == ["cls.predictions.transform.LayerNorm"], "it reads a GELU"


def test_layer_scales_move_into_their_writers_and_inputs_may_be_given(tmp_path, capsys) -> None:
    network = trained(lambda: hf.BeitForImageClassification(hf.BeitConfig(**VISION)), torch.float32)
    network.save_pretrained(tmp_path / "model")
    batch: dict[str, Any] = {name: t.numpy() for name, t in sample_inputs(network, seed=3).items()}
    np.savez(tmp_path / "batch.npz", **batch)
    words = ["--inputs", str(tmp_path / "batch.npz"), "--output", str(tmp_path / "folded")]
    assert main(["fold", str(tmp_path / "model"), *words]) == 0
    assert "replaced 5 LayerNorms by RMSNorms" in (told := capsys.readouterr().out)
    assert "(given: batch.npz)" in told
    assert main(["fold", "--verify", str(tmp_path / "folded")]) == 0
    folded = lngeom.empirical.fold(network)
    writers = [entry.parameter for entry in folded.maps if entry.weight]
    assert len(writers) == 8
    assert all(entry["exact"] for entry in certify_maps(network, folded))
    own(folded.checkpoint, writers[0]).data[0] *= 1 + 2.0**-20
    assert [entry["parameter"] for entry in certify_maps(network, folded) if not entry["exact"]] == writers[:1]
    words = ["fold", tmp_path / "model", "--inputs", tmp_path / "model" / "config.json"]
    refused(said(*words), "no .npz file of inputs by name")


WRITTEN = [
    *((family, "fold --gains", "largest output difference: ") for family in ("gpt2", "vit", *ENTRIES)),
    ("llama", "fold --to=layernorm", "replaced 5 RMSNorms by LayerNorms without parameters"),
    *((family, f"gauge {how}", "mean angle to the all-ones vector at")
      for family, how in (("whisper", "--shift=-1"), ("llama", "--rotate=0"), ("gpt2", "--angle=45"))),
]  # fmt: skip
"""A network, a command on it, and what the command prints."""


@pytest.mark.parametrize(("family", "words", "printed"), WRITTEN)
def test_the_stock_class_loads_what_a_command_writes(family: str, words: str, printed: str, tmp_path, capsys) -> None:
    (network, given), (command, *how) = saved(family, tmp_path), words.split()
    written, inputs = tmp_path / "written", sample_inputs(network, seed=2)
    assert main([command, *given, *how, "--output", str(written)]) == 0
    assert printed in capsys.readouterr().out
    certificate = json.loads((written / "certificate.json").read_text())
    assert certificate["compared"]["outputs"] == {"whisper": 16, "vit": 2}.get(family, 64)
    assert certificate["compared"]["limit_in_float64"] == certificate["compared"]["largest_output"] * 2.0**-12
    stock = (hf.OlmoForCausalLM if "layernorm" in words else type(network)).from_pretrained(written).eval()
    assert stock.config.architectures == [type(stock).__name__]
    assert list(written.glob("*.safetensors"))
    with torch.inference_mode():
        for other in (stock, *[load_folded(written)] * ("--gains" in how)):
            gap = (network(**inputs).logits - other(**inputs).logits).abs().max()
            assert gap <= certificate["compared"]["limit_in_float64"]
    assert main([command, "--verify", str(written)]) == 0
    own(stock, certificate["maps"][-1]["parameter"]).data.add_(1e-3)
    stock.save_pretrained(written)
    told = failed(said(command, "--verify", written), "the weights of the folded network are not those of the certif")
    assert ("is not the lifted map, rounded once" in told) == ("layernorm" in words)


@pytest.mark.parametrize("family", ["gpt2", "vit", *ENTRIES])
def test_an_ablation_takes_a_directory_and_a_corpus_of_any_kind(family: str, tmp_path, capsys) -> None:
    run = ["--no-sites", "--directions", "1", "--device", "cpu", "--output", str(tmp_path / "run")]
    assert main(["ablate", *saved(family, tmp_path)[1], *run]) == 0
    costs = {row["change"]: row for row in read_table(tmp_path / "run" / "ablation.csv") if row["site"] == "all"}
    assert abs(costs["folded"]["nats"]) <= ROUNDING < costs["rms_norm"]["kl"]
    told = capsys.readouterr().out
    assert all(f"{name}: " in told for name in ("folded", "rms_norm", "u_norm", "nats", "kl", "top1"))
    assert "centred: " not in told


def test_pictures_may_have_two_sides_and_a_network_that_needs_float32_is_refused() -> None:
    sides = {"image_size": [8, 12], "num_detection_tokens": 4}
    yolos = trained(lambda: hf.YolosForObjectDetection(hf.YolosConfig(**VISION | sides)))
    assert agrees(compared(yolos, lngeom.empirical.fold(yolos)))
    size: dict[str, Any] = {"d_model": 16, "ffn_dim": 32, "num_layers": 1, "attention_heads": 2, **SHARED}
    xglm = trained(lambda: hf.XGLMForCausalLM(hf.XGLMConfig(**size)), torch.float32)
    with pytest.raises(ModelError, match=r"does not run in float64, .* \(RuntimeError: value cannot be converted"):
        lngeom.empirical.fold(xglm)


def test_networks_that_read_more_than_a_text_or_hold_a_nan_are_refused_in_a_sentence(tmp_path) -> None:
    vit, sound = (trained(FAMILIES[name], torch.float32) for name in ("vit", "gpt2"))
    broken = copy.deepcopy(sound)
    (name, weight), *_ = broken.named_parameters()
    weight.data[0, 0] = float("nan")
    places = {"vit": vit, "broken": broken}
    for place, network in places.items():
        network.save_pretrained(tmp_path / place)
    words = ["--corpus", str(corpus_for(sound, tmp_path)), "--output", str(tmp_path / "run")]
    commands = {"fold": words, "gauge": [*words, "--angle", "60"], "ablate": words, "doctor": [str(tmp_path / "vit")]}
    for command, more in commands.items():
        refused(said(command, tmp_path / "vit", *more), "ViTForImageClassification reads more than a text")
        refused(said(command, tmp_path / "broken", *more), f"{name} holds a NaN")
    refused(said("sweep", tmp_path / "vit", *words), "vit reads no text: write a function")
    changed = [weight for weight in compare_weights(sound, broken) if weight.state != "same"]
    assert changed[0] == (name, "changed", "off by nan of its length")


def test_a_certificate_sees_what_was_changed_behind_its_back(tmp_path) -> None:
    folded = tmp_path / "folded"
    assert main(["fold", *saved("gpt2", tmp_path)[1], "--output", str(folded)]) == 0
    assert main(["fold", "--verify", str(folded)]) == 0
    path = folded / "certificate.json"
    whole = read_sealed(path)
    other_eps = {path: 1.1 * eps for path, eps in whole["norms"].items()}
    for tampered, line in (
        ({**whole, "norms": other_eps}, "norms.transformer.h.0.ln_1 of the certificate does not follow"),
        ({**whole, "weights_sha256": {**whole["weights_sha256"], "original": "0"}}, "the weights of the original"),
        ({**whole, "maps": [{}]}, "its certificate lacks maps.0.parameter"),
        ({**whole, "moved": "all"}, "its certificate has another kind of moved"),
        ({"format": whole["format"]}, "its certificate lacks location"),
    ):
        write_sealed(path, tampered)
        failed(said("fold", "--verify", folded), f"\n  {line}")
    write_sealed(path, {**whole, "format": 5})
    line = "its certificate has format 5, read is 6; fold the model again"
    refused(said("fold", "--verify", folded), line)
    write_sealed(path, whole)
    kept = path.read_bytes()
    path.write_bytes(kept[:50] + bytes([kept[50] ^ 1]) + kept[51:])
    assert main(["fold", "--verify", str(folded)]) == 2
    path.write_bytes(kept)
    (folded / "modeling_ours.py").write_text("")
    write_sealed(path, whole | {"files": whole["files"] | {"modeling_ours.py": sha256_of(folded / "modeling_ours.py")}})
    failed(said("fold", "--verify", folded), "\n  modeling_ours.py may run code")
    (folded / "modeling_ours.py").unlink()
    write_sealed(path, whole)
    (folded / "onnx").mkdir()
    (folded / "README.md").write_text("ours")
    (folded / "onnx" / "README.md").write_text("ours")
    for file in (folded / name for name in ("worst.npz", "config.json", "generation_config.json")):
        whole_file = file.read_bytes()
        for how, change in (("changed", partial(file.write_bytes, whole_file + b" ")), ("missing", file.unlink)):
            change()
            failed(said("fold", "--verify", folded), rf"\n  {file.name} (was|is) {how} ")
        file.write_bytes(whole_file)
    assert main(["fold", "--verify", str(folded)]) == 0
    for name in ("chat_template.jinja", "README/model.py"):
        (added := folded / name).parent.mkdir(exist_ok=True)
        added.write_text("")
        failed(said("fold", "--verify", folded), f"\n  {name} was added")
        added.unlink()
