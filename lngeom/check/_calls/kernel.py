"""A norm of any framework as one function of float64 arrays."""

import copy
import functools
import importlib
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType, MappingProxyType
from typing import Any, Literal

import numpy as np

from lngeom.errors import InputError

from .._tracing.factories import made
from .._tracing.frameworks import Framework, FrameworkArray
from .._tracing.roles import given_roles, is_size, parameters, role, stated_eps
from .arguments import along
from .call_files import Filed
from .limits import limited, watched
from .options import CheckOptions
from .scripts import ones

SIZES = (64, 128, 16, 4)
"""Dimensions that are tried one after the other until a kernel takes one."""
_ODD_GAINS = np.array([0.0, -48.0, 1.0, 0.25, 96.0])
_UNKNOWN: Mapping[str, str] = MappingProxyType({})
UNREGISTERED = "not registered as a parameter of the module"

Manner = Literal["usual", "odd gains", "plain", "training"]


@dataclass(frozen=True)
class Bound:
    """The kernel at one dimension.

    Attributes:
        function: Takes x and what `roles` lists: each role with its keyword, None by place.
        eps: The ε that it states.
        gain, bias: What it multiplies and adds, float64, shape (d,), or None.
        holds: Whether they are the module's own, and not given with each call.
        leaves: The module's own gain and bias as tensors of PyTorch, by which it can be differentiated.
        still: Which of its own gain and bias get no gradient, and why.
    """

    function: Callable[..., Any]
    roles: Mapping[str, str | None]
    eps: float | None
    gain: np.ndarray | None
    bias: np.ndarray | None
    holds: bool
    leaves: Mapping[str, FrameworkArray]
    still: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """How a target is called.

    Attributes:
        given: What was given.
        target: The same as a norm of rows alone, without a residual, a gate or a matrix.
        factory: Whether it makes the norm of a dimension instead of being one.
        size: A dimension that it takes.
        interpreted: Whether it runs in Triton's interpreter, for which many rows are too many.
        axes: How many its arrays have, along one of which it normalizes; 0 where it is the last one of any number.
    """

    given: object
    target: Any
    framework: Framework
    factory: bool
    size: int
    interpreted: bool = False
    axes: int = 0

    @property
    def filed(self) -> bool:
        """Whether its calls are files: only those exist that were written."""
        return isinstance(self.target, Filed)


