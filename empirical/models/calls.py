"""Calling a model on token ids alone, and hooks that report the calls of its modules."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from ..support import ModelError

_AS_FUNCTION = "write a function that returns the model and its batches, and give it as MODULE:FUNCTION"


def text_config(config: Any) -> Any:
    """The part of a configuration that speaks of text: the whole, or one inside it."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def reads_text_alone(model: Any) -> bool:
    """Whether a network of transformers runs on token ids and nothing else."""
    return model.main_input_name == "input_ids" and not model.config.is_encoder_decoder


def vocabulary(config: Any, name: str) -> int:
    """How many token ids the network called `name` reads; ModelError if it reads none."""
    size = getattr(text_config(config), "vocab_size", None)
    if size is None:
        raise ModelError(f"{name} reads no text: {_AS_FUNCTION}")
    return size


def text_inputs(model: nn.Module, ids: Tensor) -> dict[str, Tensor | bool]:
    """Keyword arguments for a forward pass over token ids that keeps no cache.

    An encoder-decoder reads the same text on both sides.
    """
    name = getattr(model, "main_input_name", "input_ids")
    if name != "input_ids":
        raise ModelError(f"{type(model).__name__} reads {name}, not text: {_AS_FUNCTION}")
    inputs: dict[str, Tensor | bool] = {"input_ids": ids}
    if "use_cache" in inspect.signature(model.forward).parameters:
        inputs["use_cache"] = False
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = ids
    return inputs


@contextmanager
def passing(model: nn.Module, advice: str) -> Iterator[None]:
    """With one line for whatever a pass of the model raises."""
    try:
        yield
    except Exception as error:  # it is the user's, and raises what it likes
        raises = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        raise ModelError(f"{type(model).__name__}: a pass raises {raises}; {advice}") from None


@contextmanager
def watching(
    model: nn.Module, paths: Iterable[str], leave: Callable[..., None], enter: Callable[..., None] | None = None
) -> Iterator[None]:
    """Inside a ``with`` block, report each call of these modules by path, module and arguments, and where it fails.

    ``enter(path, module, args, kwargs)`` before it, ``leave(path, module, args, kwargs, output)`` after it, the output
    None if it failed.
    """
    with ExitStack() as hooks:
        for path in paths:
            module = model.get_submodule(path)
            if enter is not None:
                hooks.enter_context(module.register_forward_pre_hook(partial(enter, path), with_kwargs=True))
            left = module.register_forward_hook(partial(leave, path), with_kwargs=True, always_call=True)
            hooks.enter_context(left)
        yield
