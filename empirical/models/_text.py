"""How a model is called on token ids alone."""

import inspect
from typing import Any

from torch import Tensor, nn

from ..support import ModelError


def text_config(config: Any) -> Any:
    """The part of a configuration that speaks of text: the whole, or one inside it."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def text_inputs(model: nn.Module, ids: Tensor) -> dict[str, Tensor | bool]:
    """Keyword arguments for a forward pass over token ids that keeps no cache.

    An encoder-decoder reads the same text on both sides.
    """
    name = getattr(model, "main_input_name", "input_ids")
    if name != "input_ids":
        raise ModelError(
            f"{type(model).__name__} reads {name}, not text: write a function that returns the model and its batches, "
            "and give it as MODULE:FUNCTION"
        )
    inputs: dict[str, Tensor | bool] = {"input_ids": ids}
    if "use_cache" in inspect.signature(model.forward).parameters:
        inputs["use_cache"] = False
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = ids
    return inputs
