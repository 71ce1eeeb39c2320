import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from torch import nn

from lngeom.empirical.models import NormSite
from lngeom.empirical.observe import Observer, compute, merge
from lngeom.empirical.runs import Origin
from lngeom.empirical.sweep import Drawing, draw_tokens
from lngeom.empirical.text import TokenPolicy, encoded, open_corpus

from ..conftest import word_tokenizer

D = 16
SITE = NormSite("0", None, "final", "layernorm", 1e-5, D)


def _states(x: torch.Tensor, documents: torch.Tensor | None) -> Any:
    layer = nn.Sequential(nn.LayerNorm(D, dtype=torch.float64))
    with Observer(layer, [SITE], directions=2) as observer, torch.no_grad():
        for part, named in zip(x.split(5), [None] * 99 if documents is None else documents.split(5), strict=False):
            observer.documents(named)
            layer(part)
    return observer.states


def test_intervals_take_documents_as_units() -> None:
    generator = torch.Generator().manual_seed(0)
    documents = torch.arange(24) // 4
    shifts = torch.randn(6, 1, 1, generator=generator, dtype=torch.float64).expand(6, 7, D)[documents]
    x = torch.randn(24, 7, D, generator=generator, dtype=torch.float64) + shifts
    together, alone = (compute(_states(x, d)["0", "input"], "input")["all"] for d in (documents, None))
    cos2 = (x.mean(-1) ** 2 / (x * x).mean(-1)).numpy()
    # Either path gives a cos² right to 6γ (√dμ over a length), with what sums of all tokens
    # round in γ, and so is a mean; a standard error is a seminorm of the six means, right to 6γ/√5.
    gamma = (x[..., 0].numel() + 3 * D + 16) * 2.0**-53
    slack = float(6 * gamma * (1 + scipy.stats.t.ppf(0.975, 5) / math.sqrt(5)))
    # By hand: documents are equally long, so that their means are a sample of six.
    low, high = scipy.stats.t.interval(0.95, 5, cos2.mean(), scipy.stats.sem(cos2.reshape(6, -1).mean(1)))
    assert [together["cos2_low"], together["cos2_high"]] == pytest.approx([max(low, 0.0), high], rel=0, abs=slack)
    assert (together["documents"], together["sequences"], alone["documents"]) == (6, 24, 24)
    assert together["cos2_high"] - together["cos2_low"] > 1.5 * (alone["cos2_high"] - alone["cos2_low"])
    parts = merge(_states(x[:10], documents[:10]), _states(x[10:], documents[10:]))  # cut inside a document
    again = compute(parts["0", "input"], "input")["all"]
    assert again["documents"] == 6
    assert again["cos2_high"] == pytest.approx(together["cos2_high"], rel=0, abs=slack)


WORDS = word_tokenizer("[end]", *(f"w{n}" for n in range(1, 64)), eos_token="[end]")


def _text(path: Path, lengths: list[int], seed: int = 0) -> Path:
    generator = np.random.default_rng(seed)
    documents = [" ".join(f"w{n}" for n in generator.integers(1, 64, length)) for length in lengths]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    return path


def _drawn(corpus: Path, to: Path, sequences: int) -> tuple[np.ndarray, list[Origin]]:
    _, origins = draw_tokens(to, open_corpus(str(corpus)), WORDS, Drawing(sequences, 8, 64, 0), lambda _: None)
    return np.load(to), origins


def test_a_long_document_is_encoded_in_parts(monkeypatch) -> None:
    monkeypatch.setattr("lngeom.empirical.text.packing._CHARACTERS_AT_ONCE", 10)
    (ids,) = encoded([" ".join(f"w{n}" for n in range(1, 40))], WORDS, TokenPolicy(None, 0))
    assert ids.tolist() == [*range(1, 40), 0]


def test_sequences_are_drawn_from_all_over(tmp_path) -> None:
    lengths = [79, 7, 159, 3, 3, 65]  # and a separator each: 322 tokens, 40 sequences of 8
    corpus = _text(tmp_path / "text.jsonl", lengths)
    whole = np.concatenate(
        [[*WORDS(json.loads(line)["text"])["input_ids"], 0] for line in corpus.read_text().splitlines()]
    )
    starts = np.cumsum([0, *(length + 1 for length in lengths)])
    for wanted in (3, 10, 40, 100):
        rows, origins = _drawn(corpus, tmp_path / f"{wanted}.npy", wanted)
        assert len(rows) == len(origins) == min(wanted, 40)
        places = [starts[s.document] + s.offset for s in origins if s.document is not None]
        assert all(
            starts[s.document] <= p < starts[s.document + 1]
            for s, p in zip(origins, places, strict=True)
            if s.document is not None
        )
        assert np.array_equal(rows, [whole[p : p + 8] for p in places])
        assert (np.diff(places) > 0).all()
        assert places[-1] - places[0] >= (1 - 2 / len(rows)) * 320
        assert [s.group for s in origins] == [
            list(dict.fromkeys(s.document for s in origins)).index(s.document) for s in origins
        ]
    ids = tmp_path / "ids.npy"
    np.save(ids, np.arange(321) % 64)
    _, spread = _drawn(ids, tmp_path / "spread.npy", 4)
    assert [(s.document, s.offset, s.group) for s in spread] == [
        (None, at, n) for n, at in enumerate((0, 80, 160, 240))
    ]
