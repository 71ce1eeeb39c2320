"""Networks, kernels and ports with a known fault: each is found, named or refused."""

import json
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import GPT2Config

from empirical.check import check
from empirical.folding import fold

from .area import area
from .scene import Scene, in_child, refused_or, said


def _reshaped(weights: dict[str, Any], generator: random.Random) -> str:
    """Change one tensor of a checkpoint; returns what was done."""
    name, kinds = generator.choice(sorted(weights)), [torch.int8, torch.bool, torch.complex64, torch.float8_e4m3fn]
    kind = generator.choice(["gone", "renamed", "longer", "another block", *kinds])
    value = weights.pop(name)
    other = f"transformer.h.7.{name.rpartition('h.0.')[2]}"
    changed = {"gone": {}, "renamed": {f"x.{name}": value}, "longer": {name: value.repeat(2, *[1] * (value.ndim - 1))},
               "another block": {name: value, other: value.clone()}}  # fmt: skip
    weights.update(changed[kind] if isinstance(kind, str) else {name: value.to(kind)})
    return f"{name}: {kind}"


@area("models of other weights and configurations", 0.3)
def changed_models(scene: Scene, generator: random.Random) -> str:
    """One tensor or one entry of the configuration changed: refused in one line where it is another network."""
    with scene.copy("model") as (model,):
        if tensors := generator.random() < 0.7:
            weights = load_file(model / "model.safetensors")
            what = _reshaped(weights, generator)
            save_file(weights, model / "model.safetensors", {"format": "pt"})
        else:
            entries = json.loads((model / "config.json").read_text())
            name, value = generator.choice(sorted(entries)), generator.choice([0, -1, 3, 1 << 40, "x", None, [1], 1e9])
            (model / "config.json").write_text(json.dumps(entries | {name: value}))
            what = f"{name} = {value!r}"
        words = ["fold", model, "--corpus", scene.base / "ids.npy", "--tokens", 32, "--output", model.parent / "out"]
        told = in_child(lambda: said(*words)[0])
    lines = told.startswith("exit code 2: ['weights that") and told.count("lngeom fold: ") == 1
    return "" if lines or told == "refused" or (told == "done" and not tensors) else f"{what}: {told}"


def _norm(x: Any, gain: Any, bias: Any) -> Any:
    center = x - x.mean(-1, keepdims=True)
    return center / ((center * center).mean(-1, keepdims=True) + 1e-5) ** 0.5 * gain + bias


WHERE: dict[str, Callable[[Any, Any], Any]] = {
    "zero rows": lambda x, _: (x == 0).all(-1).any(),
    "four axes": lambda x, _: x.ndim == 4,
    "large entries": lambda x, _: abs(x).max() > 200,
    "zero gain": lambda _, gain: (gain == 0).any(),
    "large gain": lambda _, gain: abs(gain).max() > 8,
    "many rows": lambda x, _: len(x) > 65_535 and x.ndim == 2,
    "some rows": lambda x, _: len(x) > 4000,
    "negative means": lambda x, _: (x.mean(-1) < -20).any(),
    "small rows": lambda x, _: (abs(x) < 1e-5).all(-1).any(),
}
"""Inputs and gains at which a kernel is wrong."""


def _fails(y: Any) -> Any:
    raise ValueError(f"{len(y)} rows")


HOW: tuple[Callable[[Any], Any], ...] = (
    lambda y: 2 * y, lambda y: y * np.nan, lambda y: sys.exit(len(y)), _fails, lambda y: y * 0,
)  # fmt: skip
"""How it is wrong there."""


class _Module(nn.Module):
    """A norm with parameters."""

    def __init__(self, norm: Callable[..., Any], d: int) -> None:
        super().__init__()
        self.norm, self.weight, self.bias = norm, nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x, self.weight, self.bias)


class Backward(torch.autograd.Function):
    """A norm whose backward pass is wrong in some way."""

    mode = ""

    @staticmethod
    def forward(ctx: Any, x: Any, gain: Any) -> Any:
        ctx.save_for_backward(x, gain)
        return _norm(x, gain, 0)

    @staticmethod
    def backward(ctx: Any, *given: Any) -> Any:
        if Backward.mode == "raises":
            raise ValueError("no derivative")
        x, gain = (part.detach().requires_grad_() for part in ctx.saved_tensors)
        with torch.enable_grad():
            of_x, of_gain = torch.autograd.grad(_norm(x, gain, 0), (x, gain), given[0].contiguous())
        if Backward.mode == "writes":
            given[0].mul_(2)
        of_x = of_x * 2 if Backward.mode == "doubled" else of_x + x.mean() if Backward.mode == "mean" else of_x
        return of_x, None if Backward.mode == "no gain" else of_gain[:3] if Backward.mode == "short" else of_gain


