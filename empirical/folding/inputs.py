"""Inputs for a forward pass of any network of transformers, and the passages of a corpus."""

import inspect
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from lngeom.cli import out_of_memory

from ..models import ModelSource, load_tokenizer, longest_sequence, reads_text_alone, text_config
from ..support import CorpusError, ModelError
from ..text import Corpus, Passage, bundled_wikipedia, open_corpus, passages

GIVEN = "given: "
"""How the name begins, in a certificate, of inputs that were given."""
_GIVEN = "inputs_given"
_TAKEN: dict[tuple[object, ...], int] = {}
"""Which of the inputs that the configuration allows a class was seen to run on."""


def _shapes(config: Any, rows: int, length: int) -> dict[str, list[tuple[int, ...]]]:
    """The shapes that each input may have by the configuration; token ids have one."""
    parts = [config, *(getattr(config, name, None) for name in getattr(config, "sub_configs", ()))]

    def setting(*names: str) -> Any:
        values = (getattr(part, name, None) for name in names for part in parts)
        return next((value for value in values if value is not None), None)

    size, frames = setting("image_size", "img_size") or 64, setting("num_frames") or 4
    sides = size if isinstance(size, (list, tuple)) else (size, size)
    picture = (setting("num_channels", "in_channels", "in_chans") or 3, *sides)
    positions = setting("max_source_positions") or 0
    wide = setting("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim")
    spectrogram = [(rows, setting("max_length") or 64, wide), (rows, 1, 64, wide)] if wide else []
    return {
        "input_ids": [(rows, length)] if setting("vocab_size") else [],
        "pixel_values": [(rows, *picture), (rows, frames, *picture)],
        "input_features": [(rows, wide, 2 * positions)] * bool(wide and positions) + spectrogram,
        "input_values": [*spectrogram, (rows, 4_000), (rows, 1, 4_000)],
        "decoder_input_ids": [(rows, length)] * bool(setting("is_encoder_decoder")),
    }  # fmt: skip


