"""Modules of PyTorch as programs: built for a size without a value, their parameters arbitrary, or as they are."""

import contextlib
import copy
import functools
import importlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import torch

from .allowed import kind
from .arrays import Arr, filled, given
from .decisions import AUTOCAST, GRADIENTS, PRETENDED
from .factories import Function, Setting, made
from .front import Build, Front
from .grounds import LINEAR, Opaque
from .roles import role
from .sizes import FEATURE, Dim, Num
from .tensors import Size, Tensor, raised
from .torch_operations import known
from .trace import Trace
from .triton import stand_in
from .triton.launch import launching

_RECORDED = "with gradients"
_QUESTIONS = {path: kind for kind, path in PRETENDED.items()} | {
    "torch.is_grad_enabled": _RECORDED, "torch.is_inference_mode_enabled": "in inference mode",
    "torch.is_autocast_enabled": AUTOCAST, "torch.is_autocast_cpu_enabled": AUTOCAST,
    "torch.jit.is_scripting": "in a script", "torch.cuda.is_available": "where there is CUDA",
} | dict.fromkeys((f"torch.get_autocast_{of}dtype" for of in ("", "gpu_", "cpu_")), "")  # fmt: skip
"""Query → the circumstance that holds if the answer is yes; empty where the answer is a setting."""


class TorchFront(Front):
    """Functions, modules and classes of PyTorch."""

    framework = "torch"
    number = Size
    formats = ("float32", "float64", "bfloat16", "float16")

    def raised(self, arr: Arr) -> Tensor:
        return raised(arr)

    def lowered(self, value: object) -> Arr | None:
        return value.arr if isinstance(value, Tensor) else None

    def array(self, values: np.ndarray, dtype: str) -> Any:
        # Inside of a network; traced ones say that they are not.
        return super().array(values, dtype).requires_grad_().clone()

    def run(self, function: Function, arguments: Sequence[object]) -> object:
        try:
            return function(*arguments)
        except Exception as error:  # whatever it raises where gradients are recorded
            with torch.no_grad():
                output = function(*arguments)
            self.excluded = f"where gradients are recorded ({str(error).partition('.')[0]})"
            return output

    def knows(self, name: str) -> bool:
        return known(name) or super().knows(name)

    @contextlib.contextmanager
    def tracing(self, trace: Trace) -> Iterator[None]:
        trace.kernels.allowed = "triton" in sys.modules or stand_in.has_kernels[0]
        with _symbolic(), answering(trace), launching(trace), torch.no_grad():
            yield

    def arbitrary(self, function: Function, trace: Trace, dtype: str) -> Function:
        return _arbitrary(function, trace, dtype) if isinstance(function, torch.nn.Module) else function

    def loaded(self, function: Function, values: Mapping[str, np.ndarray], dtype: str, maps: list[Any]) -> Function:
        if not isinstance(function, torch.nn.Module):
            return function
        module = copy.deepcopy(function).to(getattr(torch, dtype)).eval()
        for path, tensor in [*module.named_parameters(), *module.named_buffers()]:
            name = safe(path)
            if name in values:
                real = self.array(values[name], dtype).detach()
                tensor.data = real.expand(tensor.numel()).reshape(tensor.shape).clone()
        for part in module.modules():
            if isinstance(part, torch.nn.Linear):
                part.register_forward_hook(lambda _, __, out: maps.append(self.read(out).reshape(-1, out.shape[-1])))
        return module

    def of_instance(self, module: object) -> tuple[Build, int | None] | None:
        if not isinstance(module, torch.nn.Module):
            return None
        shapes = [tuple(tensor.shape) for tensor in (*module.parameters(), *module.buffers())]
        shapes.append(getattr(module, "normalized_shape", ()))
        size = next((shape[0] for shape in shapes if isinstance(shape, tuple) and len(shape) == 1), None)
        return lambda d, setting: _labelled(module, size, d, setting), size

    def of_class(self, target: Function, d: Num | int, setting: Setting) -> Function:
        try:
            instance = super().of_class(target, d, setting)
            return instance.eval() if isinstance(instance, torch.nn.Module) else instance
        except (TypeError, RuntimeError):
            if not isinstance(d, Num) or d.trace.refusals:
                raise
        return _twice(target, d, setting)


def safe(path: str) -> str:
    """The name of a parameter, by its path in a module."""
    return re.sub(r"\W", "_", path).strip("_")


