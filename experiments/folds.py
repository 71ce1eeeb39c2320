"""Which norms of every model type of transformers can be folded, on small networks with random weights.

    python experiments/folds.py docs/results/gauge/folds_by_type.csv [TYPE ...]

Takes about fifteen CPU minutes; a run that was stopped is continued. A type is asked with the first class that can be
built of its configuration, all sizes of which are made small, and listed if one pass calls a LayerNorm.
"""

import argparse
import csv
import importlib
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from lngeom.empirical import fold
from lngeom.empirical.folding import find_norms, sample_inputs
from lngeom.empirical.folding.certificate import certify_maps
from lngeom.empirical.support import ModelError

HEADER = ("model_type", "class", "norms", "folded", "centrings", "kept", "reason")
SIZES = {
    r"_id$|_index$": 63,
    r"^(num|in)_chan|^in_chans|feat_extract|conv": 1_000_000,
    r"vocab|num_labels|max_position|n_positions|n_ctx|seq_len|max_(source|target)_pos|window": 64,
    r"head_dim|rotary|d_kv|d_head|kv_channels|v_head|patch_size|mel_bins": 8,
    r"layers|n_layer|depth$|num_blocks|experts$": 2,
    r"heads|n_head$": 4,
    r"experts_per|top_?k$": 1,
    r"intermediate|ffn|d_ff|inner|mlp_dim": 64,
    r"image_size|img_size|hidden|d_model|n_embd|dim$|size$|width|channels?$|d_embed": 32,
}
"""Largest value of the numbers whose name has the pattern; the first that fits holds."""
LISTS = {"hidden_sizes": 16, "embed_dims": 16, "embed_dim": 16, "depths": 2, "num_heads": 2, "num_attention_heads": 2}
"""Largest first value of the numbers of each stage; the widths double."""
DROPPED = ("out_features", "out_indices", "stage_names", "per_layer_config", "attention_layers")
"""Entries that follow from others."""
OWN = {"gpt_neo": {"attention_types": [[["global", "local"], 1]]}, "esm": {"vocab_size": 64, "pad_token_id": 1}}
"""Entries of one type."""
HEADS = ("FOR_SPEECH_SEQ_2_SEQ_", "FOR_SEQ_TO_SEQ_CAUSAL_LM_", "FOR_MASKED_LM_", "FOR_CAUSAL_LM_")
PICTURES = "FOR_IMAGE_CLASSIFICATION_"
MOST = 20_000_000
"""Parameters of the largest network that is tried."""


def small(entries: dict[str, Any]) -> dict[str, Any]:
    """A configuration with small sizes."""
    changed = dict[str, Any]()
    for name, value in entries.items():
        if name in DROPPED or name.endswith("layer_types"):
            continue
        changed[name] = value
        if isinstance(value, dict) and name.endswith("config"):
            changed[name] = small(value)
        elif type(value) is int and value > 0:
            changed[name] = min(value, next((n for pattern, n in SIZES.items() if re.search(pattern, name)), value))
        elif name in LISTS and isinstance(value, (list, tuple)):
            changed[name] = [min(each, LISTS[name] * 2 ** (i * (LISTS[name] > 2))) for i, each in enumerate(value)]
    return changed


def classes(kind: str) -> list[Any]:
    """The classes of a type whose code has LayerNorms: those that predict tokens or (of one part) classes first."""
    config, heads = CONFIG_MAPPING[kind], (*HEADS, *(() if CONFIG_MAPPING[kind].sub_configs else (PICTURES,)), "")
    try:
        module = importlib.import_module(config.__module__.replace(".configuration_", ".modeling_"))
    except ImportError:
        return []
    foreign = not config.__module__.startswith("transformers.")  # a type that this library registers
    if foreign or not re.search(r"LayerNorm\b|layer_norm\(", inspect.getsource(module)):
        return []
    names = [getattr(modeling_auto, f"MODEL_{head}MAPPING_NAMES").get(kind) for head in heads]
    found = [getattr(transformers, name[0] if isinstance(name, tuple) else name, None) for name in names if name]
    found += [each for _, each in sorted(vars(module).items()) if getattr(each, "config_class", None) is config]
    return [each for each in dict.fromkeys(found) if each is not None]


def network_of(kind: str) -> tuple[Any, list[str]]:
    """A small network of a model type with random gains and biases, and its LayerNorms; ModelError if none is built."""
    config, reasons = CONFIG_MAPPING[kind], list[str]()
    for each in classes(kind):
        try:
            made = config.from_dict({**small(config().to_dict()), **OWN.get(kind, {})})
            with torch.device("meta"):
                size = sum(parameter.numel() for parameter in each(made).parameters())
            if size > MOST:
                raise ModelError(f"{size / 1e6:.0f} million parameters")
            torch.manual_seed(0)
            network = each(made).eval()
            for parameter in network.parameters():
                parameter.data += 0.1 * torch.randn_like(parameter) + 0.05
            norms = find_norms(network, sample_inputs(network)).values()
        except Exception as error:  # whatever a class raises on sizes that do not fit each other
            reasons.append(f"{type(error).__name__}: {' '.join(str(error).split())[:150]}")
        else:
            return network, [norm.path for norm in norms if norm.kind == "layernorm"]
    raise ModelError(f"no network was built or run: {reasons[0]}")


def row(kind: str) -> tuple[str | int, ...]:
    """What a fold of the network of a model type does, and the reasons of the norms that it leaves."""
    try:
        network, norms = network_of(kind)
    except ModelError as error:
        return kind, "", "", "", "", "", str(error)
    name = type(network).__name__
    if not norms:
        return kind, name, 0, 0, 0, 0, "the pass calls no LayerNorm"
    try:
        folded = fold(network)
    except Exception as error:  # a class may do what no trace follows
        said = f"{type(error).__name__}: {error}" if not isinstance(error, ModelError) else str(error)
        return kind, name, len(norms), 0, 0, len(norms), said
    assert all(entry["exact"] for entry in certify_maps(network, folded))
    reasons = Counter(re.sub(r"\d+", "N", reason) for reason in folded.kept.values())
    said = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
    return kind, name, len(norms), len(folded.norms), len(folded.entries), len(folded.kept), said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", type=Path)
    parser.add_argument("types", nargs="*")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    lines = options.csv.read_text(encoding="utf-8").splitlines() if options.csv.exists() else []
    done = {each["model_type"] for each in csv.DictReader(lines)}
    for kind in options.types or CONFIG_MAPPING:
        if kind not in done and classes(kind):
            with options.csv.open("a", encoding="utf-8", newline="") as file:
                head = [] if file.tell() else [HEADER]
                csv.writer(file, lineterminator="\n").writerows([*head, row(kind)])


if __name__ == "__main__":
    main()
