"""Layers of Keras as functions on arrays of its backend."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from .factories import Function


def keras_function(layer: Any) -> tuple[Function, str]:
    """A layer as a function of x and its weights, by their names, and the framework that it runs on."""
    keras = importlib.import_module("keras")
    made = type(layer).from_config(layer.get_config())
    made.build((None, 8))
    names = [weight.name for weight in made.weights]

    def run(x: object, *weights: object) -> object:
        vars(made).update(zip(names, weights, strict=True))
        return made.call(x)

    return named(run, names), keras.backend.backend()


def named(run: Function, names: list[str]) -> Function:
    """A function of x and vectors with these names."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("x", *names)])  # type: ignore[attr-defined]
    return run