def _twice(target: Function, d: Num, setting: Setting) -> torch.nn.Module:
    """A module of a class that takes plain numbers alone: two of its sizes may differ in the size alone."""
    small, large = (made(target, size, setting) for size in (48, 80))
    for part, other in zip(small.modules(), large.modules(), strict=True):
        kinds = (bool, int, float, tuple, str)
        plain = {name: value for name, value in vars(part).items() if type(value) in kinds}
        for name, value in plain.items():
            wanted = tuple(80 if size == 48 else size for size in value) if isinstance(value, tuple) else value
            if vars(other)[name] not in (wanted, 80 if value == 48 else wanted):
                d.trace.refuse(f"{name} is {value} at d = 48 and {vars(other)[name]} at d = 80")
    d.trace.report.builds = d.trace.report.builds or "48 and 80"
    return _labelled(small, 48, d, setting)


def _no_weights(self: torch.nn.Linear, in_features: object, out_features: int, bias: bool = True, **_: object) -> None:
    torch.nn.Module.__init__(self)
    self.out_features = out_features


def _any_map(self: torch.nn.Linear, x: Tensor) -> Tensor:
    """An arbitrary function of a row."""
    size = self.out_features
    arr = x.arr
    dim: Dim = (size.dim or ()) if isinstance(size, Num) else (f"n{size}",)
    if arr.summed or (FEATURE,) not in (dim, arr.axes[-1]):
        arr.trace.refuse("a linear map between sizes other than the dimension")
    made = arr.trace.calls.call(Opaque(LINEAR, id(self)), arr.value)
    return raised(Arr(arr.trace, made, [*arr.axes[:-1], dim], arr.dtype))


class Needs:
    """Whether a derivative by each input is asked for; both answers are followed where it is an array."""

    def __init__(self, trace: Trace, inputs: Sequence[object]) -> None:
        self.trace, self.arrays = trace, [isinstance(one, Tensor) for one in inputs]

    def __getitem__(self, place: int) -> bool:
        asked = self.trace.decisions.circumstance
        return self.arrays[place] and asked(f"with a gradient by input {place % len(self)}", GRADIENTS)

    def __len__(self) -> int:
        return len(self.arrays)


