"""Fused kernels as norms: a residual or a gate is given a value at which only the norm is left."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tracing.frameworks import FrameworkArray
from .._tracing.roles import GATES, RESIDUALS, parameters


class _Less:
    """The kernel with one parameter fixed; `left` says what that leaves untested."""

    left = ""

    def __init__(self, target: Callable[..., object], name: str) -> None:
        self.target, self.name = target, name
        self.__name__ = getattr(target, "__name__", type(target).__name__)
        self.__signature__ = inspect.Signature([one for key, one in parameters(target).items() if key != name])
        self.__wrapped__ = target

    def given(self, x: object, value: object, *given: object, **named: object) -> Any:
        """Calls the target with the parameter set to a value."""
        names = list(self.__signature__.parameters)[1:]
        return self.target(x, **{self.name: value}, **dict(zip(names, given, strict=False)), **named)


class Fused(_Less):
    """A kernel that adds a residual: every other component of x comes as the residual, so that the sum is exact."""

    residual: FrameworkArray | None = None
    total: FrameworkArray | None = None
    after: bool | None = None

    def _added_after(self, x: Any, given: Any, named: Any) -> bool:
        """Whether the residual is added to the output: f(0, x) − f(0, 0) is x then, and not f(x, 0)."""
        first, second, none = (self.given(a * x, b * x, *given, **named) for a, b in ((1, 0), (0, 1), (0, 0)))
        if not hasattr(first, "shape") or bool((first == second).all()):
            return False
        return bool((abs(second - none - x) <= 0.02 * abs(x).max()).all())

    def __call__(self, x: FrameworkArray, *given: object, **named: object) -> object:
        residual, whole = self.residual, self.residual is None
        if residual is None:
            even = _like(x, np.arange(x.shape[-1]) % 2 == 0)
            x, residual = x * even, x * (1 - even)
        x, residual = x * 1, residual * 1  # copies, for a kernel that works in place
        total = x + residual
        if self.after is None:
            self.after = self._added_after(total, given, named)
        if self.after:
            return self.given(total, total * 0, *given, **named) if whole else self.given(x, residual, *given, **named)
        output = self.given(x, residual, *given, **named)
        output = (x, residual) if output is None else output  # written in place
        output, self.total = (*output, None)[:2] if isinstance(output, tuple | list) else (output, None)
        # The sum may be returned first.
        if self.total is not None and bool((output == total).all()) and not bool((self.total == total).all()):
            output, self.total = self.total, output
        return output


class _Gated(_Less):
    """A kernel that multiplies by a function of a gate, before or after it normalizes: the gate is open."""

    left = "the activation of {} and its derivative"

    def __call__(self, x: FrameworkArray, *given: object, **named: object) -> object:
        def at(rows: FrameworkArray, gate: float) -> Any:
            return self.given(rows, rows * 0 + gate, *given, **named)

        # The sigmoid of an open gate is 1 in its dtype, so that SiLU multiplies by a power of 2.
        opened = 64.0 if x.dtype.itemsize == 8 else 32.0
        # On small rows eps tells a factor of the row from one of its norm.
        few = _like(x, 1e-3 * np.random.default_rng(0).normal(size=(2, x.shape[-1])))
        once, twice = at(few, opened), at(few, 2 * opened)
        if (once == twice).all():  # the gate is saturated, as with a sigmoid
            return at(x, opened)
        # SiLU multiplies by the gate itself: divided out after the norm, or before it where it scales the row.
        return at(x, opened) / opened if (twice == 2 * once).all() else at(x / opened, opened)


def _like(x: Any, values: np.ndarray) -> Any:
    """Values as an array of the framework and dtype of x."""
    return x.new_tensor(values).to(x.dtype) if hasattr(x, "new_tensor") else values.astype(x.dtype)


def left(target: object) -> list[str]:
    """The parts of a fused kernel that no trial examines."""
    return [target.left.format(target.name), *left(target.target)] if isinstance(target, _Less) else []


def as_norm(target: object) -> object:
    """The target as a norm, if it is a function that takes a residual or a gate besides."""
    if isinstance(target, type) or hasattr(target, "named_parameters") or not callable(target):
        return target
    for names, way in ((GATES, _Gated), (RESIDUALS, Fused)):
        name = next((name for name in list(parameters(target))[1:] if name.lower() in names), None)
        target = target if name is None else way(target, name)
    return target
