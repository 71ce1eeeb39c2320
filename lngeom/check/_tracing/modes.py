"""What a program of PyTorch may ask for beside its arguments; both answers are followed."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from .allowed import kind
from .decisions import GRADIENTS
from .trace import Trace

_RECORDED = "with gradients"
_QUESTIONS = {
    "torch.is_grad_enabled": _RECORDED,
    "torch.is_inference_mode_enabled": "in inference mode",
    "torch.is_autocast_enabled": "in autocast",
    "torch.is_autocast_cpu_enabled": "in autocast",
    "torch.jit.is_scripting": "in a script",
    "torch.jit.is_tracing": "in a script",
    "torch.compiler.is_compiling": "compiled",
    "torch.cuda.is_available": "where there is CUDA",
} | dict.fromkeys(("torch.get_autocast_dtype", "torch.get_autocast_gpu_dtype", "torch.get_autocast_cpu_dtype"), "")
"""Query → the circumstance that holds if the answer is yes; empty where the answer is a setting."""


def _asks(trace: Trace, words: str, real: Callable[..., Any]) -> Callable[..., object]:
    @functools.wraps(real)
    def asked(*given: object) -> object:
        if kind(sys._getframe(1)) != "program":
            return real(*given)
        if not words:
            trace.report.give(real.__name__, repr(real(*given)))
            return real(*given)
        return trace.decisions.circumstance(words, GRADIENTS if words == _RECORDED else "")

    return asked


@contextlib.contextmanager
def asking(trace: Trace) -> Iterator[None]:
    """A block in which questions of a program for its circumstances are branches."""

    def training(module: torch.nn.Module) -> bool:
        if kind(sys._getframe(1)) == "ours":
            return module.__dict__.get("training", False)
        return trace.decisions.circumstance("in training")

    def set_mode(module: torch.nn.Module, mode: bool) -> None:
        module.__dict__["training"] = mode

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(torch.nn.Module, "training", property(training, set_mode), create=True))
        for path, words in _QUESTIONS.items():
            module, _, name = path.rpartition(".")
            place = importlib.import_module(module)
            stack.enter_context(mock.patch.object(place, name, _asks(trace, words, getattr(place, name))))
        yield
