"""A norm of any framework as one function of float64 arrays."""

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from lngeom.errors import InputError
from lngeom.limits import limited, watched

from .._tracing.factories import made
from .._tracing.frameworks import Framework, FrameworkArray
from .._tracing.programs import Program, program
from .._tracing.roles import is_size, parameters, role
from .binding import WITHOUT, Bound, Manner, Setting, bind, own_size, several
from .call_files import Filed
from .options import CheckOptions
from .scripts import ones

SIZES = (64, 128, 16, 4)
"""Dimensions to try until a kernel takes one."""
Named = Mapping[str, str]
_UNKNOWN: Named = MappingProxyType({})


@dataclass(frozen=True)
class Form:
    """How a target is called.

    Attributes:
        target: What was given, with residual and gate fixed: a norm of rows.
        interpreted: Whether it runs in Triton's interpreter, for which many rows are too many.
        axes: The number of axes of its arrays if it normalizes along one that is named; 0 for the last of any number.
    """

    given: object
    target: Any
    framework: Framework
    factory: bool
    size: int
    interpreted: bool = False
    axes: int = 0

    filed = property(lambda self: isinstance(self.target, Filed))  # only those calls exist that were written


class Kernel:
    """A norm to be checked: inputs are rounded to its dtype, outputs come as float64.

    Attributes:
        array: Values as an array of the framework in the dtype and on the device of the check.
    """

    def __init__(self, form: Form, asked: CheckOptions, manner: Manner = "usual", purposes: Named = _UNKNOWN) -> None:
        self.form, self.asked = form, asked
        self._setting = Setting(form.framework, asked, manner, purposes)
        self.name, self.dtype, self.framework = str(asked.name), asked.dtype, form.framework
        self.at: Callable[[int], Bound] = functools.cache(self._bind)
        self.array = self._setting.array

    @cached_property
    def fixed(self) -> int | None:
        """The only dimension that it takes, or None."""
        form = self.form
        if not form.factory:
            return form.size if own_size(form.target) == form.size else None
        bound = self.at(form.size)  # a factory without a size makes norms of one dimension
        affine = bound.holds and (bound.gain is not None or bound.bias is not None)
        return form.size if affine and not any(map(is_size, parameters(form.target))) else None

    @property
    def program(self) -> Program:
        """Its code as a program, which can be traced."""
        return program(self.form.given, self.name, self.framework.name, factory=self.form.factory)

    @property
    def d(self) -> int:
        """The dimension at which it is tried first."""
        return self.asked.d or self.fixed or SIZES[0]

    @property
    def several(self) -> bool:
        """Whether other dimensions are tried as well."""
        return self.asked.d is None and self.fixed is None

    @property
    def eps(self) -> float | None:
        """ε: given, or the module's attribute, or the default of the parameter."""
        return self.at(self.form.size).eps if self.asked.eps is None else self.asked.eps

    @property
    def optional(self) -> list[Manner]:
        """The manners in which a gain or bias that may be left out is."""
        bound = self.at(self.d)
        taken = {} if bound.holds or self.form.filed else parameters(self.form.target)
        none = {f"no {role(name)}" for name, one in taken.items() if one.default is None and role(name) in bound.roles}
        return [manner for manner in WITHOUT if manner in none]

    def like(
        self, manner: Manner = "usual", eps: float | None = None, purposes: Named | None = None, dtype: str = ""
    ) -> "Kernel":
        """The same kernel in another manner or dtype, with another ε, or with the purposes of its parameters."""
        asked = replace(self.asked, eps=eps or self.asked.eps, dtype=dtype or self.dtype)
        return Kernel(self.form, asked, manner, self._setting.purposes if purposes is None else purposes)

    def arrays(self, d: int) -> dict[str, FrameworkArray]:
        """Gain and bias as arrays of the framework, as far as each call takes them."""
        bound = self.at(d)
        given = {} if bound.holds else {"gain": bound.gain, "bias": bound.bias}
        return {name: self.array(value) for name, value in given.items() if value is not None}

    def whole(self, x: FrameworkArray, arrays: Mapping[str, FrameworkArray] | None = None) -> Any:
        """All outputs for arrays of the framework, by default with the gain and bias of :meth:`arrays`."""
        d = int(x.shape[-1])
        bound = self.at(d)
        eps = bound.eps if self.asked.eps is None else self.asked.eps
        axes = several(bound.function) or (2, d // 2) * (self._setting.manner == "two axes")
        values: dict[str, object] = {"gain": None, "bias": None, "eps": eps, "shape": axes or (d,), "d": d}
        values["axis"] = -1 if self.asked.axis is None else self.asked.axis
        given: Any = self.arrays(d) if arrays is None else arrays
        values |= {name: value.reshape(axes) if axes else value for name, value in given.items()}
        positional = [values[purpose] for purpose, keyword in bound.roles.items() if keyword is None]
        keywords = {keyword: values[purpose] for purpose, keyword in bound.roles.items() if keyword is not None}
        script = ones(self, tuple(x.shape)) if watched() else ""
        limit = limited(f"a call with x of shape {tuple(x.shape)}", self.asked.seconds, script)
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"), limit:
            if self.form.axes:
                call = lambda moved: _first(bound.function(moved, *positional, **keywords))  # noqa: E731
                return _along(call, x, -1 if self.asked.axis is None else self.asked.axis, self.form.axes)
            if axes:
                return bound.function(x.reshape(*x.shape[:-1], *axes), *positional, **keywords).reshape(*x.shape)
            return bound.function(x, *positional, **keywords)

    def call(self, x: FrameworkArray, arrays: Mapping[str, FrameworkArray] | None = None) -> FrameworkArray:
        """The first output, the normalized rows."""
        if (output := _first(self.whole(x, arrays))) is None:
            raise TypeError("it returns nothing")
        if isinstance(output, list):
            raise TypeError("it returns a list, which is no array")
        if (dtype := str(getattr(output, "dtype", ""))).rpartition(".")[2].startswith(("int", "uint", "float8")):
            what = f"not expressible: outputs of {self.name} are of {dtype}, and need a scale"
            raise InputError(f"{what}: multiply them by it in a function around")
        if "complex" in str(getattr(output, "dtype", "")):
            raise TypeError("its outputs are complex numbers")
        return output

    def run(self, x: np.ndarray) -> np.ndarray:
        """Output at `x` as float64."""
        return self.framework.read(self.call(self.array(x)))

    def _bind(self, d: int) -> Bound:
        """The target, or what the factory makes for it, at dimension `d`."""
        norm, eps = self.form.target, self.asked.eps
        if self.form.factory:
            with limited(f"making it for d = {d}", self.asked.seconds):
                norm = made(norm, d, lambda _, own: own if eps is None else eps, eps=eps is not None)
        return bind(norm, d, self._setting)


def _first(output: Any) -> Any:
    several = isinstance(output, tuple) or (isinstance(output, list) and hasattr(next(iter(output), None), "shape"))
    return output[0] if several else output


def _along(call: Callable[[Any], Any], x: Any, axis: int, axes: int) -> Any:
    """The output, as rows, of a call with the rows of x along `axis` of an array with so many axes."""
    n, d = math.prod(x.shape[:-1]), x.shape[-1]
    sizes = ((3, 2) if n % 2 or n % 3 == 0 else (2, 1))[: axes - 2]
    whole = -(-n // math.prod(sizes)) * math.prod(sizes)  # the first row again until the other axes are full
    array = x.reshape(n, d)
    array = (array if whole == n else array[[*range(n), *[0] * (whole - n)]]).reshape(-1, *sizes, d)
    order = range(axes - 1, axis % axes, -1)
    for k in order:
        array = array.swapaxes(k, k - 1)
    if order:
        array = array.contiguous() if hasattr(array, "contiguous") else array.copy()
    output = call(array)
    if getattr(output, "shape", None) != array.shape:
        raise TypeError(f"it gives no array of the shape {tuple(array.shape)} of its input")
    for k in reversed(order):
        output = output.swapaxes(k, k - 1)
    return output.reshape(whole, d)[:n].reshape(x.shape)
