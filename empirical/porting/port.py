"""Whether a port is the same model: one verdict, from the outputs of both in float64 and from their differences."""

import copy
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from lngeom.errors import InputError

from ..models import text_config
from .comparison import Differences, compare_models
from .folds import name_folds
from .logits import distance, explained, first_layer, in_float64, outputs, rounding, widened
from .weights import Weight, adopt, compare_weights, stored

_LONGEST, _UNREACHED = 4096, "what changed beyond"
_INERT = """_name_or_path transformers_version architectures dtype torch_dtype quantization_config use_cache model_type
initializer_range problem_type id2label label2id return_dict max_position_embeddings n_positions n_ctx"""
"""Entries of a configuration that change no output within the positions of both, as dropout and special tokens."""
_LEFT = "generation with a cache, batches, padding, training mode, gradients, arithmetic in fewer bits, the tokenizer"


@dataclass(frozen=True)
class Drawn:
    """How token ids are drawn.

    Attributes:
        size: Of the vocabulary.
        longest: Number of positions that both models have.
        tokens: Length of the longest input, unless a difference that was found shows only in longer ones.
        seed: Of the generator.
    """

    size: int
    longest: int
    tokens: int = 64
    seed: int = 0


@dataclass(frozen=True)
class Examined:
    """The verdict on a port, and its evidence.

    Attributes:
        verdict: ``same function``, ``same up to the stored format``, ``different`` or ``not shown to be the same``.
        reason: Its ground; for a different port the first layer that differs, and the change.
        evidence: The comparisons, a line each.
        left: What was not tested.
    """

    verdict: str
    reason: str
    evidence: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the port is the same model."""
        return self.verdict.startswith("same")


@dataclass
class _Pair:
    """Both models in float64, the source with the roundings of the port's weights, and facts about them."""

    source: nn.Module
    port: nn.Module
    weights: list[Weight]
    config: dict[str, tuple[Any, Any]]
    left: list[str]
    gap: float = 0.0
    bound: float = 0.0
    alike: bool = True
    rounded: bool = False
    worst: Tensor = field(default_factory=lambda: torch.zeros(1, 1, dtype=torch.long))


def examine(source: nn.Module, port: nn.Module, drawn: Drawn, quantized: Mapping[str, str] | None = None) -> Examined:
    """Is the port the same model as the source? Both run on drawn token ids of several lengths, in float64.

    The source's weights are rounded as the port's are, so that only other changes make the outputs differ.
    """
    source, port, left = _alike(source, port)
    if other := _other_architecture(source, port):
        return Examined("different", other, (), (*left, "everything but the names and shapes of the weights"))
    weights, folds = name_folds(source, port, compare_weights(source, port, quantized))
    known = [text_config(model.config).to_dict() for model in (source, port) if hasattr(model, "config")]
    entries = dict(_entries(*known)) if len(known) == 2 else {}
    # Those that are one number as float32, the format of numbers in a GGUF file.
    single = {k: b for k, (a, b) in entries.items() if type(a) is type(b) is float and np.float32(a) == np.float32(b)}
    config = {key: pair for key, pair in entries.items() if key not in single}
    formats = (stored(source), stored(port))
    with in_float64():
        both = _Pair(widened(source, single), widened(port), weights, config, left)
        mine, theirs = both.source.state_dict(), both.port.state_dict()
        for each in weights:
            if each.state == "rounded":
                mine[each.name].copy_(theirs[each.name])
            elif each.name in mine and each.name in theirs and mine[each.name].shape == theirs[each.name].shape:
                adopt(mine[each.name], theirs[each.name], formats)
        sequences = _sequences(both, drawn)
        _run(both, sequences, torch.finfo(formats[1]).eps)
        layer = None if both.alike else first_layer(both.source, both.port, both.worst)
    norms = _norms(copy.deepcopy(both.source).float(), copy.deepcopy(both.port).float(), both.worst, folds)
    lengths = sorted({ids.shape[1] for ids in sequences})
    return _judged(both, norms, layer, lengths, str(formats[1]).removeprefix("torch."))


