import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lngeom.empirical.models import LoadedModel, find_model, load_config, load_model, load_tokenizer
from lngeom.empirical.sweep import Drawing, draw_tokens
from lngeom.empirical.text import open_corpus

from ..oracle import disagreements, measured_and_stored

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def loaded(smollm: Path) -> LoadedModel:
    return load_model(find_model(str(smollm)), device="cpu")


@pytest.fixture(scope="module")
def tokenizer(loaded: LoadedModel):
    return load_tokenizer(loaded.source)


def test_its_metadata_are_parsed_once(loaded: LoadedModel, tokenizer, monkeypatch) -> None:
    monkeypatch.setattr("gguf.GGUFReader.__init__", None)
    assert load_config(loaded.source).hidden_size == loaded.config.hidden_size
    assert load_tokenizer(loaded.source).get_vocab() == tokenizer.get_vocab()


def test_it_reads_english(loaded: LoadedModel, tokenizer) -> None:
    """The mean loss of the next token on plain English, by the tied embeddings, is far below that of a guess.

    A guess costs ln V nats; with a wrong tokenizer, wrongly permuted heads or a wrong ε the loss stays near that. A
    language model of this size is near 3 nats: half of ln V = 10.8 lies between the two.
    """
    text = (
        "Anarchism is a political philosophy that advocates self-governed societies based on voluntary institutions. "
        "These are often described as stateless societies, although several authors have defined them more "
        "specifically as institutions based on non-hierarchical free associations."
    )
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        hidden = loaded.model(input_ids=ids, use_cache=False).last_hidden_state[0]
        logits = hidden @ loaded.model.get_parameter("embed_tokens.weight").T
        loss = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:])
    assert float(loss) < math.log(loaded.config.vocab_size) / 2


def test_every_column_on_real_text(loaded: LoadedModel, tokenizer, wikipedia: Path, tmp_path) -> None:
    drawing = Drawing(2, 32, loaded.config.vocab_size, 0)
    draw_tokens(tmp_path / "tokens.npy", open_corpus(str(wikipedia)), tokenizer, drawing, lambda _: None)
    table, expected = measured_and_stored(loaded.model, np.load(tmp_path / "tokens.npy"), directions=4, seed=0)
    assert len(table) == 61 * 2 * 3
    assert {row["tokens"] for row in table if row["bucket"] == "all"} == {2 * 32}
    assert disagreements(table, expected) == []
