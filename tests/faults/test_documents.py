"""Each sequence knows its document: intervals cluster by it, texts are drawn from all over, no token counts twice."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from rich.console import Console
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import PreTrainedTokenizerFast

from empirical.models import NormSite
from empirical.observe import Observer, compute, merge
from empirical.runs import Origin, RunDirectory, read_origins
from empirical.support import write_records
from empirical.sweep import Drawing, Sweep, draw_tokens, merge_runs, run_sweep
from empirical.text import open_corpus
from lngeom.errors import LngeomError

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
    # Either path gives a cos² right to 6γ (tests/empirical/observe/test_oracle.py), with what sums of all tokens
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


def _words(vocabulary: int = 64) -> Any:
    known = {"[end]": 0} | {f"w{n}": n for n in range(1, vocabulary)}
    inner = Tokenizer(models.WordLevel(known, unk_token="[end]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="[end]")


def _text(path: Path, lengths: list[int], seed: int = 0) -> Path:
    generator = np.random.default_rng(seed)
    documents = [" ".join(f"w{n}" for n in generator.integers(1, 64, length)) for length in lengths]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    return path


def _drawn(corpus: Path, to: Path, sequences: int) -> tuple[np.ndarray, list[Origin]]:
    _, origins = draw_tokens(to, open_corpus(str(corpus)), _words(), Drawing(sequences, 8, 64, 0), lambda _: None)
    return np.load(to), origins


def test_sequences_are_drawn_from_all_over(tmp_path: Path) -> None:
    lengths = [79, 7, 159, 3, 3, 65]  # and a separator each: 322 tokens, 40 sequences of 8
    corpus = _text(tmp_path / "text.jsonl", lengths)
    whole = np.concatenate(
        [[*_words()(json.loads(line)["text"])["input_ids"], 0] for line in corpus.read_text().splitlines()]
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


@pytest.fixture
def parts(model_directory: Path, tmp_path: Path, without_pages: None) -> dict[str, Path]:
    """Runs over one array of ids: all of it, its first half, its second half, and all of it in another order."""
    ids = np.random.default_rng(3).integers(0, 64, (8, 16))
    texts = {"whole": ids, "head": ids[:4], "tail": ids[4:], "shuffled": ids[::-1], "few": ids[:2]}
    for name, array in texts.items():
        np.save(tmp_path / f"{name}.npy", array)
        _sweep(model_directory, tmp_path / f"{name}.npy", tmp_path / name, 128)
    _sweep(model_directory, tmp_path / "whole.npy", tmp_path / "longer", 128, length=32)
    return {name: tmp_path / name for name in (*texts, "longer")}


def _sweep(model: Path, corpus: Path, output: Path, tokens: int, length: int = 16) -> None:
    sweep = Sweep(str(model), str(corpus), tokens=tokens, sequence_length=length, directions=4, output=str(output))
    run_sweep(sweep, console=Console(quiet=True), show=False)


def test_no_token_counts_twice(parts: dict[str, Path], tmp_path: Path) -> None:
    merge_runs([parts["tail"], parts["head"]], tmp_path / "both")
    both = {**parts, "both": tmp_path / "both"}
    for pair in ("head whole", "whole head", "whole shuffled", "both few", "few both", "both whole", "shuffled tail"):
        first, second = (both[name] for name in pair.split())
        with pytest.raises(
            LngeomError, match=f"{second}: its sequence at offset .* is in {first} too and would count twice"
        ):
            merge_runs([first, second], tmp_path / "twice")
    with pytest.raises(LngeomError, match="sequence_length is 32"):
        merge_runs([parts["whole"], parts["longer"]], tmp_path / "twice")


def test_a_document_is_one_unit_in_whichever_run(parts: dict[str, Path], tmp_path: Path) -> None:
    for name in ("head", "tail"):  # as if both were of one document, which a file of ids cannot say
        run = RunDirectory(parts[name])
        rows = [replace(origin, corpus="c", document=5) for origin in read_origins(run.sequences_path)]
        write_records(run.sequences_path, Origin, rows)
        (run.path / "DONE").unlink()
        run.finish()
    table = merge_runs([parts["head"], parts["tail"]], tmp_path / "both")
    assert {row["documents"] for row in table} == {1}
    assert {row["d_cos2_high"] for row in table} == {math.inf}