def _alike(source: nn.Module, port: nn.Module) -> tuple[nn.Module, nn.Module, list[str]]:
    """Both without their heads where one alone has a head."""
    both = [model for model in (source, port) if isinstance(model, PreTrainedModel)]
    if len(both) < 2 or (both[0].base_model is both[0]) == (both[1].base_model is both[1]):
        return source, port, []
    return both[0].base_model, both[1].base_model, ["the head that one of both has"]


def _other_architecture(source: nn.Module, port: nn.Module) -> str:
    """Says so of models of different classes with fewer than half of the weights, by name and shape, in common."""
    names = [type(model).__name__ for model in (source, port)]
    mine, theirs = ({(n, w.shape) for n, w in model.state_dict().items()} for model in (source, port))
    if names[0] == names[1] or 2 * len(mine & theirs) >= min(len(mine), len(theirs)):
        return ""
    return f"different architectures: {names[0]} and {names[1]} share {len(mine & theirs)} of {len(mine)} weights"


def _entries(mine: Mapping[str, Any], theirs: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Entries of both configurations, nested ones included, that differ and may change the function."""
    for key in (key for key in mine if key in theirs and mine[key] != theirs[key] and key not in _INERT.split()):
        if isinstance(mine[key], dict) and isinstance(theirs[key], dict):
            yield from _entries(mine[key], theirs[key], f"{prefix}{key}.")
        elif not key.endswith(("_token_id", "dropout", "_pdrop", "_drop")) and not key.startswith("output_"):
            yield prefix + key, (mine[key], theirs[key])


def _sequences(both: _Pair, drawn: Drawn) -> list[Tensor]:
    """Token ids of several lengths that reach every changed row of an embedding and exceed every changed length."""
    generator, lengths, extra = torch.Generator().manual_seed(drawn.seed), {1, 2, drawn.tokens}, list[int]()
    for key, pair in both.config.items():
        sizes = [value for value in pair if type(value) is int and value > 1]
        if key != "vocab_size" and sizes and len(sizes) + pair.count(None) == 2:  # None: a window that is switched off
            lengths.add(min(sizes) + 1)
    others, changed = both.port.state_dict(), {each.name for each in both.weights if each.state == "changed"}
    for path, module in both.source.named_modules():
        other = others.get(f"{path}.weight") if f"{path}.weight" in changed else None
        if not isinstance(module, nn.Embedding) or other is None or other.shape != module.weight.shape:
            continue
        rows = (module.weight != other).any(1).nonzero().flatten()
        if len(other) == drawn.size:
            extra += rows[:: 1 + len(rows) // 256].tolist()
            both.left += [f"{len(rows) - len(extra)} tokens whose embedding changed"] * (len(rows) > len(extra))
        else:
            lengths.add(int(rows.max()) + 1)
    if min(drawn.longest, max(lengths)) > _LONGEST:
        both.left.append(f"{_UNREACHED} {_LONGEST} tokens")
    lengths = {min(length, drawn.longest, _LONGEST) for length in lengths}
    ids = [torch.randint(drawn.size, (1, length), generator=generator) for length in sorted(lengths)]
    return [*ids, *(part[None] for part in torch.tensor(extra, dtype=torch.long).split(max(lengths)) if len(part))]


def _run(both: _Pair, sequences: list[Tensor], unit: float) -> None:
    """How far apart the outputs are, and whether roundings account for it."""
    before = both.source.state_dict()
    moved = {each.name: before.get(each.name) for each in both.weights if each.state == "changed"}
    for ids in sequences:
        mine, theirs = outputs(both.source, ids), outputs(both.port, ids)
        off, bound = distance(mine, theirs), rounding(both.source, outputs, ids)
        both.bound = max(both.bound, bound)
        if off >= both.gap:
            both.gap, both.worst = off, ids
        if not off <= bound:
            both.rounded = off < math.inf and explained(both.port, ids, (mine - theirs).abs(), moved, unit)
            both.alike &= both.rounded


def _judged(
    both: _Pair,
    norms: tuple[Differences | None, list[str]],
    layer: tuple[str, str] | None,
    lengths: list[int],
    kind: str,
) -> Examined:
    texts = [(each.name, each.text) for each in both.weights if each.state == "changed"]
    changed = [f"  {name}: {text}" for name, text in texts]
    often = [f"{count} weights {text}" for text, count in Counter(t for _, t in texts if "rounded" in t).items()]
    formats = " and ".join(sorted({each.text for each in both.weights if each.state == "rounded"}))
    rounded = f" after rounding to {formats}" if formats else ""
    evidence = [f"all {len(both.weights)} weights are the same{rounded}"]
    if changed:
        rest = f" (the others are the same{rounded})" if len(changed) < len(both.weights) else ""
        evidence = [f"{len(changed)} of {len(both.weights)} weights differ{rest}:"]
        evidence += changed[:10] + [f"  and {len(changed) - 10} more"] * (len(changed) > 10)
        evidence += ["; ".join(often)] * bool(often)
    entries = [f"{key} is {theirs}, expected {mine}" for key, (mine, theirs) in both.config.items()]
    evidence += [*(f"config.json: {entry}" for entry in entries), *norms[1]]
    more = ", and the rounding of the weights explains the rest" if both.alike and both.rounded else ""
    inputs = f"in float64 on inputs of {', '.join(map(str, lengths))} tokens"
    evidence.append(f"outputs differ by up to {both.gap:.3g} {inputs}; rounding explains up to {both.bound:.3g}{more}")
    unseen = [each for each in both.left if each.startswith(_UNREACHED)]
    left = (*both.left, f"other inputs, and inputs of more than {lengths[-1]} tokens", _LEFT)
    if not both.alike:
        verdict, reason = "different", _named(both, norms[0] or (), layer, entries)
    elif unseen:
        verdict, reason = "not shown to be the same", f"no input that was run reaches {unseen[0]}"
    elif formats or (both.rounded and kind in ("bfloat16", "float16")):
        verdict = f"same up to the stored format ({formats or kind})"
        reason = f"{'with the rounded weights in both, ' * bool(formats)}the outputs agree"
        reason += ", up to what rounding the weights explains" * both.rounded
    else:
        verdict, reason = ("same function", "the outputs agree" + ", though weights differ" * bool(changed))
    return Examined(verdict, reason, tuple(evidence), left)


def _norms(
    source: nn.Module, port: nn.Module, ids: Tensor, folds: Mapping[str, str]
) -> tuple[Differences | None, list[str]]:
    """The norms that compute something else when run alone, None if none can be run, and notes on all.

    What a fold explains is no bug.
    """
    try:
        found = compare_models(source, port, ids)
        known = ((site, folds.get(site, cause)) for site, cause in found.differences)
        found = replace(found, differences=tuple(known))
    except InputError as error:
        return None, [f"norms by themselves: not compared: {error}"]
    if found.first is None:
        return (), [f"all {found.sites} norms compute the same, within rounding"]
    also = (f"  also {site}: {cause}" for site, cause in found.differences[1:])
    count = f"{len(found.differences)} of {found.sites} norms differ"
    return found.differences, [f"first norm that differs: {found.first}: {found.cause}", *also, count]


def _named(both: _Pair, norms: Differences, layer: tuple[str, str] | None, entries: list[str]) -> str:
    """The first layer that differs, and all that is known of the change."""
    if layer is None:
        same = "every layer gives the same output for the same input, but the layers are connected differently"
        return "; ".join([same, *entries])
    path, off = layer
    own = [each for each in both.weights if each.state == "changed" and each.name.startswith(f"{path}.")]
    causes = [f"{each.name[len(path) + 1 :]} {each.text}" for each in own[:3]]
    causes += [cause for site, cause in norms if site == path and not any(cause in each for each in causes)]
    mine, theirs = (dict(model.named_modules()).get(path) for model in (both.source, both.port))
    if mine is None or theirs is None:
        causes.append(f"the {'port' if theirs is None else 'source'} has no {path}")
    elif type(mine) is not type(theirs):
        causes.append(f"{type(theirs).__name__} for {type(mine).__name__}")
    causes += entries
    causes += [f"also {site}: {cause}" for site, cause in norms[:1] if site != path]
    told = "; ".join(causes or ["it computes something else with the same weights"])
    return f"the first layer that differs is {path}, {off}; {told}"