class Kernel:
    """A norm to be checked: inputs are rounded to its dtype, outputs come as float64.

    Attributes:
        form, asked: How it is called, and the options.
        manner: Whether it has gains with zeros and large entries, gain 1 and bias 0, or is in training mode, of which
            most have none.
        purposes: Which parameters are gain and bias, as far as a proof has told.
        at: The kernel at a dimension.
    """

    def __init__(
        self, form: Form, asked: CheckOptions, manner: Manner = "usual", purposes: Mapping[str, str] = _UNKNOWN
    ) -> None:
        self.form, self.asked, self.manner, self.purposes = form, asked, manner, purposes
        self.name, self.dtype, self.framework = str(asked.name), asked.dtype, form.framework
        self.at: Callable[[int], Bound] = functools.cache(self._bind)

    @cached_property
    def fixed(self) -> int | None:
        """The only dimension that it takes, or None."""
        form = self.form
        if not form.factory:
            return form.size if own_size(form.target) == form.size else None
        bound = self.at(form.size)
        affine = bound.holds and (bound.gain is not None or bound.bias is not None)
        return form.size if affine and not any(map(is_size, parameters(form.target))) else None

    @property
    def d(self) -> int:
        """The dimension at which it is tried first."""
        return self.asked.d or self.fixed or SIZES[0]

    @property
    def several(self) -> bool:
        """Whether others are tried as well."""
        return self.asked.d is None and self.fixed is None

    @property
    def eps(self) -> float | None:
        """ε: given, or the module's attribute, or the default of the parameter."""
        return self.at(self.form.size).eps if self.asked.eps is None else self.asked.eps

    def like(
        self, manner: Manner = "usual", eps: float | None = None, purposes: Mapping[str, str] | None = None
    ) -> "Kernel":
        """The same kernel in another manner, with another ε, or with the purposes of its parameters."""
        asked = replace(self.asked, eps=eps or self.asked.eps)
        return Kernel(self.form, asked, manner, self.purposes if purposes is None else purposes)

    @property
    def takes_eps(self) -> bool:
        """Whether it is told its ε."""
        return any(role(name) == "eps" for name in parameters(self.form.target))

    def array(self, values: np.ndarray) -> FrameworkArray:
        """`values` as an array of the framework in the dtype and on the device of the check."""
        return self.framework.make(values, self.asked.dtype, self.asked.device)

    def arrays(self, d: int) -> dict[str, FrameworkArray]:
        """Gain and bias as arrays of the framework, without what the kernel has not or holds itself."""
        bound = self.at(d)
        given = {} if bound.holds else {"gain": bound.gain, "bias": bound.bias}
        return {name: self.array(value) for name, value in given.items() if value is not None}

    def whole(self, x: FrameworkArray, arrays: Mapping[str, FrameworkArray] | None = None) -> Any:
        """All that the kernel gives for arrays of its framework; gain and bias are of :meth:`arrays` by default."""
        d = int(x.shape[-1])
        bound = self.at(d)
        eps = bound.eps if self.asked.eps is None else self.asked.eps
        values: dict[str, object] = {"gain": None, "bias": None, "eps": eps, "shape": (d,), "d": d}
        values["axis"] = -1 if self.asked.axis is None else self.asked.axis
        values |= self.arrays(d) if arrays is None else arrays
        positional = [values[purpose] for purpose, keyword in bound.roles.items() if keyword is None]
        keywords = {keyword: values[purpose] for purpose, keyword in bound.roles.items() if keyword is not None}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            what = f"a call with x of shape {tuple(x.shape)}"
            with limited(what, self.asked.seconds, ones(self, tuple(x.shape)) if watched() else ""):
                if self.form.axes:
                    call = lambda moved: _first(bound.function(moved, *positional, **keywords))  # noqa: E731
                    return along(call, x, self.asked.axis or 0, self.form.axes)
                if several := _several(bound.function):
                    return bound.function(x.reshape(*x.shape[:-1], *several)).reshape(*x.shape)
                return bound.function(x, *positional, **keywords)

    def call(self, x: FrameworkArray, arrays: Mapping[str, FrameworkArray] | None = None) -> FrameworkArray:
        """The first of what :meth:`whole` gives."""
        output = _first(self.whole(x, arrays))
        if output is None:
            raise TypeError("it returns nothing")
        if (dtype := str(getattr(output, "dtype", ""))).rpartition(".")[2].startswith(("int", "uint", "float8")):
            what = f"not expressible: outputs of {self.name} are of {dtype}, and need a scale"
            raise InputError(f"{what}: multiply them by it in a function around")
        if "complex" in str(getattr(output, "dtype", "")):
            raise TypeError("its outputs are complex numbers")
        return output

    def run(self, x: np.ndarray) -> np.ndarray:
        """Output at `x` as float64."""
        return self.framework.read(self.call(self.array(x)))

    def _made(self, d: int) -> object:
        """The norm that the factory makes for dimension `d`."""
        eps = self.asked.eps
        with limited(f"making it for d = {d}", self.asked.seconds):
            return made(self.form.target, d, lambda _, own: own if eps is None else eps, eps=eps is not None)

    def _bind(self, d: int) -> Bound:
        """A module with drawn parameters, a function with the roles of what it takes."""
        function = self._ready(self._made(d) if self.form.factory else self.form.target, d)
        named, rng = _named_parameters(function), np.random.default_rng(d)
        if named or hasattr(function, "named_parameters"):
            return self._drawn(function, named, d)
        roles, default = given_roles(function, self.asked.eps, self.purposes)
        eps = stated_eps(function) if default is None else default
        # An object that keeps arrays of shape (d,), or an ONNX file that states them.
        attributes = {} if isinstance(function, FunctionType) else getattr(function, "__dict__", {})
        kept = {role(name): value for name, value in attributes.items() if tuple(getattr(value, "shape", ())) == (d,)}
        if kept:
            own = {purpose: self.framework.read(value) for purpose, value in kept.items() if purpose}
            return Bound(function, roles, eps, own.get("gain"), own.get("bias"), True, {})
        # None is 0, 1 or symmetric, all are numbers of every format, and 1 + gain is not one of bfloat16.
        signs = np.where(rng.random(d) < 0.3, -1, 1)
        gain, bias = self._gain(signs * rng.integers(72, 250, d) / 128), self._bias(rng.integers(-120, 121, d) / 128)
        taken = gain if "gain" in roles else None, bias if "bias" in roles else None
        return Bound(function, roles, eps, *taken, False, {})

    def _gain(self, drawn: np.ndarray) -> np.ndarray:
        if self.manner == "plain":
            return np.ones(len(drawn))
        return np.resize(_ODD_GAINS, len(drawn)) if self.manner == "odd gains" else drawn

    def _bias(self, drawn: np.ndarray) -> np.ndarray:
        return np.zeros(len(drawn)) if self.manner == "plain" else drawn

    def _ready(self, function: Any, d: int) -> Any:
        """A module of a framework, built and in the dtype of the check."""
        if all(hasattr(function, name) for name in ("init", "apply", "bind")):  # flax.linen
            return _bound_flax(function, self.array(np.ones((1, d))))
        if hasattr(function, "eval") and hasattr(function, "named_parameters"):
            torch = importlib.import_module("torch")
            function = copy.deepcopy(function)  # the caller's keeps its parameters, dtype and mode
            function = function.to(dtype=getattr(torch, self.asked.dtype), device=self.asked.device or "cpu")
            return function.train(self.manner == "training")
        if hasattr(function, "built") and not function.built:  # keras
            function(self.array(np.ones((1, d))))
        return function

    def _drawn(self, function: Any, named: list[tuple[str, Any]], d: int) -> Bound:
        """A module, its gain and bias drawn where they can be set."""
        rng = np.random.default_rng(d)
        own: dict[str, np.ndarray] = {}
        leaves: dict[str, FrameworkArray] = {}
        row, still = self.array(np.linspace(-1, 2, d)[None]), dict(_unlisted(function, d))
        still = {what: value for what, value in still.items() if bool(_moved(function, row, value).any())}
        for name, parameter in (*named, *still.items()):
            if tuple(parameter.shape) not in ((d,), _several(function)):
                continue
            said, own_data = re.search("(bias|beta)|weight|gamma|gain|scale", name), hasattr(parameter, "detach")
            added = said[1] if said else own_data and (abs(_moved(function, row, parameter) - 1) < 0.01).all()
            purpose = self.purposes.get(name) or ("bias" if added else "gain")
            drawn = (rng.integers(72, 250, d) if purpose == "gain" else rng.integers(-120, 121, d)) / 128
            drawn = self._gain(drawn) if purpose == "gain" else self._bias(drawn)
            if own_data:
                parameter.data.copy_(self.array(drawn).reshape(*parameter.shape))
                leaves |= {purpose: parameter} if name not in still else {}
            elif hasattr(parameter, "assign"):
                parameter.assign(drawn)
            else:
                drawn = self.framework.read(parameter)
            own[purpose] = drawn
        return Bound(function, {}, stated_eps(function), own.get("gain"), own.get("bias"), True, leaves, tuple(still))


