"""The interface between a framework and its traced programs."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from .allowed import KNOWN
from .arrays import Arr
from .factories import Function, Setting, made
from .frameworks import FRAMEWORKS
from .numpy_arrays import NumpyArray, arbitrary, tracing as numpy_tracing
from .sizes import Num
from .trace import Trace

Build = Callable[[Num | int, Setting], Function]
"""A program for a size and the numbers of its settings."""


class Front:
    """Traced and real arrays of a framework; this one is NumPy's."""

    framework = "numpy"
    number: type[Num] = Num
    held: Mapping[str, np.ndarray] = MappingProxyType({})
    """Vectors that a program holds for good."""
    formats: tuple[str, ...] = ("float32", "float64", "float16")
    excluded = ""
    symbolic = True
    """Whether settings may be symbols."""

    def call(self, function: Function, values: Sequence[object]) -> Arr | None:
        """The traced array that a program gives for traced arrays and other values, None if it gives none."""
        output = function(*(self.raised(value) if isinstance(value, Arr) else value for value in values))
        return self.lowered(output[0] if isinstance(output, tuple | list) else output)

    def raised(self, arr: Arr) -> object:
        """A traced array as the framework sees it."""
        return NumpyArray(arr)

    def lowered(self, value: object) -> Arr | None:
        """The traced array that a result is, None if it is none."""
        return value.arr if isinstance(value, NumpyArray) else None

    def run(self, function: Function, arguments: Sequence[object]) -> object:
        """What a program gives for real arrays; circumstances in which it does not run are `excluded`."""
        return function(*arguments)

    def array(self, values: np.ndarray, dtype: str) -> Any:
        """A real array of a format, of float64 values."""
        return FRAMEWORKS[self.framework].make(values, dtype, None)

    def read(self, values: object) -> np.ndarray:
        """A real result in float64."""
        return FRAMEWORKS[self.framework].read(values)

    def knows(self, name: str) -> bool:
        """Whether a function of the framework with this name depends on its arguments alone."""
        return name in KNOWN["numpy"]

    def tracing(self, trace: Trace) -> contextlib.AbstractContextManager[None]:
        """A context that holds while a program is built and traced."""
        return numpy_tracing()

    def arbitrary(self, function: Function, trace: Trace, dtype: str) -> Function:
        """A program whose own parameters are arbitrary."""
        arbitrary(function, trace, dtype)
        return function

    def loaded(self, function: Function, values: Mapping[str, np.ndarray], dtype: str, maps: list[Any]) -> Function:
        """A program with real parameters; `maps` gets what its linear maps give."""
        own = vars(function) if hasattr(function, "__dict__") else {}
        own.update({name: self.array(values[name], dtype) for name in own.keys() & values.keys()})
        return function

    def of_instance(self, module: object) -> tuple[Build, int | None] | None:
        """How an object with parameters is built for a size, and the size that it has; None if it has none."""
        return None

    def of_class(self, target: Function, d: Num | int, setting: Setting) -> Function:
        """The instance that a class or a factory makes for a dimension."""
        return made(target, d, setting)
