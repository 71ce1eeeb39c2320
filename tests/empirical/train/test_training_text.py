"""The text of a run: tokens, held-out part, batches, schedule, and bad input."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from empirical.models import ModelSource, load_tokenizer
from empirical.support import CorpusError, ModelError, RunError
from empirical.text import TokenPolicy, encoded, open_corpus
from empirical.train import (
    SHAPES,
    Recipe,
    Sequences,
    checkpoint_steps,
    learning_rate,
    open_data,
    prepare,
    train_tokenizer,
)
from lngeom.errors import InputError, LngeomError

from ..conftest import Refused

RECIPE = Recipe(SHAPES["tiny"], "layer", "adamw", 2.0, steps=1000, sequences=4, sequence_length=16, warmup=0.1)


def text(folder: Path) -> Path:
    """Forty documents, each naming its own number."""
    path = folder / "stories.jsonl"
    path.write_text("".join(f'{{"text": "story {n:02} of the sea and of the ships at sea"}}\n' for n in range(40)))
    return path


@pytest.fixture
def stories(tmp_path: Path) -> Path:
    return text(tmp_path)


def test_one_document_in_ten_is_held_out_and_closed(stories: Path, tmp_path: Path) -> None:
    data = prepare(open_corpus(str(stories)), tmp_path / "data", vocabulary=270)
    tokenizer = load_tokenizer(ModelSource("stories", str(tmp_path / "data" / "tokenizer")))
    pieces = list(encoded(open_corpus(str(stories)).documents(), tokenizer, TokenPolicy.of(tokenizer)))
    held_out = [piece for n, piece in enumerate(pieces) if n % 10 == 9]
    assert len(held_out) == 4
    assert np.array_equal(data.held_out, np.concatenate(held_out))
    assert np.array_equal(data.train, np.concatenate([piece for n, piece in enumerate(pieces) if n % 10 != 9]))
    assert all(piece[-1] == data.end_of_text for piece in pieces)
    assert (data.vocabulary, len(tokenizer)) == (270, 270)


def test_prepared_text_is_read_once(stories: Path, tmp_path: Path) -> None:
    corpus = open_corpus(str(stories))
    digest = prepare(corpus, tmp_path / "data", vocabulary=270).digest()
    before = (tmp_path / "data" / "train.npy").stat().st_mtime_ns
    assert prepare(corpus, tmp_path / "data", vocabulary=270).digest() == digest
    assert (tmp_path / "data" / "train.npy").stat().st_mtime_ns == before
    with pytest.raises(RunError, match=r"holds the tokens of .*270.*, not of .*280"):
        prepare(corpus, tmp_path / "data", vocabulary=280)


def test_a_tokenizer_can_come_from_elsewhere(stories: Path, tmp_path: Path) -> None:
    train_tokenizer(["the sea and the ships"] * 3, 260).save_pretrained(tmp_path / "mine")
    data = prepare(open_corpus(str(stories)), tmp_path / "data", tokenizer=str(tmp_path / "mine"))
    assert data.vocabulary == 260


def test_token_ids_are_split_at_the_end(tmp_path: Path) -> None:
    ids = np.arange(1000, dtype=np.uint16) % 77
    np.save(tmp_path / "ids.npy", ids)
    data = prepare(open_corpus(str(tmp_path / "ids.npy")), tmp_path / "data")
    assert np.array_equal(data.train, ids[:900])
    assert np.array_equal(data.held_out, ids[900:])
    assert (data.vocabulary, data.tokenizer) == (77, None)


def test_unigram_entropy(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.tile(np.array([3, 3, 3, 5], dtype=np.uint16), 100))
    data = prepare(open_corpus(str(tmp_path / "ids.npy")), tmp_path / "data")
    exact = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert data.unigram_entropy() == pytest.approx(exact, rel=8 * 2.0**-53)  # four rounded operations a side


def test_held_out_sequences_are_apart(tmp_path: Path) -> None:
    data = prepare(open_corpus(str(ids(tmp_path, 5000))), tmp_path / "data")
    rows = data.held_out_sequences(10, 95)
    assert rows.shape == (10, 11)
    assert rows[0, 0] == 4500
    assert torch.equal(rows, rows[:, :1] + torch.arange(11))
    assert bool((rows[1:, 0] >= rows[:-1, 0] + 10).all())


@given(st.integers(0, 5), st.integers(2, 9), st.integers(20, 90))
def test_each_pass_visits_every_sequence_once(seed: int, length: int, tokens: int) -> None:
    text = Sequences(np.arange(tokens), length=length, count=100, seed=seed)
    rows = torch.stack([text[n]["input_ids"] for n in range(2 * text.per_pass)])
    for part in rows.split(text.per_pass):
        starts = np.sort(part[:, 0].numpy())
        assert np.array_equal(starts, starts[0] + length * np.arange(text.per_pass))
        assert starts[-1] + length < tokens
    assert torch.equal(rows, rows[:, :1] + torch.arange(length + 1))


def test_seeds_read_the_text_in_other_orders() -> None:
    texts = [Sequences(np.arange(500), length=5, count=50, seed=seed) for seed in range(3)]
    assert len({tuple(int(text[n]["input_ids"][0]) for n in range(50)) for text in texts}) == 3


def test_learning_rate_warms_up_and_falls_to_the_floor() -> None:
    rates = [learning_rate(RECIPE, step) for step in range(RECIPE.steps)]
    assert rates[:100] == [2.0 * (step + 1) / 100 for step in range(100)]
    assert rates[-1] == 0.1 * 2.0
    assert all(after < before for before, after in pairwise(rates[100:]))
    assert learning_rate(replace(RECIPE, warmup=0.0), 0) < 2.0


@pytest.mark.parametrize(
    ("name", "last"), [("70m", [60, 70, 80, 90, 100]), ("160m", [60, 70, 80, 90, 100]), ("410m", []), ("1b", [])]
)
def test_checkpoints_of_the_published_schedule(name: str, last: list[int]) -> None:
    expected = (0, *(1000 * k for k in [*range(1, 10), 10, 20, 30, 40, 50, *last]))
    assert checkpoint_steps(SHAPES[name].steps, SHAPES[name].first_checkpoint) == expected


@given(st.integers(1, 5000), st.floats(0.001, 1))
def test_checkpoints_increase_from_0_to_the_end(steps: int, first: float) -> None:
    steps_of = checkpoint_steps(steps, first)
    assert steps_of[0] == 0
    assert steps_of[-1] == steps
    assert all(before < after for before, after in pairwise(steps_of))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": "batch"}, "norm is 'batch': it must be one of layer, rms, u, post, none"),
        ({"optimizer": "lion"}, "optimizer is 'lion': it must be 'adamw' or 'sgd'"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0: it must be positive"),
        ({"learning_rate": math.nan}, "learning_rate is nan"),
        ({"steps": 0}, "steps is 0: it must be at least 1"),
        ({"sequences": 0}, "sequences is 0"),
        ({"sequence_length": 129}, "must be from 2 to the 128 positions"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1"),
        ({"warmup": 1.5}, "warmup is 1.5: it is a fraction"),
        ({"momentum": 1.0}, "momentum is 1.0"),
        ({"clip": math.inf}, "clip is inf"),
        ({"eps": -1e-5}, "eps is -1e-05"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_recipes(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(RECIPE, **change)


def ids(folder: Path, count: int) -> Path:
    np.save(folder / "ids.npy", np.arange(count, dtype=np.uint16))
    return folder / "ids.npy"


BAD: list[tuple[Callable[[Path], object], type[LngeomError], str]] = [
    (lambda _: Sequences(np.arange(16), length=8, count=1, seed=0), CorpusError, "fewer than two sequences"),
    (lambda at: prepare(open_corpus(str(ids(at, 9))), at / "data"), CorpusError, "too few to train on nine tenths"),
    (open_data, RunError, "holds no tokenized corpus"),
    (lambda _: train_tokenizer(["a few words"], 256), InputError, "at least 257"),
    (lambda _: train_tokenizer(["a few words"], 5000), InputError, "the text yields 2"),
    (lambda at: prepare(open_corpus(str(text(at))), at / "data", tokenizer=str(at)), ModelError,
     "has no tokenizer that can be loaded"),
]  # fmt: skip


@pytest.mark.parametrize(("action", "error", "message"), BAD, ids=[message for _, _, message in BAD])
def test_what_cannot_be_trained_on_is_refused(
    action: Callable[[Path], object], error: type[LngeomError], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        action(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--norm", "layer", "--corpus", "/nowhere.txt"], "no such file"),
        (["--norm", "layer", "--heads", "3"], "heads must divide the width"),
        (["--norm", "rms", "--sequence-length", "4096"], "must be from 2 to the 128 positions"),
        (["--norm", "rms", "--device", "abacus"], "--device abacus: cannot be used ("),
    ],
)
def test_bad_commands_say_so_in_one_line(
    options: list[str], message: str, token_file: Path, tmp_path: Path, refused: Refused
) -> None:
    given_corpus = [] if "--corpus" in options else ["--corpus", token_file]
    assert message in refused("train", *options, *given_corpus, "--output", tmp_path / "run")
