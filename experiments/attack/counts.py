"""Attacks on counts: nothing is left out in silence, and no second thread loses a count."""

import json
import math
import random
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import PreTrainedTokenizerFast

from empirical.models import NormSite
from empirical.observe import Observer
from empirical.pages import summary
from empirical.support import CorpusError
from empirical.sweep import MeasureOptions, measure, read_finished
from empirical.text import TokenPolicy, encoded
from lngeom.errors import LngeomError
from lngeom.options import json_alone

from .area import area
from .scene import Scene, without_pages

_LEFT_OUT = {"zero": 0.0, "not finite": math.inf, "too small for their squares": 1e-30}
"""What the summary calls vectors that it does not count, and what their components are."""
_COUNTS = ("tokens", "zero", "nonfinite", "underflow")


def _vectors(generator: random.Random) -> str:
    """The fault in what is said of a batch of which some vectors cannot be measured, at times none can."""
    kinds = (
        generator.choices(["", *_LEFT_OUT], k=10) if generator.random() < 0.7 else [generator.choice([*_LEFT_OUT])] * 10
    )
    x = torch.randn(10, 8, generator=torch.Generator().manual_seed(generator.randrange(1 << 30)))
    for row, kind in enumerate(kinds):
        x[row] = _LEFT_OUT.get(kind, x[row])
    with tempfile.TemporaryDirectory() as folder, without_pages():
        run = measure(nn.Sequential(nn.LayerNorm(8)), [x[None]], Path(folder, "run"), MeasureOptions(directions=2))
        rows = read_finished(run.path).rows
    whole = next(row for row in rows if row["side"] == "input" and row["bucket"] == "all")
    counts, asked = [whole[name] for name in _COUNTS], [kinds.count(kind) for kind in ("", *_LEFT_OUT)]
    told = "\n".join(summary(rows))
    silent = [kind for kind in _LEFT_OUT if (f"left out as {kind}: " in told) != (kind in kinds)]
    ranked = [row for row in rows if not row["tokens"] and not math.isnan(row["rank_among_random"])]
    right = counts == asked and not silent and not ranked
    return "" if right else f"{kinds}: counted {counts}, told {told!r}, {len(ranked)} ranks without tokens"


def _numbers(generator: random.Random) -> str:
    """The fault in a file of numbers, finite and not, in lists and in dictionaries."""

    def made(depth: int) -> tuple[Any, Any]:
        if depth == 0 or generator.random() < 0.3:
            number = generator.choice([math.nan, math.inf, -math.inf, 1.5, 0.0])
            return number, number if math.isfinite(number) else None
        given, right = zip(*(made(depth - 1) for _ in range(3)), strict=True)
        return (
            (list(given), list(right))
            if generator.random() < 0.5
            else (dict(zip("abc", given, strict=True)), dict(zip("abc", right, strict=True)))
        )

    given, right = made(3)
    with tempfile.TemporaryDirectory() as folder:
        json_alone(given, str(Path(folder, "a.json")))
        written = json.loads(Path(folder, "a.json").read_text())
    return "" if written == right else f"{given} is written as {written}"


@cache
def _tokenizer() -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.WordLevel({"[unk]": 0, "a": 1}, unk_token="[unk]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[unk]")


def _words(generator: random.Random) -> str:
    """The fault in reading a text that the tokenizer knows in part."""
    words = ["a" if generator.random() < 0.5 else "b" for _ in range(generator.randrange(1, 9))]
    try:
        ids = next(encoded([" ".join(words)], _tokenizer(), TokenPolicy(None, None))).tolist()
    except CorpusError:
        ids = []
    right = [] if 2 * words.count("b") > len(words) else [int(word == "a") for word in words]
    return "" if ids == right else f"{words} is read as {ids}"


@area("what cannot be counted, written or read")
def silence(_: Scene, generator: random.Random) -> str:
    """Vectors without an angle, numbers that are not finite, unknown words: told, null, refused."""
    return generator.choice([_vectors, _numbers, _words])(generator)


@area("threads under one observer")
def threads(_: Scene, generator: random.Random) -> str:
    """Two or three threads, through the model or a part of it: what was not refused is counted, every token once."""
    layer = nn.Sequential(nn.Identity(), nn.LayerNorm(8))
    passes, done = [generator.randrange(1, 5) for _ in range(generator.randrange(2, 4))], list[int]()
    called, raised = [generator.choice([layer, layer[1]]) for _ in passes], list[Exception]()
    start = threading.Barrier(len(passes))

    def forward(module: nn.Module, times: int) -> None:
        start.wait()
        for _ in range(times):
            try:
                module(torch.randn(2, 5, 8))
                done.append(10)
            except Exception as error:  # judged below
                raised.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with Observer(layer, [NormSite("1", None, "final", "layernorm", 1e-5, 8)], directions=2) as observer:
        running = [threading.Thread(target=forward, args=each) for each in zip(called, passes, strict=True)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        counted = sum(int(state.tokens.sum()) for (_, side), state in observer.states.items() if side == "input")
    sys.setswitchinterval(interval)
    odd = [error for error in raised if not isinstance(error, LngeomError) or "\n" in str(error)]
    return "" if counted == sum(done) and not odd else f"{passes}: {counted} tokens of {sum(done)}, {odd}"
