"""A norm of any framework at one dimension: its gain and bias are set, or given with each call."""

import copy
import importlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal

import numpy as np

from lngeom.sentences import Statement

from .._tracing.frameworks import Framework, FrameworkArray
from .._tracing.roles import given_roles, role, stated_eps
from .options import CheckOptions

_ODD_GAINS = np.array([0.0, -48.0, 1.0, 0.25, 96.0])
_NAMED = re.compile("(bias|beta)|weight|gamma|gain|scale")

WITHOUT = "no gain", "no bias"
Manner = Literal[
    "usual", "odd gains", "gains of one", "biases of zero", "plain", "training", "no gain", "no bias", "shared",
    "two axes",
]  # fmt: skip


@dataclass(frozen=True)
class Bound:
    """A norm at one dimension.

    Attributes:
        function: Takes x and what `roles` lists: each role with its keyword, None by place.
        gain, bias: What it multiplies and adds, float64, shape (d,), or None.
        holds: Whether they are the module's own, and not given with each call.
        leaves: The module's own gain and bias as tensors of PyTorch, to differentiate by.
        still: Why some of its own gain and bias get no gradient.
        original: The module of PyTorch of which the function is a copy.
    """

    function: Callable[..., Any]
    roles: Mapping[str, str | None]
    eps: float | None
    gain: np.ndarray | None
    bias: np.ndarray | None
    holds: bool
    leaves: Mapping[str, FrameworkArray] = field(default_factory=dict)
    still: tuple[Statement, ...] = ()
    original: Any = None


@dataclass(frozen=True)
class Setting:
    """The circumstances in which a norm is tried.

    Attributes:
        manner: Variant of the test: usual gains, odd ones (zero and large), plain ones (gain 1, bias 0) or one of the
            two plain, or usual gains in training mode, or one of an optional gain and bias left at its None, or the
            gain as the bias too, or a call that normalizes over two axes.
        purposes: Which parameters are gain and bias, as far as a proof has told.
    """

    framework: Framework
    asked: CheckOptions
    manner: Manner
    purposes: Mapping[str, str]

    def array(self, values: np.ndarray) -> FrameworkArray:
        """`values` as an array of the framework in the dtype and on the device of the check."""
        return self.framework.make(values, self.asked.dtype, self.asked.device)

    def draw(self, purpose: str, d: int, rng: np.random.Generator, signs: Any = 1) -> np.ndarray:
        """The gain, with these `signs`, or the bias of this manner: numbers that every dtype holds exactly."""
        if purpose == "bias":
            drawn = rng.integers(-120, 121, d) / 128
            return np.zeros(d) if self.manner in ("plain", "biases of zero") else drawn
        drawn = signs * rng.integers(72, 250, d) / 128
        odd = {"plain": np.ones(1), "gains of one": np.ones(1), "odd gains": _ODD_GAINS}
        return np.resize(odd.get(self.manner, drawn), d)


def bind(norm: Any, d: int, setting: Setting) -> Bound:
    """The norm at dimension `d`, as the first kind that it is."""
    bounds = (kind(norm, d, setting) for kind in _KINDS)
    return next(bound for bound in bounds if bound is not None)


def _flax_module(module: Any, d: int, setting: Setting) -> Bound | None:
    """A module of flax.linen, with the parameters of its initialization."""
    if not all(hasattr(module, name) for name in ("init", "apply", "bind")):
        return None
    variables = module.init(importlib.import_module("jax").random.PRNGKey(0), setting.array(np.ones((1, d))))
    return _function(lambda values: module.apply(variables, values), d, setting)


def _torch_module(module: Any, d: int, setting: Setting) -> Bound | None:
    """A module of PyTorch, its gain and bias drawn."""
    if not hasattr(module, "named_parameters"):
        return None
    given, module, eps = module, copy.deepcopy(module), stated_eps(module)  # the caller's keeps parameters, dtype, mode
    for mine, own in zip(module.parameters(), given.parameters(), strict=True):  # hooks, which are not copied
        mine._backward_hooks, mine._post_accumulate_grad_hooks = own._backward_hooks, own._post_accumulate_grad_hooks
    dtype = getattr(importlib.import_module("torch"), setting.asked.dtype)
    module = module.to(dtype=dtype, device=setting.asked.device or "cpu").train(setting.manner == "training")
    rng, row = np.random.default_rng(d), setting.array(np.linspace(-1, 2, d)[None])
    still = {why: value for why, value in dict(_unlisted(module, d)).items() if bool(_moved(module, row, value).any())}
    held = [(name, parameter, True) for name, parameter in module.named_parameters()]
    held += [(str(why.values[0]), value, False) for why, value in still.items()]
    own, leaves = dict[str, np.ndarray](), dict[str, FrameworkArray]()
    for name, parameter, listed in held:
        if tuple(parameter.shape) not in ((d,), several(module)):
            continue
        # A parameter of another name is a bias if the output grows as it does.
        said = _NAMED.search(name)
        added = said[1] if said else (abs(_moved(module, row, parameter) - 1) < 0.01).all()
        purpose = setting.purposes.get(name) or ("bias" if added else "gain")
        own[purpose] = setting.draw(purpose, d, rng)
        parameter.data.copy_(setting.array(own[purpose]).reshape(*parameter.shape))
        leaves |= {purpose: parameter} if listed else {}
    return Bound(module, {}, eps, own.get("gain"), own.get("bias"), True, leaves, tuple(still), given)


