import json
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from lngeom.cli import main
from lngeom.empirical import folding
from lngeom.empirical.folding import Fold, rotate, sample_inputs, shift
from lngeom.empirical.folding.certificate import certify_maps
from lngeom.empirical.models import find_model
from lngeom.empirical.observe import random_rotation, reflection
from lngeom.empirical.support import ModelError
from lngeom.empirical.text import open_corpus
from tests.support import refused, said

from ..conftest import VOCABULARY, WIDTH, tiny_config
from ..networks import FAMILIES, RMS, Odd, agrees, compared, saved, trained

_GEMMA2: Callable[[], Any] = lambda: hf.Gemma2ForCausalLM(  # noqa: E731
    hf.Gemma2Config(
        hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=8,
        intermediate_size=32, vocab_size=VOCABULARY,
    )
)  # fmt: skip


def _shifted(network: Any) -> Fold:
    return shift(network, amount=1.0)


def _rotated(network: Any) -> Fold:
    return rotate(network, random_rotation(WIDTH, 5))


def wide(network: Any) -> list[str]:
    return [path for path, norm in folding.find_norms(network, sample_inputs(network)).items() if norm.d == WIDTH]


def proved(network: Any, changed: Fold) -> bool:
    return all(entry["exact"] for entry in certify_maps(network, changed)) and agrees(compared(network, changed))


@pytest.mark.parametrize(("family", "degrees"), [*zip(FAMILIES, cycle((10.0, 120.0)))])
def test_every_layer_norm_is_taken_to_any_angle(family: str, degrees: float) -> None:
    network = trained(FAMILIES[family])
    batches = [sample_inputs(network, seed=3)]
    changed = shift(network, batches, degrees=degrees)
    assert proved(network, changed)
    angles = folding.mean_angles(changed.checkpoint, batches, wide(network))
    if "falcon" in family:  # no biases: one constant for all norms
        assert np.mean(list(angles.values())) == pytest.approx(degrees)
        return
    assert angles == pytest.approx(dict.fromkeys(angles, degrees))  # attention of transformers is in float32
    assert not changed.kept


@pytest.mark.parametrize("family", RMS)
def test_angles_to_1_are_those_to_any_direction(family: str) -> None:
    network = trained(RMS[family])
    batches, paths = [sample_inputs(network, seed=3)], wide(network)
    rotation = random_rotation(WIDTH, 5)
    changed = rotate(network, rotation)
    assert proved(network, changed)
    assert len(changed.maps) > 2 * len(paths)
    direction = rotation.T @ np.full(WIDTH, WIDTH**-0.5)
    mirrored = rotate(network, reflection(direction))
    turned, to_direction = (folding.mean_angles(each.checkpoint, batches, paths) for each in (changed, mirrored))
    # Norms of transformers compute in float32: four roundings each (square, mean, root, product), of vectors that are
    # added to the stream, whose direction moves by no larger angle.
    assert turned == pytest.approx(to_direction, rel=0, abs=np.rad2deg(4 * len(paths) * 2.0**-24))
    assert max(abs(turned[path] - angle) for path, angle in folding.mean_angles(network, batches, paths).items()) > 1


@pytest.mark.parametrize(
    ("make", "gauge", "reason"),
    [
        (lambda: Odd("reader"), _shifted, "reads it and is not a LayerNorm"),
        (lambda: Odd("output"), _shifted, "it is an output of the model"),
        (RMS["llama"], _shifted, "the gauge of RMSNorms is a rotation"),
        (FAMILIES["gpt2"], _rotated, "its norms are no RMSNorms"),
        (_GEMMA2, _rotated, "post_attention_layernorm keeps its gain: add in .* reads it"),
    ],
)
def test_what_has_no_gauge_is_refused_with_the_reason(
    make: Callable[[], Any], gauge: Callable[[Any], Fold], reason: str
) -> None:
    network = trained(make)
    with pytest.raises(ModelError, match=reason):
        gauge(network)


def test_post_norm_networks_have_the_gauge_of_their_branches() -> None:
    network = trained(lambda: hf.BertForMaskedLM(tiny_config("bert")))
    batches = [sample_inputs(network, seed=3)]
    changed = shift(network, batches, degrees=20.0)
    assert proved(network, changed)
    assert list(changed.kept) == ["cls.predictions.transform.LayerNorm"], "it reads a GELU"
    angles = folding.mean_angles(changed.checkpoint, batches, set(wide(network)) - set(changed.kept))
    assert angles == pytest.approx(dict.fromkeys(angles, 20.0))


@pytest.mark.parametrize(
    ("network", "how"), [("whisper", "--angle=45"), ("llama", "--angle=80"), ("llama", "--rotate=dominant")]
)
def test_angles_are_told_on_documents_that_the_gauge_was_not_fitted_to(
    network: str, how: str, tmp_path, capsys
) -> None:
    (original, given), written = saved(network, tmp_path), tmp_path / "written"
    words = ["gauge", *given, how, "--output", str(written)]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "norm inputs, texts used for fitting: " in lines[0]
    assert "norm inputs, held-out texts: " in lines[1]
    assert all(line.endswith(" over the norms)") for line in lines[:2])
    certificate = json.loads((written / "certificate.json").read_text())
    source, cut = find_model(given[0]), {"tokens": 64, "length": 16, "per_document": 1}
    passages = folding.passages_for(original, source, open_corpus(given[2]), **cut)
    halves = [[folding.tensors(original, [passage]) for passage in passages[part::2]] for part in (0, 1)]
    stock, paths = type(original).from_pretrained(written).eval(), list(certificate["angles"])
    for name, batches in zip(("fitted_angles", "angles"), halves, strict=True):
        found = [folding.mean_angles(each, batches, paths) for each in (original, stock)]
        told = [{path: pair[side] for path, pair in certificate[name].items()} for side in (0, 1)]
        assert told == [pytest.approx(each) for each in found]
    if network == "whisper":
        assert [angle for _, angle in certificate["fitted_angles"].values()] == pytest.approx([45] * len(paths))
        assert max(abs(angle - 45) for _, angle in certificate["angles"].values()) > 0.1
    np.save(tmp_path / "one.npy", np.arange(3, 19))
    few = {"whisper": words[:2], "llama": [*words, "--corpus", str(tmp_path / "one.npy")]}[network]
    refused(said(*few, how, "--output", tmp_path / "none"), "measured on the rest; give --corpus with two or more")


def test_a_shift_that_costs_the_digits_of_the_format_is_refused(tmp_path) -> None:
    words = ["gauge", *saved("gpt2", tmp_path)[1], "--output", tmp_path / "ruined"]
    refused(said(*words, "--shift=1e10"), "nothing is written: an output differs by")
    refused(said(*words, "--shift=nan"), "give a finite number")
    refused(said(*words, "--shift=1e30"), "or the change is too large for float64")
    done, line = said(*words, "--angle=45", "--shift=1")
    assert (done, "give one of --rotate HOW, --shift C" in line) == ("refused", True)
    assert not (tmp_path / "ruined").exists()


def test_a_shift_that_costs_first_guesses_is_refused(tmp_path) -> None:
    trained(FAMILIES["gpt2"], torch.bfloat16).save_pretrained(tmp_path / "model")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, VOCABULARY, 800))
    words = ["gauge", tmp_path / "model", "--corpus", tmp_path / "ids.npy", "--sequence-length", 16, "--shift=8"]
    refused(said(*words, "--output", tmp_path / "ruined"), "top-1 stays at")
    assert not (tmp_path / "ruined").exists()
