"""JAX code on traced arrays: the jaxpr for sizes without values, read one equation after the other."""

import contextlib
import functools
import importlib
import linecache
import math
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Arr, filled
from .components import Condition, chosen, components
from .factories import Function, Setting, named
from .front import Build, Front
from .questions import QUESTIONS, asking
from .reductions import contracted, largest, total
from .sizes import FEATURE, Dim, Num, plain
from .trace import OURS, Refusal, Trace


class JaxFront(Front):
    """Functions on arrays of JAX."""

    framework, formats, symbolic = "jax", ("float32",), False

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")

    def of_class(self, target: Function, d: Num | int, setting: Setting) -> Function:
        instance = super().of_class(target, d, setting)
        bound = self.of_instance(instance)
        return instance if bound is None else bound[0](d, setting)

    def of_instance(self, module: Any) -> tuple[Build, None] | None:
        if isinstance(module, type) or not all(hasattr(module, name) for name in ("init", "apply", "bind")):
            return None  # not of flax.linen
        tree = self.jax.tree_util
        shapes = self.jax.eval_shape(module.init, self.jax.random.PRNGKey(0), np.zeros((2, 8), "float32"))
        leaves, form = tree.tree_flatten_with_path(shapes.get("params", {}))
        names = ["_".join(key.key for key in path) for path, _ in leaves]

        def run(x: object, *vectors: object) -> object:
            return module.apply({"params": tree.tree_unflatten(form, vectors)}, x)

        return lambda d, setting: named(run, names), None

    def call(self, function: Function, values: Sequence[object]) -> Arr | None:
        arrays = [value for value in values if isinstance(value, Arr)]
        symbolic = importlib.import_module("jax.export").symbolic_shape
        labels = list(dict.fromkeys(label for array in arrays for label in array.labels))
        sizes = dict(zip(labels, symbolic(", ".join(labels)), strict=True))
        long = [[functools.reduce(operator.mul, [sizes[a] for a in dim], 1) for dim in array.axes] for array in arrays]
        shapes = [self.jax.ShapeDtypeStruct(shape, array.dtype) for shape, array in zip(long, arrays, strict=True)]

        def program(*given: object) -> object:
            left = iter(given)
            output = function(*(next(left) if isinstance(value, Arr) else value for value in values))
            return output[0] if isinstance(output, tuple | list) else output

        trace, kind = arrays[0].trace, type(next(iter(sizes.values())))
        # Functions within functions and loops of known length are then Python's, and nothing is remembered of them.
        with self.jax.disable_jit(), _asking(trace, kind, self.jax):
            closed = self.jax.make_jaxpr(program)(*shapes)
        (result,) = _evaluated(trace, closed.jaxpr, closed.consts, arrays)
        trace.line = ""
        return result if isinstance(result, Arr) else None


def _asking(trace: Trace, kind: type, jax: Any) -> contextlib.AbstractContextManager[None]:
    """What a program asks of a symbolic size is asked of the number that it is; JAX's own answers are for JAX alone.

    JAX says that a symbolic size differs from a number whenever it does not know better, and raises errors that code
    can catch.
    """

    def number(value: object) -> object:
        return _number(trace, value) if type(value) is kind else value

    def answer(name: str, *values: Any) -> object:
        if name == "__pow__":
            size, exponent = values
            whole = type(exponent) is int and exponent > 0
            return math.prod([size] * exponent) if whole else jax.numpy.asarray(size).astype(float) ** exponent
        try:
            return QUESTIONS[name](*map(number, values))
        except (AttributeError, KeyError, TypeError):
            return trace.refuse(f"the attribute {name} of a size is read")

    return asking(trace, kind, [*QUESTIONS, "__pow__"], answer)


def _dim(trace: Trace, size: object) -> Dim:
    number = _number(trace, size)
    if isinstance(number, Num) and number.dim is not None:
        return number.dim
    return () if number == 1 else trace.refuse(f"a shape holds {size}")


def _number(trace: Trace, size: Any) -> Num | int:
    """A size: JAX makes polynomials of these."""
    if isinstance(size, int):
        return size
    try:
        labels = {label: (label,) for label in size._get_vars()}
        made = {label: Num(trace, trace.ground.d if label == FEATURE else None, dim) for label, dim in labels.items()}
        return size._evaluate(made)
    except Refusal:
        raise
    except Exception:  # JAX knows sizes that no polynomial is
        return trace.refuse("a size is more than sums and products of sizes")


def _evaluated(trace: Trace, jaxpr: Any, consts: Sequence[object], values: Sequence[object]) -> list[object]:
    numbers = [plain(np.asarray(value)) for value in consts]
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*numbers, *values], strict=True))

    def read(atom: Any) -> object:
        return plain(np.asarray(atom.val)) if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        trace.line = _written(equation)
        inputs = [read(atom) for atom in equation.invars]
        name = equation.primitive.name
        if name in _INLINED:
            inner = equation.params[_INLINED[name]]
            run, held = (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, [])
            if name.startswith("custom") and "/jax/_src/" not in (rule := run.debug_info.func_src_info):
                trace.report.unexamined.add(f"{rule.partition(' at ')[0]} under jax.vjp and jax.jvp, by its own rule")
            results = _evaluated(trace, run, held, inputs)
        else:
            results = [_applied(trace, equation, inputs)]
        known |= dict(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _written(equation: Any) -> str:
    """The line of the program that an equation comes from."""
    frame = importlib.import_module("jax._src.source_info_util").user_frame(equation.source_info.traceback)
    if frame is None or frame.file_name.startswith(OURS):
        return ""
    return f"{Path(frame.file_name).name}:{frame.start_line}: {linecache.getline(frame.file_name, frame.start_line)}"


_INLINED = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr",
    "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
}  # fmt: skip
"""Primitives that run a program once, with the name of the program among their parameters."""
_UNSET = ("accuracy", "out_dtype", "out_sharding", "sharding")
"""Parameters that say nothing as long as they are None."""