class Context:
    """The object on which a function of autograd keeps tensors for its backward pass."""

    def __init__(self, trace: Trace, inputs: Sequence[object]) -> None:
        self.saved_tensors: tuple[object, ...] = ()
        self.needs_input_grad = Needs(trace, inputs)
        self.trace = trace

    def save_for_backward(self, *tensors: object) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors

    mark_dirty = save_for_forward = mark_non_differentiable = lambda *_: None  # no derivative depends on these

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a cotangent that there is not is zero, and not None."""
        if not value:
            self.trace.kernels.rules.append("cotangents that are None (set_materialize_grads)")


def _apply(cls: type[torch.autograd.Function], *arguments: object) -> object:
    """A function with a backward pass of its own: its forward pass."""
    trace = next(value.arr.trace for value in arguments if isinstance(value, Tensor))
    context = Context(trace, arguments)
    own = (rule for rule in _RULES if getattr(cls, rule) is not getattr(torch.autograd.Function, rule))
    trace.kernels.rules += [f"{_RULES[rule]} ({cls.__name__}.{rule})" for rule in own]
    if cls.setup_context is torch.autograd.Function.setup_context:
        output = cls.forward(context, *arguments)
    else:
        output = cls.forward(*arguments)
        cls.setup_context(context, arguments, output)
    outputs = output if isinstance(output, tuple) else (output,)
    left = [(one, one.arr.value if isinstance(one, Tensor) else None) for one in outputs]  # as the function leaves them
    trace.kernels.functions.append((cls, context, arguments, left))
    trace.kernels.rules += ["derivatives through further outputs"] * (sum(isinstance(y, Tensor) for y in outputs) > 1)
    visible = [one.arr.memory for one in (*arguments, *outputs) if isinstance(one, Tensor)]
    for name, value in vars(context).items():
        kept = value if isinstance(value, tuple | list) else [value]
        if name != "saved_tensors" and any(isinstance(one, Tensor) and one.arr.memory in visible for one in kept):
            trace.kernels.exposed.append(f"ctx.{name}")
    return output


_RULES = {"jvp": "forward-mode derivatives", "vmap": "torch.vmap", "generate_vmap_rule": "torch.vmap"}
"""What a function of autograd may define beside its two passes, and what that is for."""


def uninitialised() -> contextlib.AbstractContextManager[object]:
    """Initialisations of parameters that do nothing."""
    named = [name for name in dir(torch.nn.init) if name.endswith("_") and not name.startswith("_")]
    return mock.patch.dict(vars(torch.nn.init), {name: (lambda tensor, *_, **__: tensor) for name in named})


def _packed(make: Callable[..., object]) -> Any:
    """A function of several sizes, given as one shape: PyTorch takes no other number there than its own."""
    return functools.wraps(make)(lambda *sizes, **how: make(sizes, **how) if len(sizes) > 1 else make(*sizes, **how))


def _asks(trace: Trace, words: str, real: Callable[..., Any]) -> Callable[..., object]:
    @functools.wraps(real)
    def asked(*given: object) -> object:
        if kind(sys._getframe(1)) != "program":
            return real(*given)
        if not words:
            trace.report.given[real.__name__] = repr(real(*given))
            return real(*given)
        return trace.decisions.circumstance(words, GRADIENTS if words == _RECORDED else "")

    return asked


@contextlib.contextmanager
def answering(trace: Trace) -> Iterator[None]:
    """A block in which questions of a program for its circumstances are branches."""

    def training(module: torch.nn.Module) -> bool:
        if kind(sys._getframe(1)) == "ours" or type(module).__module__.startswith("torch.fx"):  # copies, and graphs
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


@contextlib.contextmanager
def _symbolic() -> Iterator[None]:
    """Constructors and initialisations that take a size without a value."""
    square_root = math.sqrt

    def sqrt(value: Num | float) -> Num | float:
        return value.sqrt() if isinstance(value, Num) else square_root(value)

    def tensor(value: object, **options: Any) -> torch.Tensor:
        return raised(filled(value.trace, value, [], "float32")) if isinstance(value, Num) else made(value, **options)

    made = torch.tensor
    patches = (
        mock.patch.multiple(torch.nn.Linear, __init__=_no_weights, forward=_any_map),
        uninitialised(),
        mock.patch.multiple(torch, tensor=tensor, **{n: _packed(vars(torch)[n]) for n in ("ones", "zeros", "empty")}),
        mock.patch.object(math, "sqrt", sqrt),
        mock.patch.object(torch.autograd.function._SingleLevelFunction, "apply", classmethod(_apply)),
    )
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield


def _arbitrary(module: torch.nn.Module, trace: Trace, dtype: str) -> torch.nn.Module:
    """A module whose parameters and buffers are arbitrary, each with its own name; one that is held twice is one."""
    twins: dict[int, Tensor] = {}
    for path, part in module.named_modules():
        held: dict[str, Any]
        for held in (part._parameters, part._buffers):
            for name, tensor in held.items():
                full, sized = safe(f"{path}.{name}"), isinstance(tensor, Tensor)
                if full in trace.literals.values and sized and held is part._buffers:
                    new = tensor.to(getattr(torch, dtype))  # the setting, as the module holds it
                elif full in trace.literals.values:
                    trace.refuse(f"a setting and a parameter are both called {full}")
                elif id(tensor) in twins:
                    new = twins[id(tensor)]
                elif tensor is None:
                    continue
                elif not sized and tensor.numel() > 1:
                    trace.refuse(f"{path} {name} has the shape {tuple(tensor.shape)}")
                else:
                    arr = given(trace, full, tensor.arr.axes if sized else [()] * tensor.ndim, dtype)
                    if not sized and role(name) == "eps":
                        trace.ground.assume(arr.value, ">")
                    new = raised(arr)
                held[name] = twins.setdefault(id(tensor), new)  # pyright: ignore[reportArgumentType]
    return module


def _labelled(module: torch.nn.Module, size: int | None, d: Num | int, setting: Setting) -> torch.nn.Module:
    """A copy of a module in which what has its dimension has the dimension `d`."""
    twin = copy.deepcopy(module, {id(parameter): parameter for parameter in module.parameters()}).eval()
    if type(d) is int:
        return twin
    sized: dict[int, torch.Tensor] = {}
    if isinstance(d, Num):
        d.trace.report.builds = d.trace.report.builds or str(size or "")
    for part in twin.modules():
        for name, value in list(vars(part).items()):
            if isinstance(value, Num):
                continue
            if value == size and isinstance(value, int):
                setattr(part, name, d)
            elif isinstance(value, tuple) and size in value:
                setattr(part, name, tuple(d if axis == size else axis for axis in value))
            elif isinstance(value, float) and role(name) == "eps":
                setattr(part, name, setting(name, value))
        held: dict[str, Any]
        for held in (part._parameters, part._buffers):
            for name, tensor in held.items():
                if tensor is not None and tensor.numel() > 1 and math.prod(tensor.shape) == size:
                    held[name] = sized.setdefault(id(tensor), _with_dimension(tensor, d))
    return twin


def _with_dimension(tensor: torch.Tensor, d: Num | int) -> torch.Tensor:
    """A parameter of dimension `d` in place of one whose only axis of more than one component has its own."""
    if not isinstance(d, Num):
        return torch.nn.Parameter(torch.empty([d if n > 1 else 1 for n in tensor.shape]))
    return raised(filled(d.trace, 1, [(FEATURE,) if n > 1 else () for n in tensor.shape], "float32"))