def _keras_layer(layer: Any, d: int, setting: Setting) -> Bound | None:
    """A layer of Keras with weights, drawn where they can be assigned."""
    if hasattr(layer, "built") and not layer.built:  # its first call makes the weights
        layer(setting.array(np.ones((1, d))))
    if not (weights := _keras_weights(layer)):
        return None
    rng, own = np.random.default_rng(d), dict[str, np.ndarray]()
    for weight in weights:
        if tuple(weight.shape) not in ((d,), several(layer)):
            continue
        said = _NAMED.search(weight.name)
        purpose = setting.purposes.get(weight.name) or ("bias" if said and said[1] else "gain")
        own[purpose] = setting.draw(purpose, d, rng)
        if hasattr(weight, "assign"):
            weight.assign(own[purpose])
        else:
            own[purpose] = setting.framework.read(weight)
    return Bound(layer, {}, stated_eps(layer), own.get("gain"), own.get("bias"), True)


def _object(norm: Any, d: int, setting: Setting) -> Bound | None:
    """A callable object that keeps arrays of shape (d,), as one norm of an ONNX file does."""
    attributes = {} if isinstance(norm, FunctionType) else getattr(norm, "__dict__", {})
    kept = {role(name): value for name, value in attributes.items() if tuple(getattr(value, "shape", ())) == (d,)}
    if not kept:
        return None
    own = {purpose: setting.framework.read(value) for purpose, value in kept.items() if purpose}
    return Bound(norm, *_roles(norm, setting), own.get("gain"), own.get("bias"), True)


def _function(function: Any, d: int, setting: Setting) -> Bound:
    """A function, which gets gain and bias with each call."""
    roles, eps = _roles(function, setting)
    rng = np.random.default_rng(d)
    # None is 0, 1 or symmetric, all are numbers of every format, and 1 + gain is not one of bfloat16.
    gain = setting.draw("gain", d, rng, np.where(rng.random(d) < 0.3, -1, 1))
    bias = gain if setting.manner == "shared" else setting.draw("bias", d, rng)
    drawn = ("gain", gain), ("bias", bias)
    own = {name: values for name, values in drawn if name in roles and setting.manner != f"no {name}"}
    return Bound(function, roles, eps, own.get("gain"), own.get("bias"), False)


_KINDS = (_flax_module, _torch_module, _keras_layer, _object, _function)
"""Kinds of norms; the last one takes anything. Layers of Keras are modules of PyTorch with that backend."""


def _roles(norm: Any, setting: Setting) -> tuple[Mapping[str, str | None], float | None]:
    """The roles of what a call takes, and the ε that the norm states."""
    roles, default = given_roles(norm, setting.asked.eps, setting.purposes)
    return roles, stated_eps(norm) if default is None else default


def _keras_weights(layer: Any) -> list[Any]:
    return list(getattr(layer, "weights", [])) if hasattr(layer, "get_config") else []


def several(module: object) -> tuple[int, ...]:
    """The axes that a module of PyTorch normalizes at once; none where it is one."""
    shape = getattr(module, "normalized_shape", ())
    return tuple(shape) if isinstance(shape, tuple) and len(shape) > 1 else ()


def _moved(module: Any, x: Any, value: Any) -> Any:
    """The change of the output when 1 is added to a tensor of the module."""
    before, kept = module(x * 1), value.data
    value.data = kept + 1
    after, value.data = module(x * 1), kept
    return (after[0] - before[0] if isinstance(after, tuple | list) else after - before).detach()


def _unlisted(module: Any, d: int) -> Iterator[tuple[Statement, Any]]:
    """Tensors named as a gain or bias that are no parameters: why they get no gradient, and the tensor."""
    for part in module.modules():
        buffers = dict(part.named_buffers(recurse=False))
        for name, value in (*vars(part).items(), *buffers.items()):
            if role(name) in ("gain", "bias") and tuple(getattr(value, "shape", ())) == (d,):
                yield Statement("buffer" if name in buffers else "unregistered", name), value


def with_doubled(parameters: Iterable[Any], run: Callable[[], Any]) -> Any:
    """What a call gives where parameters are twice as large, which is exact."""
    for one in (some := [*parameters]):
        one.data.mul_(2)
    try:
        return run()
    finally:
        for one in some:
            one.data.mul_(0.5)


def own_size(target: Any) -> int | None:
    """The dimension of a module that exists."""
    if axes := several(target):
        return math.prod(axes)
    values: list[Any] = [getattr(target, "gain", None)]
    if not isinstance(target, type):
        of_torch = hasattr(target, "named_parameters")
        held = [value for _, value in target.named_parameters()] if of_torch else _keras_weights(target)
        kept = getattr(target, "__dict__", {})
        values = [*held, *values, *(kept[name] for name in kept if role(name) in ("gain", "bias"))]
    return next((int(value.shape[-1]) for value in values if len(getattr(value, "shape", ())) == 1), None)
