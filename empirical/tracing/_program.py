"""What is traced: a function, a module or a class of PyTorch as one program, on traced and on real tensors alike."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch

from lngeom.errors import InputError
from lngeom.tracing import FEATURE, Arr, Dim, Literals, Num, Trace, given

from ._roles import REQUIRED, is_size, parameters, role
from ._torch import Size, Tensor, raised

LAYOUTS: dict[str, tuple[Dim, ...]] = {
    "rows": (("B",), ("L",), (FEATURE,)),
    "vectors": (("B",), (FEATURE,)),
    "images": (("B",), (FEATURE,), ("H",), ("W",)),
    "sequences": (("B",), (FEATURE,), ("L",)),
    "heads": (("B",), ("L",), ("num_key_value_heads",), (FEATURE,)),
}
"""The axes on which a norm is tried."""

Setting = Callable[[str, float], float]
"""The number that stands for a setting such as ε, given its name and its value."""


@dataclass
class Program:
    """A norm as a program: traced, and run on real tensors.

    Attributes:
        build: The function of tensors for a size and the numbers of settings.
        literals: Its constants and settings by name.
        size: The only dimension it was made for, or None.
    """

    name: str
    build: Callable[[Any, Setting], Callable[..., Any]]
    literals: Literals = field(default_factory=Literals)
    size: int | None = None

    def traced(self, trace: Trace, dtype: str, axes: tuple[Dim, ...]) -> Arr:
        """The output for one arbitrary row."""
        known = {name: unusual for unusual, name in self.literals.names.items()}

        def setting(name: str, value: float) -> float:
            if name not in known:
                known[name] = self.literals.add(name, value)
            return known[name]

        d = Size(trace, trace.ground.d, (FEATURE,))
        with _symbolic():
            function = self.build(d, setting)
            function = _arbitrary(function, trace, dtype) if isinstance(function, torch.nn.Module) else function
            x = raised(given(trace, "x", axes, dtype))
            made = (
                lambda name: raised(given(trace, name, axes, dtype)),
                lambda name: raised(given(trace, name, [(FEATURE,)], dtype)),
            )
            arguments = _arguments(function, made, d, setting)
            trace.operations.clear()
            with torch.no_grad():
                output = function(x, *arguments)
        output = output[0] if isinstance(output, tuple | list) else output
        if trace.refusals:
            trace.refuse(trace.refusals[0])
        if not isinstance(output, Tensor):
            trace.refuse(f"the output is a {type(output).__name__}")
        several = all(dim in ((), whole) for dim, whole in zip(output.arr.axes, axes, strict=False))
        if len(output.arr.axes) != len(axes) or not several or output.arr.summed:
            trace.refuse(f"the output has the axes {output.arr.axes} for an input with {axes}")
        return output.arr

    def run(
        self, values: Mapping[str, np.ndarray], d: int, dtype: str, axes: tuple[Dim, ...]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """The real output in float64 for rows (n, d), parameters (d,) and settings; and what linear maps gave."""
        kind = getattr(torch, dtype)
        place = axes.index((FEATURE,))
        maps: list[torch.Tensor] = []

        def setting(name: str, value: float) -> float:
            return float(values.get(name, value))

        def shaped(rows: np.ndarray) -> torch.Tensor:
            tensor = torch.tensor(rows).reshape(*[-1 if k == 0 else 1 for k in range(len(axes) - 1)], d)
            return tensor.movedim(-1, place).to(kind)

        function = self.build(d, setting)
        if isinstance(function, torch.nn.Module):
            function = copy.deepcopy(function).to(kind).eval()
            for name, tensor in [*function.named_parameters(), *function.named_buffers()]:
                if _safe(name) in values:
                    tensor.data = (
                        torch.tensor(values[_safe(name)]).expand(tensor.numel()).reshape(tensor.shape).to(kind)
                    )
            for part in function.modules():
                if isinstance(part, torch.nn.Linear):
                    part.register_forward_hook(lambda _, __, given: maps.append(given))
        made = lambda name: shaped(values[name]), lambda name: torch.tensor(values[name]).to(kind)
        arguments = _arguments(function, made, d, setting)
        with torch.no_grad():
            output = function(shaped(values["x"]), *arguments)
        output = output[0] if isinstance(output, tuple | list) else output

        def rows(tensor: torch.Tensor) -> np.ndarray:
            return tensor.detach().double().reshape(-1, tensor.shape[-1]).numpy()

        whole = output.movedim(place, -1)
        return rows(whole.expand(*whole.shape[:-1], d)), [rows(tensor) for tensor in maps]


def _safe(path: str) -> str:
    return re.sub(r"\W", "_", path).strip("_")


def _arguments(function: Any, made: tuple[Callable[[str], Any], ...], d: Any, setting: Setting) -> list[Any]:
    """What a program takes beside x, in order: arrays like x or of components, as `made` makes them, and settings."""
    like, vector = made
    target = function.forward if isinstance(function, torch.nn.Module) else function
    found: list[Any] = []
    for name, parameter in list(parameters(target).items())[1:]:
        purpose, required = role(name), parameter.default is REQUIRED
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            break
        if isinstance(function, torch.nn.Module):
            if not required:
                break
            found.append(like(name))
        elif purpose in ("gain", "bias") and (required or parameter.default is None):
            found.append(vector(name))
        elif purpose == "eps" and (required or isinstance(parameter.default, float)):
            found.append(setting(name, 1e-5 if required else parameter.default))
        elif purpose in ("d", "shape"):
            found.append(d if purpose == "d" else (d,)) if required else found.append(parameter.default)
        elif required:
            found.append(like(name))
        else:
            found.append(parameter.default)
    return found


def program(target: Any, name: str) -> Program:
    """The program that a target is.

    Raises:
        InputError: It is none of PyTorch.
    """
    if isinstance(target, torch.nn.Module):
        sizes = [int(p.shape[0]) for p in target.parameters() if p.ndim == 1]
        size = next(iter(sizes), None)
        return Program(name, lambda d, setting: _labelled(target, size, d, setting), size=size)
    first = next(iter(parameters(target)), None)
    if isinstance(target, type) or first is None or is_size(first) or role(first) == "eps":
        return Program(name, lambda d, setting: _of_class(target, d, setting))
    if not callable(target):
        raise InputError(f"{name} is a {type(target).__name__}: a norm is a function, a module or a class")
    return Program(name, lambda d, setting: target)


class _Config:
    """A configuration in which every width is d, and other sizes have labels of their own."""

    def __init__(self, d: Any, setting: Setting) -> None:
        self._d, self._setting = d, setting

    def __getattr__(self, name: str) -> Any:
        if "eps" in name:
            return self._setting(name, 1e-6)
        if re.search(r"(rank|num_key_value_heads)$", name):
            return Size(self._d.trace, None, (name,)) if isinstance(self._d, Num) else 1
        if is_size(name) or re.search(r"(hidden|embed|dim|d_model|width|channels|n_embd)", name):
            return self._d
        raise AttributeError(name)


def _of_class(target: Any, d: Any, setting: Setting) -> Any:
    try:
        return _made(target, d, setting)
    except (TypeError, RuntimeError):
        if not isinstance(d, Num) or d.trace.refusals:
            raise
    return _twice(target, d, setting)


def _made(target: Any, d: Any, setting: Setting) -> Any:
    """What a class or a factory makes for a dimension."""
    keywords: dict[str, Any] = {}
    for name, parameter in _constructor(target).items():
        required = parameter.default is REQUIRED
        if is_size(name) and (required or not keywords):
            keywords[name] = d
        elif role(name) == "eps" and (required or isinstance(parameter.default, float)):
            keywords[name] = setting(name, 1e-5 if required else parameter.default)
        elif "config" in name and required:
            keywords[name] = _Config(d, setting)
        elif name in ("elementwise_affine", "affine") and required:
            keywords[name] = True
        elif required:
            keywords[name] = 1 if name == "num_groups" else d
    try:
        made = target(**keywords)
    except TypeError:  # a shape is asked for
        made = target(**{name: (d,) if value is d else value for name, value in keywords.items()})
    return made.eval() if isinstance(made, torch.nn.Module) else made


def _constructor(target: Any) -> dict[str, inspect.Parameter]:
    """What a constructor takes, with what it passes on to those of its bases."""
    found: dict[str, inspect.Parameter] = {}
    for base in target.__mro__ if isinstance(target, type) else (target,):
        taken = base.__init__ if isinstance(base, type) else base
        found = {**{name: one for name, one in parameters(taken).items() if name != "self"}, **found}
        if any(one.default is REQUIRED for one in found.values()) or ("__init__" in vars(base) and len(found) > 1):
            break
    return found


def _twice(target: Any, d: Any, setting: Setting) -> Any:
    """A module of a class that takes numbers alone, of which two sizes differ in nothing but the size."""
    small, large = _made(target, 48, setting), _made(target, 80, setting)
    for part, other in zip(small.modules(), large.modules(), strict=True):
        plain = {name: value for name, value in vars(part).items() if isinstance(value, int | float | tuple | str)}
        for name, value in plain.items():
            wanted = tuple(80 if one == 48 else one for one in value) if isinstance(value, tuple) else value
            if vars(other)[name] not in (wanted, 80 if value == 48 else wanted):
                d.trace.refuse(f"{name} is {value} at d = 48 and {vars(other)[name]} at d = 80")
    return _labelled(small, 48, d, setting)


def _no_weights(self: Any, in_features: Any, out_features: Any, bias: bool = True, **_: Any) -> None:
    torch.nn.Module.__init__(self)
    self.out_features = out_features


def _any_map(self: Any, x: Tensor) -> Tensor:
    """Some function of a row, of which nothing is known but that it is one."""
    size = self.out_features
    arr = x.arr
    dim = size.dim if isinstance(size, Num) else (f"n{size}",)
    if arr.summed or (FEATURE,) not in (dim, arr.axes[-1]):
        arr.trace.refuse("a linear map between sizes that are no dimension")
    made = arr.trace.call(f"linear of {id(self)}", arr.value)
    return raised(Arr(arr.trace, made, [*arr.axes[:-1], dim], arr.dtype))


@contextlib.contextmanager
def _symbolic() -> Iterator[None]:
    """Constructors and initialisations that take a size without a value."""
    named = [name for name in dir(torch.nn.init) if name.endswith("_") and not name.startswith("_")]
    nothing = {name: (lambda tensor, *_, **__: tensor) for name in named}
    square_root = math.sqrt

    def sqrt(value: Any) -> Any:
        return value.sqrt() if isinstance(value, Num) else square_root(value)

    linear = {"__init__": _no_weights, "forward": _any_map}
    with (
        mock.patch.multiple(torch.nn.Linear, **linear),
        mock.patch.dict(vars(torch.nn.init), nothing),
        mock.patch.object(math, "sqrt", sqrt),
    ):
        yield


def _arbitrary(module: torch.nn.Module, trace: Trace, dtype: str) -> torch.nn.Module:
    """A module whose parameters and buffers are arbitrary vectors, each with its own name."""
    for path, part in module.named_modules():
        held: dict[str, Any]
        for held in (part._parameters, part._buffers):
            for name, tensor in held.items():
                if isinstance(tensor, Tensor):
                    full = _safe(f"{path}.{name}")
                    held[name] = raised(given(trace, full, tensor.arr.axes, dtype))
                elif isinstance(tensor, torch.Tensor) and tensor.numel() > 1:
                    trace.refuse(f"{path} {name} has the shape {tuple(tensor.shape)}")
    return module


def _labelled(module: torch.nn.Module, size: int | None, d: Any, setting: Setting) -> torch.nn.Module:
    """A copy of a module in which what has its dimension has the dimension `d`."""
    if not isinstance(d, Num):
        return module
    twin = copy.deepcopy(module)
    for part in twin.modules():
        for name, value in list(vars(part).items()):
            if value == size and isinstance(value, int):
                setattr(part, name, d)
            elif isinstance(value, tuple) and size in value:
                setattr(part, name, tuple(d if one == size else one for one in value))
            elif isinstance(value, float) and role(name) == "eps":
                setattr(part, name, setting(name, value))
        held: dict[str, Any]
        for held in (part._parameters, part._buffers):
            for name, tensor in held.items():
                if tensor is not None and tensor.numel() > 1:
                    dims = [(FEATURE,) if n == size else () for n in tensor.shape]
                    if math.prod(n for n in tensor.shape) == size:
                        held[name] = raised(given(d.trace, "w", dims, "float32"))
    return twin.eval()
