"""JAX code on traced arrays: the jaxpr for sizes without values, read one equation after the other."""

from __future__ import annotations

import functools
import importlib
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Arr, filled
from ._factories import Function
from ._front import Build, Front
from ._keras import named
from ._sizes import FEATURE, Dim, Num
from ._trace import Trace


class JaxFront(Front):
    """Functions on arrays of JAX."""

    framework, formats = "jax", ("float32",)

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")

    def of_instance(self, module: Any) -> tuple[Build, None] | None:
        if not all(hasattr(module, name) for name in ("init", "apply", "bind")):  # flax.linen
            return None
        row = self.jax.ShapeDtypeStruct((2, 8), "float32")
        shapes = self.jax.eval_shape(module.init, self.jax.random.PRNGKey(0), row)
        names = list(shapes["params"])

        def run(x: object, *vectors: object) -> object:
            return module.apply({"params": dict(zip(names, vectors, strict=True))}, x)

        made = named(run, names)
        return lambda d, setting: made, None

    def call(self, function: Function, values: Sequence[object]) -> Arr | None:
        arrays = [value for value in values if isinstance(value, Arr)]
        symbolic = importlib.import_module("jax.export").symbolic_shape
        labels = list(dict.fromkeys(label for array in arrays for label in array.labels))
        sizes = dict(zip(labels, symbolic(", ".join(labels)), strict=True))
        shapes = [
            self.jax.ShapeDtypeStruct(
                [functools.reduce(operator.mul, [sizes[a] for a in dim], 1) for dim in array.axes], array.dtype
            )
            for array in arrays
        ]

        def program(*given: object) -> object:
            left = iter(given)
            output = function(*(next(left) if isinstance(value, Arr) else value for value in values))
            return output[0] if isinstance(output, tuple | list) else output

        closed = self.jax.make_jaxpr(program)(*shapes)
        (result,) = _evaluated(arrays[0].trace, closed.jaxpr, [*map(_plain, closed.consts)], arrays)
        return result if isinstance(result, Arr) else None


def _plain(value: ArrayLike) -> ArrayLike:
    """A constant of a jaxpr as a number."""
    return np.asarray(value).item() if np.size(value) == 1 else value


def _dim(trace: Trace, size: object) -> Dim:
    if isinstance(size, int):
        return () if size == 1 else trace.refuse(f"a shape holds the number {size}")
    labels = tuple(str(size).split("*"))
    return labels if all(label.isidentifier() for label in labels) else trace.refuse(f"a shape holds {size}")


def _number(trace: Trace, size: object) -> Num | int:
    if isinstance(size, int):
        return size
    dim = _dim(trace, size)
    return Num(trace, trace.ground.d if dim == (FEATURE,) else None, dim)


def _evaluated(trace: Trace, jaxpr: Any, consts: Sequence[object], values: Sequence[object]) -> list[object]:
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values], strict=True))

    def read(atom: Any) -> object:
        return _plain(atom.val) if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        inputs = [read(atom) for atom in equation.invars]
        name, options = equation.primitive.name, equation.params
        inner = options.get("jaxpr", options.get("call_jaxpr", options.get("fun_jaxpr")))
        if inner is not None:
            closed = inner if hasattr(inner, "consts") else None
            plain = inner.jaxpr if closed is not None else inner
            results = _evaluated(trace, plain, [] if closed is None else [*map(_plain, closed.consts)], inputs)
        else:
            results = [_applied(trace, name, inputs, options)]
        known |= dict(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


_SIZES: dict[str, Function] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
    "sqrt": lambda n: n**0.5, "rsqrt": lambda n: n**-0.5, "max": max, "min": min,
}  # fmt: skip
_ARRAYS: dict[str, Callable[..., Arr]] = {
    "add": lambda a, b: a.combined(b, operator.add),
    "sub": lambda a, b: a.combined(b, operator.sub),
    "mul": lambda a, b: a.combined(b, operator.mul),
    "div": lambda a, b: a.divided(b),
    "max": lambda a, b: a.maximum(b),
    "min": lambda a, b: a.maximum(b, sign=-1),
    "neg": Arr.__neg__,
    "abs": Arr.absolute,
    "sqrt": Arr.root,
    "rsqrt": lambda x: x.power(-0.5),
    "square": lambda x: x.combined(x, operator.mul),
    "logistic": lambda x: x.applied("sigmoid"),
    "tanh": lambda x: x.applied("tanh"),
    "stop_gradient": lambda x: x.view(x.axes),
    "copy": lambda x: x.like(x.value),
}


def _applied(trace: Trace, name: str, inputs: list[Any], options: dict[str, Any]) -> object:
    """One primitive."""
    if name == "dim_as_value":
        return _number(trace, options["dim"])
    if name == "select_n" and not isinstance(inputs[0], Arr):
        return inputs[1 + int(bool(inputs[0]))]
    if name in ("convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose"):
        return _moved(trace, name, inputs[0], options)
    arrays = [array for array in inputs if isinstance(array, Arr)]
    if not arrays and name in _SIZES:
        return _SIZES[name](*inputs)
    if not arrays:
        return trace.refuse(f"{name} of numbers is not among the operations that are traced")
    trace.operations[name] += 1
    first = inputs[0] if isinstance(inputs[0], Arr) else filled(trace, inputs[0], (), arrays[0].dtype)
    if name == "reduce_sum":
        return first.sum(list(options["axes"]))
    if name in ("integer_pow", "pow"):
        return first.power(options["y"] if name == "integer_pow" else inputs[1])
    if name not in _ARRAYS:
        return trace.refuse(f"{name} is not among the operations that are traced")
    return _ARRAYS[name](first, *inputs[1:])


def _moved(trace: Trace, name: str, x: Any, options: dict[str, Any]) -> object:
    """The result of an operation that changes form alone."""
    if name == "convert_element_type":
        dtype = str(np.dtype(options["new_dtype"]))
        if isinstance(x, Arr) and "float" not in dtype:
            trace.refuse(f"a cast to {dtype}")
        return x.cast(dtype) if isinstance(x, Arr) else x
    if name == "broadcast_in_dim":
        dims = [_dim(trace, size) for size in options["shape"]]
        if not isinstance(x, Arr):
            number = isinstance(x, Num) or math.isfinite(x)  # what stands for a dimension that is excluded stays
            return filled(trace, x, dims, "float32") if dims and number else x
        places = dict(zip(options["broadcast_dimensions"], x.axes, strict=True))
        return x.view([places.get(k, ()) for k in range(len(dims))]).expanded(dims)
    if name == "squeeze":
        return x.squeezed(list(options["dimensions"]))
    if name == "transpose":
        return x.transposed(options["permutation"])
    return x.reshaped([_number(trace, size) for size in options["new_sizes"]])