def _first(output: Any) -> Any:
    return output[0] if isinstance(output, tuple | list) else output


def _several(module: object) -> tuple[int, ...]:
    """The axes that a module of PyTorch normalizes at once; none where it is one."""
    shape = getattr(module, "normalized_shape", ())
    return tuple(shape) if isinstance(shape, tuple) and len(shape) > 1 else ()


def _moved(module: Any, x: Any, value: Any) -> Any:
    """By how much an output moves if 1 is added to a tensor of the module."""
    before, kept = module(x * 1), value.data
    value.data = kept + 1
    after, value.data = module(x * 1), kept
    return (after[0] - before[0] if isinstance(after, tuple | list) else after - before).detach()


def _unlisted(module: Any, d: int) -> Iterator[tuple[str, Any]]:
    """What a module of PyTorch has under the name of a gain or bias and not as a parameter, and what that means."""
    for part in module.modules() if hasattr(module, "named_buffers") else ():
        buffers = dict(part.named_buffers(recurse=False))
        for name, value in (*vars(part).items(), *buffers.items()):
            if role(name) in ("gain", "bias") and tuple(getattr(value, "shape", ())) == (d,):
                yield f"{name} gets no gradient: {'a buffer' if name in buffers else UNREGISTERED}", value


def own_size(target: object) -> int | None:
    """The dimension of a module that exists."""
    if several := _several(target):
        return math.prod(several)
    values = [] if isinstance(target, type) else [value for _, value in _named_parameters(target)]
    kept = {} if isinstance(target, type) else getattr(target, "__dict__", {})
    values += [getattr(target, "gain", None), *(kept[name] for name in kept if role(name) in ("gain", "bias"))]
    return next((int(value.shape[-1]) for value in values if len(getattr(value, "shape", ())) == 1), None)


def _bound_flax(module: Any, x: FrameworkArray) -> Callable[[FrameworkArray], FrameworkArray]:
    jax = importlib.import_module("jax")
    variables = module.init(jax.random.PRNGKey(0), x)
    return lambda values: module.apply(variables, values)


def _named_parameters(module: Any) -> list[tuple[str, Any]]:
    if isinstance(module, type):
        return []
    if hasattr(module, "named_parameters"):
        return list(module.named_parameters())
    return [(v.name, v) for v in getattr(module, "weights", [])] if hasattr(module, "get_config") else []
