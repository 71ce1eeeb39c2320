"""PyTorch code on traced arrays: tensors without data whose every operation is looked up in one table."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import torch

import lngeom as lg
from lngeom.carriers import Carrier

from ._arrays import Arr, filled
from ._sizes import FEATURE, Dim, Num
from ._trace import Trace

Operand = Arr | Num | float
"""An operand of arithmetic beside a traced array."""

Axis = int | Sequence[int] | None
Shape = Sequence[Num | int]
Weight = Arr | None
Order = float | str
Function = Callable[..., object]
Options = Mapping[str, object] | None
Made = TypeVar("Made", bound=Function)

OPERATIONS: dict[str, Function] = {}
"""PyTorch's functions and methods on traced arrays, by name."""


def operation(*names: str) -> Callable[[Made], Made]:
    """Enter a function in the table under its names."""

    def enter(function: Made) -> Made:
        OPERATIONS.update(dict.fromkeys(names, function))
        return function

    return enter


class Size(Num):
    """A size that PyTorch's own functions take for a number."""

    __slots__ = ()

    @classmethod
    def __torch_function__(
        cls, function: Function, types: object, args: Sequence[object] = (), kwargs: Options = None
    ) -> object:
        return dispatched(function, args, kwargs or {})


class Tensor(torch.Tensor):
    """A tensor without data, of one arbitrary row."""

    arr: Arr

    @classmethod
    def __torch_function__(
        cls, function: Function, types: object, args: Sequence[object] = (), kwargs: Options = None
    ) -> object:
        return dispatched(function, args, kwargs or {})

    def __bool__(self) -> bool:
        return self.arr.trace.refuse("a branch on data")

    def __index__(self) -> int:
        return self.arr.trace.refuse("a number is read off the data")

    __float__ = __int__ = item = tolist = numpy = __index__  # type: ignore[assignment]

    def __iter__(self) -> NoReturn:
        return self.arr.trace.refuse("rows or components are read one by one")

    def __len__(self) -> NoReturn:
        return self.arr.trace.refuse("the number of rows is asked for")

    def __repr__(self, **options: object) -> str:
        return f"<traced tensor with axes {self.arr.axes}>"

    def __setitem__(self, index: object, value: object) -> None:
        self.arr.trace.refuse("a part is changed in place")

    def __deepcopy__(self, memory: object) -> Tensor:
        return raised(Arr(self.arr.trace, self.arr.value, self.arr.axes, self.arr.dtype))


def raised(arr: Arr) -> Tensor:
    """A traced array as PyTorch sees it."""
    with torch._C.DisableTorchFunctionSubclass():
        tensor = torch.Tensor._make_subclass(Tensor, torch.empty(0, device="meta"))
    tensor.arr = arr
    return tensor


def _name(function: Any) -> str:
    if isinstance(function, torch._ops.OpOverload):
        return function._schema.name.partition("::")[2]
    name = getattr(function, "__name__", "")
    if name in ("__get__", "__set__", "__delete__"):
        return f"{'' if name == '__get__' else name}{function.__self__.__name__}"
    if name.startswith("__") and name.endswith("__"):
        return name.strip("_")
    return name


def _trace_of(values: Iterable[object]) -> Trace | None:
    """The trace of the first traced value among arguments."""
    for value in values:
        if isinstance(value, Tensor):
            return value.arr.trace
        if isinstance(value, Num):
            return value.trace
        if isinstance(value, list | tuple | dict):
            trace = _trace_of(value.values() if isinstance(value, dict) else value)
            if trace is not None:
                return trace
    return None


def lowered(value: object) -> object:
    """Arguments as the table takes them: traced arrays, numbers, and names of formats."""
    if isinstance(value, Tensor):
        return value.arr
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value
    if isinstance(value, list | tuple) and type(value) in (list, tuple, torch.Size):
        return type(value)(map(lowered, value)) if type(value) is not torch.Size else tuple(value)
    return value


def _lifted(value: object) -> object:
    if isinstance(value, Arr):
        return raised(value)
    return tuple(map(_lifted, value)) if isinstance(value, tuple) else value


@functools.cache
def _takes_trace(action: Function) -> bool:
    return "trace" in inspect.signature(action).parameters