def sample_inputs(model: nn.Module, *, rows: int = 2, length: int = 8, seed: int = 0) -> dict[str, Tensor]:
    """Random inputs of the kinds that the network takes: token ids, pictures, sounds, alone or together.

    Where the configuration leaves it open, the most inputs that it runs on. In place of these, those that
    :func:`give_inputs` gave it.

    Raises:
        ModelError: If it runs on none of these.
    """
    if hasattr(model, _GIVEN):
        return placed(model, getattr(model, _GIVEN))
    config: Any = getattr(model, "config", None)
    main, taken = getattr(model, "main_input_name", "input_ids"), inspect.signature(model.forward).parameters
    weight, shapes = next(model.parameters()), _shapes(config, rows, length)
    known = sorted((name for name in shapes if name in taken and shapes[name]), key=lambda name: name != main)
    sets = (each for n in range(len(known), 0, -1) for each in combinations(known, n))
    named = [each for each in sets if main not in taken or main in each]
    choices = [dict(zip(names, each, strict=True)) for names in named for each in product(*(shapes[n] for n in names))]

    def drawn(choice: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
        random = torch.Generator().manual_seed(seed)
        values = dict[str, Tensor]()
        for name, shape in choice.items():
            if name.endswith("ids"):
                size = text_config(config).vocab_size
                low = min(3, size - 1)  # special tokens, padding above all, come first
                values[name] = torch.randint(low, size, shape, generator=random).to(weight.device)
            else:
                values[name] = torch.randn(shape, generator=random).to(weight)
        return values

    key = (type(model), *(tuple(choice) for choice in choices))
    if len(choices) == 1 or key in _TAKEN:
        return drawn(choices[_TAKEN.get(key, 0)])
    reasons = list[str]()
    for number, choice in enumerate(choices):
        try:
            with torch.no_grad():
                model(**(inputs := drawn(choice)))
        except Exception as error:  # a network raises what it likes on inputs that it does not take
            if out_of_memory(error):
                raise
            reasons.append(f"and raises {type(error).__name__}: {' '.join(str(error).split())[:120]}")
        else:
            _TAKEN[key] = number
            return inputs
    reason = (*reasons, "which cannot be generated")[0]
    raise ModelError(f"{type(model).__name__} takes {main}, {reason}; give --inputs FILE.npz, its inputs by name")


_LONGEST = 512


def longest(model: nn.Module) -> int:
    """The length of the longest inputs that a fold is tried on."""
    return min(longest_sequence(getattr(model, "config", None)) or _LONGEST, _LONGEST)


def passages_for(network: PreTrainedModel, source: ModelSource, corpus: Corpus, **sizes: int) -> list[Passage]:
    """The :func:`lngeom.empirical.text.passages` of a corpus for a network; only texts need its tokenizer.

    No sequence is longer than the network's positions.
    """
    if sizes["length"] < 2:
        raise CorpusError(f"--sequence-length {sizes['length']}: no token would be predicted; use 2 or more")
    sizes["length"] = min(sizes["length"], longest_sequence(network.config) or sizes["length"])
    whole = corpus.path is not None and corpus.path.is_dir()
    if not whole and not reads_text_alone(network):
        msg = f"corpus {corpus.spec!r}: {type(network).__name__} reads more than a text; give a folder of .npz passages"
        raise CorpusError(f"{msg}, its inputs by name and labels")
    encoded = corpus.has_ids or corpus.is_random or whole
    vocabulary = getattr(text_config(network.config), "vocab_size", None)
    cut = passages(corpus, None if encoded else load_tokenizer(source), vocabulary=vocabulary, **sizes)
    most, length = longest_sequence(network.config), max(len(each.inputs.get("input_ids", ())) for each in cut)
    if most is not None and length > most:
        raise CorpusError(f"corpus {corpus.spec!r}: {length} tokens in a row exceed {most} positions; cut it shorter")
    return cut


def compared_on(
    network: PreTrainedModel,
    source: ModelSource,
    corpus: str | None,
    *,
    tokens: int,
    length: int,
    inputs: Path | None = None,
) -> tuple[list[dict[str, Tensor]], list[dict[str, Tensor]], str]:
    """The batches of every other document of a corpus, the batches of the rest, and its name.

    By default the corpus is Wikipedia; a network that reads more than a text gets one random batch, among the rest.
    `inputs` is a file of arrays, by name, that takes the place of both.
    """
    if inputs is not None:
        try:
            with np.load(inputs, allow_pickle=False) as arrays:
                give_inputs(network, arrays)
        except (OSError, ValueError, TypeError, BadZipFile) as error:
            raise CorpusError(f"{inputs}: no .npz file of inputs by name ({error})") from None
        return [], [sample_inputs(network)], f"{GIVEN}{inputs.name}"
    if corpus is None and reads_text_alone(network) and len(sample_inputs(network)) == 1:
        corpus = str(bundled_wikipedia())
    if corpus is None:
        return [], [sample_inputs(network)], "random, seed 0"
    opened = open_corpus(corpus)
    chosen = passages_for(network, source, opened, tokens=tokens, length=length, per_document=1)
    fitted = set(list(dict.fromkeys(passage.document for passage in chosen))[::2])
    sides: tuple[list[dict[str, Tensor]], list[dict[str, Tensor]]] = [], []
    for passage in chosen:
        sides[passage.document not in fitted].append(tensors(network, [passage]))
    return *sides, f"{sum(passage.tokens for passage in chosen)} tokens of {Path(opened.spec).name}"


def give_inputs(network: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Let :func:`sample_inputs` return these arrays for a network and its copies."""
    setattr(network, _GIVEN, dict(arrays))


def tensors(network: nn.Module, batch: Sequence[Passage]) -> dict[str, Tensor]:
    """The inputs of passages of one shape, on the device of a network and in its format."""
    return placed(network, {name: np.stack([passage.inputs[name] for passage in batch]) for name in batch[0].inputs})


def placed(network: nn.Module, arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Arrays as tensors, on the device of a network and in its format."""
    weight = next(network.parameters())
    moved = {name: torch.from_numpy(array).to(weight.device) for name, array in arrays.items()}
    return {name: t.to(weight.dtype) if t.is_floating_point() else t for name, t in moved.items()}
