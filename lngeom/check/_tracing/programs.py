"""A function, a module or a class as one program, which runs on traced and on real arrays alike."""

import importlib
import inspect
import random
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

import numpy as np

from lngeom.errors import InputError

from .allowed import World
from .arrays import Arr, given
from .factories import Function, Setting, named
from .front import Build, Front
from .roles import REQUIRED, parameters, role
from .sizes import FEATURE, Dim, Num, form
from .symbols import Literals
from .trace import Refusal, Trace

LAYOUTS: dict[str, tuple[Dim, ...]] = {
    "rows": (("B",), ("L",), (FEATURE,)), "vectors": (("B",), (FEATURE,)),
    "images": (("B",), (FEATURE,), ("H",), ("W",)), "sequences": (("B",), (FEATURE,), ("L",)),
    "heads": (("B",), ("L",), ("heads",), (FEATURE,)),
}  # fmt: skip
"""The axes on which a norm is tried."""

_LIKE = re.compile(r"(^|_)(res|residual|skip|gate|z|y|h|other|inputs?|states|cond|condition|hidden)(_|$|\d)")
"""Names of further inputs that are arrays like x."""


@dataclass
class Program:
    """A norm as a program: traced, and run on real arrays."""

    name: str
    build: Build
    front: Front
    literals: Literals = field(default_factory=Literals)
    size: int | None = None
    literal: bool = False
    stated: tuple[str, Callable[..., Any]] | None = None

    concrete = property(lambda self: self.literal or not self.front.symbolic)

    def traced(self, trace: Trace, dtype: str, axes: tuple[Dim, ...], then: Callable[[Any], None] | None = None) -> Arr:
        """The output for one arbitrary row; `then` goes on from it.

        Raises:
            Refusal: The program does something without a single meaning for all rows, even if it caught the refusal.
        """
        number = self.front.number

        def setting(name: str, value: float) -> Any:
            if self.concrete:
                trace.report.given[name] = repr(value)
                return value
            return number(trace, trace.symbols.setting(name, value), None, float)

        d = number(trace, trace.ground.d, (FEATURE,))
        world, chance = World(trace, self.front.knows), _chance()
        with self.front.tracing(trace):
            with world.watching():
                function = self.build(d, setting)
            function = self.front.arbitrary(function, trace, dtype)
            like, vector = (lambda name, dims=dims: given(trace, name, dims, dtype) for dims in (axes, ((FEATURE,),)))
            x = like("x")
            arguments = _arguments(function, (like, vector), d, setting, trace.report.given.__setitem__)
            trace.values.operations.clear()  # those that built the program do not count
            world.built = True
            with world.watching():
                output = self.front.call(function, [x, *arguments])
                if then is not None:
                    then(output)
            world.close()
        if trace.refusals:
            raise trace.refusals[0]
        trace.never(chance != _chance(), "random numbers")
        if output is None:
            return trace.refuse("the output is not an array")
        trace.never(trace.kernels.asks_memory and not trace.kernels.allowed, "".join(trace.kernels.asks_memory[:1]))
        trace.never(output.memory.undefined, "the output is memory that nothing was written into")
        several = all(dim in ((), whole) for dim, whole in zip(output.axes, axes, strict=False))
        if len(output.axes) != len(axes) or not several or output.summed:
            trace.refuse(f"the output has the shape {form(output.axes)} for x of shape {form(axes)}")
        return output

    def _set(self, values: Mapping[str, SupportsFloat]) -> Setting:
        """The numbers of settings, by their names in the values."""
        named = self.literals.setting
        return lambda name, value: value if self.concrete else float(values.get(named(name, value), value))

    def called(
        self, arrays: Mapping[str, object], d: int, settings: Mapping[str, SupportsFloat]
    ) -> tuple[Function, list[object]]:
        """The function for a size, and its arguments."""
        setting = self._set(settings)
        function = self.build(d, setting)
        return function, [arrays["x"], *_arguments(function, (arrays.__getitem__, arrays.__getitem__), d, setting)]

    def run(
        self, values: Mapping[str, np.ndarray], d: int, dtype: str, axes: tuple[Dim, ...]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """The real output in float64 for rows (n, d), parameters (d,) and settings; and what linear maps gave."""
        place = axes.index((FEATURE,))
        maps, setting = list[np.ndarray](), self._set(values)

        def shaped(name: str) -> object:
            rows = values[name].reshape(*[-1 if k == 0 else 1 for k in range(len(axes) - 1)], d)
            return self.front.array(np.moveaxis(rows, -1, place), dtype)

        inputs = shaped, (lambda name: self.front.array(values[name], dtype))
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            function = self.front.loaded(self.build(d, setting), values, dtype, maps)
            output = self.front.run(function, [shaped("x"), *_arguments(function, inputs, d, setting)])
        real = self.front.read(output[0] if isinstance(output, tuple | list) else output)
        whole = np.moveaxis(real, place, -1)
        return np.broadcast_to(whole, (*whole.shape[:-1], d)).reshape(-1, d), maps


@dataclass
class Backward:
    """A backward pass of a program: derivatives by its `leaves`, each with whether it differs from row to row."""

    program: Program
    axes: tuple[Dim, ...]
    dtype: str
    leaves: Mapping[str, bool]


def _chance() -> tuple[object, ...]:
    """The state of the generators that a program may draw from."""
    _, keys, *rest = np.random.get_state()  # noqa: NPY002  # what programs use, not what we do
    torch = sys.modules.get("torch")
    drawn = torch.get_rng_state().numpy().tobytes() if torch else b""
    return random.getstate(), np.asarray(keys).tobytes(), rest, drawn


def _arguments(
    function: Function, made: tuple[Function, ...], d: Num | int, setting: Setting, leave: Function = lambda *_: None
) -> list[object]:
    """A program's arguments beside x, in order: arrays like x or of components, as `made` makes them, and settings.

    `leave` is told what is left at its default.
    """
    like, vector = made
    forward = getattr(function, "forward", None)
    arguments: list[object] = []
    left_out = False
    for name, parameter in list(parameters(function if forward is None else forward).items())[1:]:
        purpose, required = role(name), parameter.default is REQUIRED
        if left_out or parameter.kind is inspect.Parameter.KEYWORD_ONLY or (forward is not None and not required):
            left_out = True
            leave(name, repr(parameter.default))
        elif forward is not None or (required and purpose is None and _LIKE.search(name)):
            arguments.append(like(name))
        elif purpose == "eps" and (required or isinstance(parameter.default, float)):
            arguments.append(setting(name, 1e-5 if required else parameter.default))
        elif required and purpose in ("d", "shape"):
            arguments.append(d if purpose == "d" else (d,))
        elif required or (purpose in ("gain", "bias") and parameter.default is None):
            arguments.append(vector(name))
        else:
            arguments.append(parameter.default)
            leave(name, repr(parameter.default))
    return arguments


_FRONTS = {"torch": ("torch_front", "TorchFront"), "numpy": ("front", "Front"), "jax": ("jax_front", "JaxFront")}
"""The file of each front, which loads its framework, and its class."""


def program(target: Any, name: str, framework: str, *, factory: bool) -> Program:
    """The program that a function, module or class of a framework is, or makes if it is a `factory`.

    Raises:
        InputError: The target cannot be called.
    """
    name = name.rpartition(":")[2]
    if hasattr(target, "_torchdynamo_orig_callable") or type(target).__module__.startswith("torch.jit"):
        return _refused(name, "it is compiled, and the compiled code may differ from the source")
    if framework == "keras" and hasattr(target, "get_config"):
        target, framework = _keras_function(target)
    front = getattr(target, "front", None)  # a norm of a file brings its own
    if front is None and framework not in _FRONTS:
        files = framework == "files"
        return _refused(name, "its outputs are files" if files else f"code on arrays of {framework} is not traced")
    if front is None:
        file, kind = _FRONTS[framework]
        front = getattr(importlib.import_module(f".{file}", __package__), kind)()
    if not callable(target):
        raise InputError(f"{name} is a {type(target).__name__}: a norm is a function, a module or a class")
    if (instance := front.of_instance(target)) is not None:
        return Program(name, instance[0], front, size=instance[1])
    build = (lambda d, setting: front.of_class(target, d, setting)) if factory else lambda d, setting: target
    return Program(name, build, front, size=getattr(front, "size", None))


def _refused(name: str, why: str) -> Program:
    """A program that is not traced."""

    def build(*_: object) -> Function:
        raise Refusal(why)

    return Program(name, build, Front())


def _keras_function(layer: Any) -> tuple[Function, str]:
    """A layer of Keras as a function of x and its weights, by their names, and the framework that it runs on."""
    keras = importlib.import_module("keras")
    made = type(layer).from_config(layer.get_config())
    made.build((None, 8))
    names = [weight.name for weight in made.weights]

    def run(x: object, *weights: object) -> object:
        vars(made).update(zip(names, weights, strict=True))
        return made.call(x)

    return named(run, names), keras.backend.backend()