def dispatched(function: Function, args: Sequence[Any], kwargs: Mapping[str, object]) -> object:
    """One call of PyTorch with a traced argument."""
    trace = _trace_of([*args, *kwargs.values()])
    assert trace is not None, "it is called for traced arguments alone"
    name = _name(function)
    in_place = name.endswith("_") or (name.startswith("i") and name[1:] in OPERATIONS and name not in OPERATIONS)
    base = name.removesuffix("_") if name.endswith("_") else name[1:] if in_place else name
    if name in OPERATIONS:
        in_place, base = False, name
    if base not in OPERATIONS or kwargs.get("out") is not None:
        trace.refuse(f"{name} is not among the operations that are traced")
    action = OPERATIONS[base]
    options = {key: lowered(value) for key, value in kwargs.items() if key != "out"}
    if _takes_trace(action):
        options["trace"] = trace
    lower = [lowered(value) for value in args]
    try:
        result = action(*lower, **options)
    except TypeError as error:
        trace.refuse(f"{name} is called in a way that is not traced: {error}")
    moved = any(isinstance(x, Arr) and x.value is getattr(result, "value", None) for x in lower)
    if not moved and base not in _ASKED:  # neither a view nor a cast nor a question
        trace.operations[base] += 1
    if in_place:
        args[0].arr.become(result)
        return args[0]
    return _lifted(result)


# ------------------------------------------------------------------------------------------- component by component


def _dtype(*operands: object) -> str:
    """The format of a result: what the formats of arrays with axes promote to."""
    arrays = [operand for operand in operands if isinstance(operand, Arr)]
    chosen = [array for array in arrays if array.axes] or arrays
    return functools.reduce(_promoted, [array.dtype for array in chosen])


@functools.cache
def _promoted(a: str, b: str) -> str:
    return str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")


def _like(*operands: Operand) -> Arr:
    return next(operand for operand in operands if isinstance(operand, Arr))


def _array(value: Operand, like: Arr) -> Arr:
    return value if isinstance(value, Arr) else filled(like.trace, value, (), like.dtype)


def _binary(a: Operand, b: Operand, how: Callable[[Carrier, Carrier], Carrier]) -> Arr:
    like = _like(a, b)
    return _array(a, like).combined(_array(b, like), how, _dtype(a, b))


def _scaled(a: Operand, alpha: Operand) -> Operand:
    return a if isinstance(alpha, int) and alpha == 1 else _binary(a, alpha, operator.mul)


OPERATIONS |= {
    "add": lambda a, b, *, alpha=1: _binary(a, _scaled(b, alpha), operator.add),
    "sub": lambda a, b, *, alpha=1: _binary(a, _scaled(b, alpha), operator.sub),
    "rsub": lambda a, b, *, alpha=1: _binary(b, _scaled(a, alpha), operator.sub),
    "mul": lambda a, b: _binary(a, b, operator.mul),
    "neg": operator.neg,
    "abs": Arr.absolute,
    "sqrt": Arr.root,
    "rsqrt": lambda x: x.power(-0.5),
    "square": lambda x: x.combined(x, operator.mul),
    "pow": lambda x, exponent: x.power(exponent),
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.maximum(b, sign=-1),
    "clone": lambda x, **_: x.like(x.value),
    "addcmul": lambda a, b, c, *, value=1: _binary(a, _scaled(_binary(b, c, operator.mul), value), operator.add),
}
for _one, _others in {
    "add": ("radd",),
    "sub": ("subtract",),
    "mul": ("rmul", "multiply"),
    "neg": ("negative",),
    "abs": ("absolute",),
}.items():
    OPERATIONS |= dict.fromkeys(_others, OPERATIONS[_one])
OPERATIONS |= {
    name: (lambda x, *_, _function=name, **__: x.applied(_function))
    for name in ("sigmoid", "silu", "tanh", "relu", "softplus", "gelu", "exp")
}


@operation("div", "truediv", "divide", "true_divide")
def _divide(a: Operand, b: Operand, *, rounding_mode: str | None = None) -> Arr:
    like = _like(a, b)
    if rounding_mode is not None:
        like.trace.refuse(f"a division is rounded: {rounding_mode}")
    return _array(a, like).divided(b, _dtype(a, b))


OPERATIONS["rdiv"] = OPERATIONS["rtruediv"] = lambda a, b: _divide(b, a)
OPERATIONS["reciprocal"] = lambda x: _divide(1, x)


