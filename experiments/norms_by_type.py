"""The norms of every model type of transformers: which are found in each, and what is refused and why.

``python -m experiments.norms_by_type docs/results/architectures/types.csv`` builds each type with few blocks and small
widths, without memory for its weights, and writes a row for it: how many norms, of which kinds, how many modules with
the name of one were missed. It takes some 7 minutes.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from torch import nn
from transformers import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from lngeom.empirical.models import Norms, norms
from lngeom.empirical.support import Row, write_table

_BLOCKS = re.compile(r"(num|n)_.*(layers|blocks)$|^n_layers?$|^depth$")
_WIDTHS = re.compile(r"size|dim|channels|embd|width|d_|rank|hidden|ffn|inner")
_COUNTS = re.compile(r"vocab|image|patch|kernel|window|position|batch|num_|group|chunk|block|pool|conv|seq|stride")
_NAME = re.compile(r"(Layer|RMS)Norm", re.IGNORECASE)


def _small(config: PretrainedConfig, scale: int = 16, blocks: int = 2) -> PretrainedConfig:
    """The configuration and those inside it with few blocks, and every width by one factor smaller."""

    def less(name: str, value: object) -> object:
        if isinstance(value, list) and value and all(type(each) is int for each in value):
            return [less(name, each) for each in value]
        if type(value) is not int:
            return value
        if _BLOCKS.search(name):
            return min(value, blocks)
        widths = _WIDTHS.search(name) and not _COUNTS.search(name)
        return value // scale if widths and value >= 4 * scale and value % scale == 0 else value

    for name, value in list(vars(config).items()):
        if isinstance(value, PretrainedConfig):
            _small(value, scale, blocks)
        elif name == "layer_types" and isinstance(value, list):
            config.layer_types = value[:blocks]
        elif (smaller := less(name, value)) != value:
            setattr(config, name, smaller)
    return config


def _classes(config: PretrainedConfig) -> Iterator[type]:
    """The model classes of a configuration, the base model first."""
    if type(config) in transformers.MODEL_MAPPING:
        base = transformers.MODEL_MAPPING[type(config)]
        yield from (each for each in (base if isinstance(base, tuple) else (base,)) if each is not None)
    home = type(config).__module__.replace(".configuration_", ".modeling_")
    classes = [
        value
        for value in vars(importlib.import_module(home)).values()
        if inspect.isclass(value)
        and issubclass(value, transformers.PreTrainedModel)
        and value.__module__ == home
        and getattr(value, "config_class", None) is type(config)
        and not value.__name__.endswith("PreTrainedModel")
    ]
    yield from sorted(classes, key=lambda value: (not value.__name__.endswith("Model"), "Wrapper" in value.__name__))


def build(model_type: str) -> nn.Module | str:
    """A model of a type with random weights that take no memory, or why there is none."""
    reason = "transformers has no model class for its configuration"
    for change in (_small, lambda config: _small(config, scale=1), lambda config: config):
        try:
            config = change(CONFIG_MAPPING[model_type]())
            classes = list(_classes(config))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            continue
        for kind in classes:
            try:
                with torch.device("meta"):
                    return kind(config)
            except Exception as error:
                reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return reason


def _row(model_type: str, model: nn.Module, listed: Norms) -> Row:
    kinds = dict.fromkeys(
        f"{norm.kind}{' with 1 + w' if norm.gain_offset else ''}{' channels first' if norm.axis == 1 else ''}"
        for norm in listed.found
    )
    named = [each for each in listed.others if _NAME.search(each.module)]
    return {
        "type": model_type,
        "model": type(model).__name__,
        "norms": len(listed.found),
        "kinds": ", ".join(kinds),
        "missed": len(named),
        "others": len(listed.others) - len(named),
        "named_otherwise": ", ".join(dict.fromkeys(n.module for n in listed.found if not _NAME.search(n.module))),
        "reason": "; ".join(dict.fromkeys(f"{each.module}: {each.reason}" for each in named)),
    }


def surveyed(model_type: str) -> Row:
    """The row of a model type."""
    model = build(model_type)
    if isinstance(model, str):
        empty = dict.fromkeys(("model", "norms", "kinds", "missed", "others", "named_otherwise"))
        return {"type": model_type, **empty, "reason": f"cannot be built: {model}"}
    return _row(model_type, model, norms(model))


if __name__ == "__main__":
    logging.set_verbosity_error()
    write_table(Path(sys.argv[1]), map(surveyed, sorted(CONFIG_MAPPING)))