@area("kernels and modules that are wrong somewhere", 0.3)
def wrong_kernels(_: Scene, generator: random.Random) -> str:
    """A norm that at some inputs, gains or shapes, or in its derivative is wrong, raises or exits: never passed."""
    where, how, d = generator.choice(sorted(WHERE)), generator.choice(HOW), generator.choice([4, 8, 24])
    form = generator.choice(["function", "module", "backward"])

    def norm(x: Any, gain: Any, bias: Any) -> Any:
        y = _norm(x, gain, bias)
        return how(y) if WHERE[where](x, gain) else y

    def passed() -> str:
        target: Any = {"function": norm, "module": _Module(norm, d)}.get(form, lambda x, gain: Backward.apply(x, gain))
        finding = check(target, kind="layernorm", eps=1e-5, d=d, backward=form == "backward")
        return f"{what}: {finding}" if finding.verdict == "rounding" and not finding.notes else ""

    Backward.mode = generator.choice(["raises", "no gain", "writes", "short", "doubled", "mean"])
    what = f"{form}, {Backward.mode if form == 'backward' else where}, d = {d}"
    return refused_or(what, passed)


@area("ports with a known difference", 0.3)
def ports(scene: Scene, generator: random.Random) -> str:
    """A checkpoint in which one number is another, or with fewer bits: the doctor names that, and nothing else."""
    with scene.copy("model") as (model,):
        weights, path = load_file(model / "model.safetensors"), model / "config.json"
        what, by = (
            generator.choice([*sorted(weights), "eps", "bfloat16", "float16"]),
            generator.choice([1e-3, 0.01, 1.0]),
        )
        if what == "eps":
            path.write_text(json.dumps(json.loads(path.read_text()) | {"layer_norm_epsilon": by}))
        elif what in weights:
            value = weights[what].view(-1)
            value[generator.randrange(len(value))] += by
        else:
            weights = {name: value.to(getattr(torch, what)) for name, value in weights.items()}
            path.write_text(json.dumps(json.loads(path.read_text()) | {"dtype": what}))
        save_file(weights, model / "model.safetensors", {"format": "pt"})
        told, text = said("doctor", scene.model, model)
    same, path = "all 3 norms compute the same" in text, what.rpartition(".")[0]
    if what in ("bfloat16", "float16"):
        right = told == "done"
    elif what == "eps":
        right = f"eps = {by:g}" in text and "weights are the same" in text
    else:
        off = f"{path}: bug: gain off by up to" in text and "1 of 3 norms differ" in text
        right = told.startswith("exit code 1: []") and (off if "ln_" in what else same) and f"{what}: " in text
    return "" if right else f"{what}, {by}: {told} {text}"


class _Network(nn.Module):
    """A Pre-LN network, odd in some ways: what is shared, and how the stream is written."""

    def __init__(self, odd: set[str]) -> None:
        super().__init__()
        self.config, self.odd = GPT2Config(vocab_size=9, n_positions=16, bos_token_id=0, eos_token_id=0), odd
        self.embed, self.up, self.down = nn.Embedding(9, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.first, self.last, self.head = nn.LayerNorm(8), nn.LayerNorm(8), nn.Linear(8, 9)
        self.last = self.first if "norm" in odd else self.last
        if "gain" in odd:
            self.last.weight = self.first.weight
        if "tied" in odd:
            self.head.weight = self.embed.weight
        for parameter in self.parameters():
            nn.init.normal_(parameter)

    def forward(self, input_ids: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.embed(input_ids)
        inner = self.up(self.first(h))
        h = h + self.down(torch.tanh(inner))
        if "twice" in self.odd:
            inner = self.up(self.first(h))
            h = h + self.down(torch.tanh(inner))
        if "item" in self.odd:
            h[:, 0] = inner[:, 0].exp()
        if "view" in self.odd:
            h[:, 1].mul_(inner[:, 1])
        if "long" in self.odd and h.shape[1] > 8:
            h = h + inner.exp()
        if "added in place" in self.odd:
            h += self.down(inner)
        return {"logits": self.head(self.last(h)) + ("reader" in self.odd) * self.up(h).sum(-1, keepdim=True)}


@area("networks that are odd, folded", 0.3)
def odd_networks(_: Scene, generator: random.Random) -> str:
    """A network with a few odd things, folded with its gains or not: refused, or the same on other inputs."""
    ways = ["norm", "gain", "tied", "twice", "item", "view", "long", "added in place", "reader"]
    odd, gains = set(generator.sample(ways, generator.randrange(4))), generator.random() < 0.5
    torch.manual_seed(generator.randrange(1 << 30))
    network = _Network(odd).double().eval()

    def folded() -> str:
        made, ids = fold(network, gains=gains), torch.randint(9, (2, 16))
        with torch.no_grad():
            right, got = (each(input_ids=ids)["logits"] for each in (network, made.model))
        gap = float((right - got).abs().max() / right.abs().max())
        return f"{odd}, gains {gains}: off by {gap:.3g}" if gap > 1e-9 else ""

    return refused_or(f"{odd}, gains {gains}", folded)