@operation("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(x: Arr, min: Operand | None = None, max: Operand | None = None) -> Arr:
    x = x if min is None else x.maximum(min)
    return x if max is None else x.maximum(max, sign=-1)


OPERATIONS["clamp_max"] = lambda x, max: _clamp(x, None, max)

# ------------------------------------------------------------------------------------------------- formats and views

OPERATIONS |= {
    name: (lambda x, *_, _to=dtype, **__: x.cast(_to))
    for name, dtype in {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}.items()
}
_FLOATS = ("float64", "float32", "bfloat16", "float16")


@operation("to", "type", "_to_copy")
def _to(x: Arr, *wanted: object, dtype: str | None = None, **_: object) -> Arr:
    for like in (*wanted, dtype):
        target = like.dtype if isinstance(like, Arr) else like
        if isinstance(target, str) and target in _FLOATS:
            return x.cast(target)
        if isinstance(target, str) and ("int" in target or target == "bool"):
            x.trace.refuse(f"a cast to {target}")
    return x.view(x.axes)


OPERATIONS["type_as"] = lambda x, other: x.cast(other.dtype)


def _shape(sizes: Sequence[Any]) -> Sequence[Any]:
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes


OPERATIONS |= {
    "reshape": lambda x, *sizes, shape=None: x.reshaped(_shape(sizes) if shape is None else shape),
    "permute": lambda x, *order, dims=None: x.transposed(_shape(order) if dims is None else dims),
    "transpose": lambda x, dim0, dim1: x.swapped(dim0, dim1),
    "unsqueeze": lambda x, dim: x.unsqueezed(dim),
    "squeeze": lambda x, dim=None: x.squeezed(dim),
    "detach": lambda x: x.view(x.axes),
    "T": lambda x: x.transposed(range(len(x.axes))[::-1]),
    "mT": lambda x: x.swapped(-1, -2),
    "t": lambda x: x.transposed(range(len(x.axes))[::-1]),
    "getitem": lambda x, index: x.item(index),
    "view_as": lambda x, other: x.reshaped([other.size(k) for k in range(len(other.axes))]),
    "expand_as": lambda x, other: x.expanded(other.axes),
}
OPERATIONS |= dict.fromkeys(("swapaxes", "swapdims"), OPERATIONS["transpose"])
OPERATIONS |= dict.fromkeys(("data", "alias"), OPERATIONS["detach"])
OPERATIONS |= {"reshape_as": OPERATIONS["view_as"], "contiguous": lambda x, **_: x.view(x.axes)}


@operation("view")
def _view(x: Arr, *sizes: Any) -> Arr:
    return x.cast(sizes[0]) if isinstance(sizes[0], str) else x.reshaped(_shape(sizes))


@operation("flatten")
def _flatten(x: Arr, start_dim: int = 0, end_dim: int = -1) -> Arr:
    first, last = start_dim % len(x.axes), end_dim % len(x.axes)
    merged: Dim = tuple(itertools.chain(*x.axes[first : last + 1]))
    return x.view([*x.axes[:first], merged, *x.axes[last + 1 :]])


@operation("movedim", "moveaxis")
def _movedim(x: Arr, source: int, destination: int) -> Arr:
    order = [k for k in range(len(x.axes)) if k != source % len(x.axes)]
    order.insert(destination % len(x.axes), source % len(x.axes))
    return x.transposed(order)


@operation("expand", "broadcast_to")
def _expand(x: Arr, *sizes: Any, size: Shape | None = None) -> Arr:
    wanted = list(_shape(sizes) if size is None else size)
    old = [()] * (len(wanted) - len(x.axes)) + list(x.axes)
    dims = [s.dim or () if isinstance(s, Num) else a for s, a in zip(wanted, old, strict=True)]
    if not all(isinstance(s, Num) or s in (-1, 1) for s in wanted):
        x.trace.refuse(f"an array is expanded to {wanted}")
    return x.expanded(dims)


# --------------------------------------------------------------------------------------------------------- reductions


def _statistic(x: Arr, name: str, dim: Axis, keepdim: bool, *, dtype: str | None = None, axis: Axis = None) -> Arr:
    return getattr(x if dtype is None else x.cast(dtype), name)(axis if dim is None else dim, keepdim)


def _var(x: Arr, dim: Axis = None, unbiased: int = True, keepdim: bool = False, **named: Any) -> Arr:
    correction = named.get("correction")
    return x.variance(named.get("axis", dim), keepdim, int(unbiased) if correction is None else correction)


OPERATIONS |= {
    "mean": lambda x, dim=None, keepdim=False, **named: _statistic(x, "mean", dim, keepdim, **named),
    "sum": lambda x, dim=None, keepdim=False, **named: _statistic(x, "sum", dim, keepdim, **named),
    "var": _var,
    "std": lambda x, *given, **named: _var(x, *given, **named).root(),
}


@operation("var_mean")
def _var_mean(x: Arr, dim: Axis = None, *given: Any, keepdim: bool = False, **named: Any) -> tuple[Arr, Arr]:
    keeps = given[1] if len(given) > 1 else keepdim
    return _var(x, dim, *given[:1], keepdim=keeps, **named), x.mean(dim, keeps)


@operation("std_mean")
def _std_mean(x: Arr, *given: Any, **named: Any) -> tuple[Arr, Arr]:
    variance, mean = _var_mean(x, *given, **named)
    return variance.root(), mean


@operation("norm", "linalg_norm", "linalg_vector_norm", "vector_norm")
def _norm(
    x: Arr, ord: Order = 2, dim: Axis = None, keepdim: bool = False, *, p: Order | None = None, dtype: str | None = None
) -> Arr:
    order = ord if p is None else p
    if order not in (2, 2.0, "fro"):
        x.trace.refuse(f"a norm of order {order!r}")
    x = x if dtype is None else x.cast(dtype)
    return x.combined(x, operator.mul).sum(dim, keepdim).root()


@operation("einsum")
def _einsum(equation: str, *given: Arr | Sequence[Arr]) -> Arr:
    operands: Sequence[Arr] = _shape(given)
    terms, _, result = equation.replace(" ", "").partition("->")
    names = terms.split(",")
    if len(names) != len(operands) or len(set(names)) != 1 or not names[0].replace(".", "").isalpha():
        operands[0].trace.refuse(f"einsum {equation}")
    gone = [k - len(names[0]) for k, name in enumerate(names[0]) if name not in result]
    if [name for name in names[0] if name in result] != list(result):
        operands[0].trace.refuse(f"einsum {equation}")
    return functools.reduce(lambda a, b: _binary(a, b, operator.mul), operands).sum(gone, False)


# ------------------------------------------------------------------------------------------------------ whole layers


def _trailing(x: Arr, shape: Sequence[Num | int]) -> None:
    """Whether a layer normalizes exactly the components."""
    dims = [size.dim if isinstance(size, Num) else () if size == 1 else size for size in shape]
    labels = [label for dim in dims if isinstance(dim, tuple) for label in dim]
    if list(x.axes[len(x.axes) - len(dims) :]) != dims or labels != [FEATURE]:
        x.trace.refuse(f"a layer normalizes {shape} of the axes {x.axes}")


def layer(
    x: Arr, function: Callable[..., Carrier], eps: Num | float, *parameters: Arr | None, **statistics: Arr
) -> Arr:
    """A norm layer of PyTorch: that of the library, with gain and bias as PyTorch applies them."""
    if x.summed:
        x.trace.refuse("a sum over rows is used otherwise than linearly")
    added = eps.value if isinstance(eps, Num) else x.trace.constant(eps)
    values = {name: statistic.value for name, statistic in statistics.items()}
    square = values.get("variance", lg.moments(x.value)[1] if function is lg.layer_norm else None)
    square = lg.projection.mean_square(x.value) if square is None else square
    x.trace.require(square + added, ">")
    ground = x.trace.ground
    y = Arr(x.trace, ground.fused(lambda v: function(v, eps=added, **values), x.value, x.dtype), x.axes, x.dtype)
    gain, bias = (*parameters, None, None)[:2]
    y = y if gain is None else y.combined(gain, operator.mul)
    return y if bias is None else y.combined(bias, operator.add)


@operation("layer_norm", "native_layer_norm")
def _layer_norm(
    x: Arr, normalized_shape: Shape, weight: Weight = None, bias: Weight = None, eps: Num | float = 1e-5, *_: object
) -> Arr:
    _trailing(x, normalized_shape)
    return layer(x, lg.layer_norm, eps, weight, bias)


@operation("rms_norm")
def _rms_norm(x: Arr, normalized_shape: Shape, weight: Weight = None, eps: Num | float | None = None) -> Arr:
    _trailing(x, normalized_shape)
    return layer(x, lg.rms_norm, torch.finfo(getattr(torch, x.dtype)).eps if eps is None else eps, weight)


@operation("group_norm")
def _group_norm(x: Arr, num_groups: int, weight: Weight = None, bias: Weight = None, eps: Num | float = 1e-5) -> Arr:
    rest = tuple(itertools.chain(*x.axes[1:]))
    if num_groups != 1 or rest != (FEATURE,):
        x.trace.refuse(f"{num_groups} groups of the axes {x.axes}")
    ends = [1] * (len(x.axes) - 2)
    wide = [None if p is None else p.reshaped([p.size(0), *ends]) for p in (weight, bias)]
    return layer(x, lg.layer_norm, eps, *wide)


@operation("batch_norm")
def _batch_norm(x: Arr, running_mean: Weight, running_var: Weight, *given: Any, **named: Any) -> Arr:
    options = dict(zip(("weight", "bias", "training", "momentum", "eps"), given, strict=False)) | named
    if options.get("training") or running_mean is None or running_var is None or x.axes[1:2] != ((FEATURE,),):
        x.trace.refuse("batch statistics")
    ends = [1] * (len(x.axes) - 2)
    affine = [options.get(name) for name in ("weight", "bias")]
    wide = [None if p is None else p.reshaped([p.size(0), *ends]) for p in affine]
    eps = options.get("eps", 1e-5)
    return layer(x, lg.norms.batch_norm, eps, *wide, mean=running_mean, variance=running_var)


@operation("normalize")
def _normalize(x: Arr, p: Order = 2.0, dim: Axis = 1, eps: Operand = 1e-12) -> Arr:
    return x.divided(_norm(x, p, dim, True).maximum(eps))


OPERATIONS["dropout"] = lambda x, p=0.5, training=True, inplace=False: (
    x.view(x.axes) if not training or p == 0 else x.trace.refuse("random numbers")
)

# -------------------------------------------------------------------------------------------- new arrays, and questions


def _dims(trace: Trace, sizes: Sequence[Num | int]) -> list[Dim]:
    dims = [size.dim if isinstance(size, Num) else () if size == 1 else None for size in sizes]
    if None in dims:
        trace.refuse(f"an array of shape {tuple(sizes)} is made")
    return [dim for dim in dims if dim is not None]


def _new(number: int) -> Callable[..., Arr]:
    def make(*sizes: Any, trace: Trace, size: Shape | None = None, dtype: str | None = None, **_: object) -> Arr:
        return filled(trace, number, _dims(trace, _shape(sizes) if size is None else size), dtype or "float32")

    return make


OPERATIONS |= {"ones": _new(1), "zeros": _new(0), "empty": _new(0)}
OPERATIONS["full"] = lambda size, fill_value, *, trace, dtype=None, **_: filled(
    trace, fill_value, _dims(trace, size), dtype or "float32"
)
OPERATIONS |= {
    f"{name}_like": (lambda x, *, dtype=None, _number=number, **_: x.filled(_number, dtype=dtype))
    for name, number in (("ones", 1), ("zeros", 0), ("empty", 0))
}
OPERATIONS |= {"zero": lambda x: x.filled(0), "fill": lambda x, value: x.filled(value)}
OPERATIONS["full_like"] = lambda x, fill_value, *, dtype=None, **_: x.filled(fill_value, dtype=dtype)
OPERATIONS |= {
    f"new_{name}": (
        lambda x, *sizes, dtype=None, _number=number, **_: filled(
            x.trace, _number, _dims(x.trace, _shape(sizes)), dtype or x.dtype
        )
    )
    for name, number in (("ones", 1), ("zeros", 0))
}

_ANSWERS = dict.fromkeys(("is_cuda", "is_meta", "is_nested", "is_sparse", "is_quantized", "requires_grad"), False)
_ANSWERS |= {"is_floating_point": True, "is_leaf": True, "grad": None, "grad_fn": None}
_ANSWERS |= {"device": torch.device("cpu"), "layout": torch.strided, "__set__requires_grad": None}
_NOTED = ("device", "is_cuda", "requires_grad")


def _answering(name: str, value: object) -> Callable[..., object]:
    def answer(x: Arr, *_: object, **__: object) -> object:
        if name in _NOTED:
            x.trace.notes.add(f"asks for {name}")
        return value

    return answer


def _lengths(x: Arr) -> tuple[Any, ...]:
    return tuple(x.size(k, Size) for k in range(len(x.axes)))


_ASKED = {name: _answering(name, value) for name, value in _ANSWERS.items()} | {
    "shape": _lengths,
    "dtype": lambda x: getattr(torch, x.dtype),
    "ndim": lambda x: len(x.axes),
    "requires_grad_": lambda x, *_: x,
}
_ASKED["dim"] = _ASKED["ndimension"] = _ASKED["ndim"]
_ASKED["numel"] = _ASKED["nelement"] = lambda x: functools.reduce(operator.mul, _lengths(x))
_ASKED["size"] = lambda x, dim=None: _lengths(x) if dim is None else x.size(x._axis(dim), Size)
_ASKED["sym_size"] = _ASKED["size"]
OPERATIONS |= _ASKED