_SIZES: dict[str, Function] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "gt": operator.gt,
    "ge": operator.ge, "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
    "sqrt": lambda n: n**0.5, "rsqrt": lambda n: n**-0.5, "max": max, "min": min, "neg": operator.neg,
    "pow": operator.pow, "integer_pow": lambda n, *, y: n**y, "square": lambda n: n**2,
}  # fmt: skip
_ARRAYS: dict[str, Callable[..., Any]] = components("jax", lambda arrays: arrays[0].dtype) | {
    "reduce_max": lambda x, *, axes: largest(x, list(axes)), "integer_pow": lambda x, *, y: x.power(y),
    "reduce_sum": lambda x, *, axes: total(x, list(axes)), "stop_gradient": lambda x: x.view(x.axes),
    "copy": lambda x: x.like(x.value), "dot_general": lambda a, b, **how: _product(a, b, **how),
}  # fmt: skip


def _applied(trace: Trace, equation: Any, inputs: list[Any]) -> object:
    """One primitive."""
    name, made = equation.primitive.name, equation.outvars[0].aval
    options = {k: v for k, v in equation.params.items() if k != "weak_type" and not (k in _UNSET and v is None)}
    if name == "dim_as_value":
        return _number(trace, options["dim"])
    if name == "select_n" and isinstance(inputs[0], Condition):
        return chosen(inputs[0], inputs[2], inputs[1], str(made.dtype))
    if name == "select_n" and not isinstance(inputs[0], Arr):
        return inputs[1 + int(bool(inputs[0]))]
    if name in _MOVED:
        return trace.applied(name, _MOVED[name], trace, inputs[0], equation.invars[0].aval.dtype, **options)
    if not any(isinstance(value, Arr) for value in inputs):
        known = None if name == "div" and made.dtype.kind == "i" else _SIZES.get(name)
        return trace.applied(name if known else f"{name} of {made.dtype}", known, *inputs, **options)
    trace.values.operations[name] += 1
    return trace.applied(name, _ARRAYS.get(name), *inputs, **options)


def _product(a: Arr, b: Arr, *, dimension_numbers: Any, precision: object, preferred_element_type: object) -> Arr:
    """Sums of products over the last axis, row by row, or with one vector or column of components."""
    (left, right), (rows, others) = dimension_numbers
    last = len(a.axes) - 1
    if (left, right) == ((last,), (last,)) and tuple(rows) == tuple(others) == tuple(range(last)):
        return total(a.combined(b, operator.mul), -1)
    if (left, right, tuple(rows)) == ((last,), (0,), ()):
        return contracted(a, b, a.dtype)
    return a.trace.refuse(f"a product of arrays along the axes {dimension_numbers}")


def _converted(trace: Trace, x: Any, old: np.dtype, *, new_dtype: np.dtype) -> object:
    dtype = np.dtype(new_dtype)
    if isinstance(x, Arr):
        return x.cast(str(dtype)) if "float" in str(dtype) else trace.refuse(f"a cast to {dtype}")
    if "float" not in str(dtype) and (old.kind not in "iub" or dtype.itemsize < old.itemsize):
        return trace.refuse(f"a cast from {old} to {dtype}")
    return int(x) if isinstance(x, bool) else x


def _broadcast(trace: Trace, x: Any, old: np.dtype, *, shape: Any, broadcast_dimensions: Sequence[int]) -> object:
    dims = [_dim(trace, size) for size in shape]
    if not isinstance(x, Arr):
        # What stands for a dimension that is excluded stays, as does the answer to a question.
        number = isinstance(x, Num) or (math.isfinite(x) and not isinstance(x, bool))
        return filled(trace, x, dims, "float32" if old.kind in "iub" else str(old)) if dims and number else x
    places = dict(zip(broadcast_dimensions, x.axes, strict=True))
    return x.view([places.get(k, ()) for k in range(len(dims))]).expanded(dims)


def _reshaped(trace: Trace, x: Any, _: np.dtype, *, new_sizes: Sequence[object], dimensions: None) -> object:
    trace.never(dimensions is not None, "axes are exchanged while they are reshaped")
    return x.reshaped([_number(trace, size) for size in new_sizes])


_MOVED: dict[str, Function] = {
    "convert_element_type": _converted, "broadcast_in_dim": _broadcast, "reshape": _reshaped,
    "squeeze": lambda _, x, __, *, dimensions: x.squeezed(list(dimensions)),
    "transpose": lambda _, x, __, *, permutation: x.transposed(permutation),
}  # fmt: skip
"""Operations that change form alone, of a trace, an array, and its format."""
