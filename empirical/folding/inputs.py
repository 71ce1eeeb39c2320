"""Inputs for a forward pass of any network of transformers, and the passages of a corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..models import ModelSource, load_tokenizer, longest_sequence, reads_text_alone, text_config
from ..support import CorpusError, ModelError
from ..text import Corpus, Passage, bundled_wikipedia, open_corpus, passages


def sample_inputs(model: nn.Module, *, rows: int = 2, length: int = 8, seed: int = 0) -> dict[str, Tensor]:
    """Random inputs of the kind that the network takes: token ids, spectrograms with token ids, or pictures.

    Raises:
        ModelError: If its main input is not one of these.
    """
    config: Any = getattr(model, "config", None)
    random = torch.Generator().manual_seed(seed)
    main = getattr(model, "main_input_name", "input_ids")
    weight = next(model.parameters())

    def ids() -> torch.Tensor:
        low = min(3, config.vocab_size - 1)  # special tokens, padding above all, come first
        return torch.randint(low, config.vocab_size, (rows, length), generator=random).to(weight.device)

    def noise(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random).to(weight)

    if main == "input_ids" and getattr(config, "vocab_size", None):
        return {"input_ids": ids(), **({"decoder_input_ids": ids()} if config.is_encoder_decoder else {})}
    if main == "input_features" and hasattr(config, "num_mel_bins"):
        frames = 2 * config.max_source_positions
        return {"input_features": noise(rows, config.num_mel_bins, frames), "decoder_input_ids": ids()}
    if main == "pixel_values" and hasattr(config, "image_size"):
        size = config.image_size
        sides = size if isinstance(size, (list, tuple)) else (size, size)
        return {"pixel_values": noise(rows, config.num_channels, *sides)}
    raise ModelError(f"{type(model).__name__} takes {main}, which cannot be generated; give a network of token ids")


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
    encoded = corpus.has_ids or whole
    vocabulary = getattr(text_config(network.config), "vocab_size", None)
    cut = passages(corpus, None if encoded else load_tokenizer(source), vocabulary=vocabulary, **sizes)
    most, length = longest_sequence(network.config), max(len(each.inputs.get("input_ids", ())) for each in cut)
    if most is not None and length > most:
        raise CorpusError(f"corpus {corpus.spec!r}: {length} tokens in a row exceed {most} positions; cut it shorter")
    return cut


def compared_on(
    network: PreTrainedModel, source: ModelSource, corpus: str | None, *, tokens: int, length: int
) -> tuple[list[dict[str, Tensor]], list[dict[str, Tensor]], str]:
    """The batches of every other document of a corpus, the batches of the rest, and its name.

    By default the corpus is Wikipedia; a network that reads more than a text gets one random batch, among the rest.
    """
    if corpus is None and reads_text_alone(network):
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


def tensors(network: nn.Module, batch: Sequence[Passage]) -> dict[str, Tensor]:
    """The inputs of passages of one shape, on the device of a network and in its format."""
    weight = next(network.parameters())
    stacked = {name: np.stack([passage.inputs[name] for passage in batch]) for name in batch[0].inputs}
    moved = {name: torch.from_numpy(array).to(weight.device) for name, array in stacked.items()}
    return {name: t.to(weight.dtype) if t.is_floating_point() else t for name, t in moved.items()}
