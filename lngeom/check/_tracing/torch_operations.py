"""The table of PyTorch's operations on traced arrays."""

import functools
import itertools
import operator
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

import lngeom as lg
from lngeom.carriers import Carrier

from .allowed import KNOWN, kind
from .arrays import Arr, alone, both, dims, filled, joined
from .components import chosen, components
from .decisions import GRADIENTS
from .layout import contiguous, memory_answers
from .reductions import contracted, einsum, largest, length, mean, total, variance
from .sizes import FEATURE, Dim, Num, form
from .tensors import OPERATIONS, QUESTIONS, Function, Size
from .trace import Trace, is_ours, program_line
from .triton.stand_in import ON_GPU

Operand = Arr | Num | float
"""An operand of arithmetic beside a traced array."""

Axis = int | Sequence[int] | None
Shape = Sequence[Num | int]
Weight = Arr | None


def known(name: str) -> bool:
    """Whether a function of PyTorch is pure; calls with traced arguments are looked up anyway."""
    plain = name.strip("_")
    return plain in KNOWN["torch"] or plain in OPERATIONS or plain.removeprefix("i") in OPERATIONS


def _dtype(*operands: object) -> str:
    """The format of a result: arrays without axes do not promote it."""
    arrays = [operand for operand in operands if isinstance(operand, Arr)]
    chosen = [array for array in arrays if array.axes] or arrays
    return functools.reduce(_promoted, [array.dtype for array in chosen])


@functools.cache
def _promoted(a: str, b: str) -> str:
    return str(torch.promote_types(getattr(torch, a), getattr(torch, b))).removeprefix("torch.")


def _binary(a: Operand, b: Operand, how: Callable[[Carrier, Carrier], Carrier]) -> Arr:
    first, second = both(a, b)
    return first.combined(second, how, _dtype(a, b))


def _scaled(a: Operand, alpha: Operand) -> Operand:
    return a if not isinstance(alpha, Num) and alpha == 1 else _binary(a, alpha, operator.mul)


def _divide(a: Operand, b: Operand) -> Arr:
    return both(a, b)[0].divided(b, _dtype(a, b))


def _activated(x: Arr, function: str, inplace: bool) -> Arr:
    result = x.applied(function)
    if inplace:
        x.become(result)
    return x if inplace else result


OPERATIONS |= components("torch", lambda arrays: _dtype(*arrays)) | {
    "add": lambda a, b, *, alpha=1: _binary(a, _scaled(b, alpha), operator.add),
    "sub": lambda a, b, *, alpha=1: _binary(a, _scaled(b, alpha), operator.sub),
    "rsub": lambda a, b, *, alpha=1: _binary(b, _scaled(a, alpha), operator.sub),
    "addcmul": lambda a, b, c, *, value=1: _binary(a, _scaled(_binary(b, c, operator.mul), value), operator.add),
    "div": _divide, "rdiv": lambda a, b: _divide(b, a),
    "addcdiv": lambda a, b, c, *, value=1: _binary(a, _scaled(_divide(b, c), value), operator.add),
    "pow": lambda x, exponent: x.power(exponent), "clone": lambda x: x.like(x.value),
    "silu": lambda x, inplace=False: _activated(x, "silu", inplace),
    "relu": lambda x, inplace=False: _activated(x, "relu", inplace),
    "clamp": lambda x, min=None, max=None: x.clipped(min, max),
    "clamp_min": lambda x, min: x.clipped(min, None), "clamp_max": lambda x, max: x.clipped(None, max),
    "amax": lambda x, dim=(), keepdim=False: largest(x, None if dim == () else dim, keepdim),
    "masked_fill": lambda x, mask, value: chosen(mask, *both(value, x), x.dtype),
    "where": lambda condition, a, b: chosen(condition, *both(a, b), _dtype(a, b)),
    "gelu": lambda x, approximate="none": x.applied({"none": "gelu", "tanh": "gelu_tanh"}[approximate]),
    "softplus": lambda x: x.applied("softplus"),
}  # fmt: skip


def _linear(input: Arr, weight: Arr, bias: Weight = None) -> Arr:
    y = contracted(input, weight.swapped(-1, -2) if len(weight.axes) == 2 else weight, _dtype(input, weight))
    return y if bias is None else y.combined(bias, operator.add)


_FLOATS = {"Double": "float64", "Float": "float32", "BFloat16": "bfloat16", "Half": "float16"}
_TYPES = {f"torch.{name}Tensor": dtype for name, dtype in _FLOATS.items()}
OPERATIONS |= {name.lower(): (lambda x, *, _to=dtype: x.cast(_to)) for name, dtype in _FLOATS.items()}


def _format(trace: Trace, dtype: object, otherwise: str) -> str:
    """The name of a floating-point format."""
    if dtype is None:
        return otherwise
    return dtype if isinstance(dtype, str) and dtype in _FLOATS.values() else trace.refuse(f"a cast to {dtype}")


def _is_place(value: object) -> bool:
    """Whether a value says where an array is, and not what."""
    named = isinstance(value, str) and re.fullmatch(r"(cpu|cuda|mps|xpu|hpu)(:\d+)?", value) is not None
    return named or isinstance(value, torch.device)


def _to(x: Arr, *wanted: object, dtype: object = None, copy: bool = False) -> Arr:
    for like in wanted:
        if isinstance(like, Arr):
            dtype = like.dtype
        elif isinstance(like, str) and not _is_place(like):
            dtype = like
        elif not _is_place(like) and like is not None and not isinstance(like, bool):
            x.trace.refuse(f"a cast to {like}")
    y = x.cast(_format(x.trace, dtype, x.dtype))
    return y.like(y.value) if copy or True in wanted else y


def _slice(start: Num | int | None = None, end: Num | int | None = None, step: int = 1) -> slice:
    return slice(start, None if end == sys.maxsize else end, step)


OPERATIONS |= {
    "linear": _linear, "to": _to,
    "type": lambda x, dtype: x.cast(_format(x.trace, _TYPES.get(dtype, dtype), x.dtype)),
    "type_as": lambda x, other: x.cast(other.dtype),
    "view": lambda x, *sizes: x.cast(sizes[0]) if isinstance(sizes[0], str) else x.reshaped(alone(sizes)),
    "reshape": lambda x, *sizes, shape=None: x.reshaped(alone(sizes) if shape is None else shape),
    "permute": lambda x, *order, dims=None: x.transposed(alone(order) if dims is None else dims),
    "transpose": lambda x, dim0, dim1: x.swapped(dim0, dim1), "unsqueeze": lambda x, dim: x.unsqueezed(dim),
    "squeeze": lambda x, dim=None: x.squeezed(dim), "detach": lambda x: x.view(x.axes), "contiguous": contiguous,
    "T": lambda x: x.transposed(range(len(x.axes))[::-1]), "mT": lambda x: x.swapped(-1, -2),
    "getitem": lambda x, index: x.item(index),
    "select": lambda x, dim, index: x.item((slice(None),) * x._axis(dim) + (index,)),
    "slice": lambda x, dim=0, *limits: x.item((slice(None),) * x._axis(dim) + (_slice(*limits),)),
    "slice_backward": lambda x, sizes, dim, *limits: x.padded(sizes, dim, _slice(*limits)),
    "select_backward": lambda x, sizes, dim, index: x.padded(sizes, dim, index),
    "cat": lambda tensors, dim=0: joined(tensors, _dtype(*tensors), dim),
    "split": lambda x, split_size_or_sections, dim=0: x.pieces(dim, split_size_or_sections),
    "chunk": lambda x, chunks, dim=0: x.chunks(dim, chunks),
    "view_as": lambda x, other: x.reshaped([other.size(k) for k in range(len(other.axes))]),
    "expand_as": lambda x, other: x.expanded(other.axes),
}  # fmt: skip


def _flatten(x: Arr, start_dim: int = 0, end_dim: int = -1) -> Arr:
    first, last = start_dim % len(x.axes), end_dim % len(x.axes)
    merged: Dim = tuple(itertools.chain(*x.axes[first : last + 1]))
    return x.view([*x.axes[:first], merged, *x.axes[last + 1 :]])


def _movedim(x: Arr, source: int, destination: int) -> Arr:
    order = [k for k in range(len(x.axes)) if k != source % len(x.axes)]
    order.insert(destination % len(x.axes), source % len(x.axes))
    return x.transposed(order)


def _expand(x: Arr, *sizes: Any, size: Shape | None = None) -> Arr:
    wanted = list(alone(sizes) if size is None else size)
    old = [()] * (len(wanted) - len(x.axes)) + list(x.axes)
    dims = [s.dim or () if isinstance(s, Num) else a for s, a in zip(wanted, old, strict=True)]
    if not all(isinstance(s, Num) or s in (-1, 1) for s in wanted):
        x.trace.refuse(f"an array is expanded to {wanted}")
    return x.expanded(dims)


def _over(x: Arr, dim: Axis, axis: Axis) -> Axis:
    chosen = axis if dim is None else dim
    return x.trace.refuse(f"the axis {chosen}") if isinstance(chosen, bool) else chosen


def _statistic(statistic: Callable[..., Arr]) -> Function:
    return lambda x, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=False: statistic(
        x.cast(_format(x.trace, dtype, x.dtype)), _over(x, dim, axis), keepdim or keepdims
    )


def _spread(how: Callable[[Arr, Arr], object]) -> Function:
    """A function of the variance and the mean."""

    def of(x: Arr, over: Axis, kept: bool, less: Num | float) -> object:
        taken = int(less) if isinstance(less, bool) else less
        return how(variance(x, over, kept, taken), mean(x, over, kept))

    return lambda x, dim=None, unbiased=True, keepdim=False, *, correction=None, axis=None, keepdims=False: of(
        x, _over(x, dim, axis), keepdim or keepdims, unbiased if correction is None else correction
    )


OPERATIONS |= {
    "flatten": _flatten, "movedim": _movedim, "expand": _expand,
    "mean": _statistic(mean), "sum": _statistic(total), "var": _spread(lambda variance, mean: variance),
    "std": _spread(lambda variance, mean: variance.root()),
    "var_mean": _spread(lambda variance, mean: (variance, mean)),
    "std_mean": _spread(lambda variance, mean: (variance.root(), mean)),
}  # fmt: skip


OPERATIONS |= {
    "norm": lambda x, ord=None, dim=None, keepdim=False, *, p=None, dtype=None: length(
        x.cast(_format(x.trace, dtype, x.dtype)), ord if p is None else p, dim, keepdim
    ),
    "bmm": lambda a, b: total(_binary(a.unsqueezed(-1), b.unsqueezed(-3), operator.mul), -2),
    "einsum": lambda equation, *operands: einsum(equation, alone(operands), _dtype(*alone(operands))),
}


def _trailing(x: Arr, shape: Sequence[Num | int]) -> Arr:
    """An array normalized over its feature axis alone."""
    dims = [size.dim if isinstance(size, Num) else () if size == 1 else size for size in shape]
    labels = [label for dim in dims if isinstance(dim, tuple) for label in dim]
    if list(x.axes[len(x.axes) - len(dims) :]) != dims or labels != [FEATURE]:
        x.trace.refuse(f"a layer normalizes {shape} of an array of shape {form(x.axes)}")
    return x


def layer(x: Arr, function: Callable[..., Carrier], eps: Num | float, *parameters: Weight, **statistics: Arr) -> Arr:
    """A norm layer of PyTorch: the library's norm, with gain and bias as PyTorch applies them."""
    x.not_summed()
    x.trace.kernels.reduced.append((FEATURE, program_line()))
    added = eps.value if isinstance(eps, Num) else x.trace.symbols.constant(eps)
    values = {name: statistic.value for name, statistic in statistics.items()}
    square = values.get("variance", lg.moments(x.value)[1] if function is lg.layer_norm else None)
    square = lg.projection.mean_square(x.value) if square is None else square
    x.trace.values.obligations.append((square + added, ">"))
    ground = x.trace.ground
    y = Arr(x.trace, ground.fused(lambda v: function(v, eps=added, **values), x.value, x.dtype), x.axes, x.dtype)
    gain, bias = (*parameters, None, None)[:2]
    y = y if gain is None else y.combined(gain, operator.mul)
    return y if bias is None else y.combined(bias, operator.add)


def _layer_norm(
    x: Arr, normalized_shape: Shape, weight: Weight = None, bias: Weight = None, eps: Num | float = 1e-5
) -> Arr:
    return layer(_trailing(x, normalized_shape), lg.layer_norm, eps, weight, bias)


def _native(x: Arr, shape: Shape, weight: Weight, bias: Weight, eps: Num | float) -> tuple[Arr, Arr, Arr]:
    over = list(range(-len(shape), 0))
    spread = variance(x, over, True, 0).combined(eps, operator.add)
    return _layer_norm(x, shape, weight, bias, eps), mean(x, over, True), spread.power(-0.5)


def _group_norm(x: Arr, num_groups: int, weight: Weight = None, bias: Weight = None, eps: Num | float = 1e-5) -> Arr:
    if num_groups != 1 or tuple(itertools.chain(*x.axes[1:])) != (FEATURE,):
        x.trace.refuse(f"{num_groups} groups of an array of shape {form(x.axes)}")
    return layer(x, lg.layer_norm, eps, *_along(x, weight, bias))


def _along(x: Arr, *parameters: Weight) -> list[Weight]:
    """Parameters along the second axis of an array."""
    ends = [1] * (len(x.axes) - 2)
    return [None if p is None else p.reshaped([p.size(0), *ends]) for p in parameters]


def _batch_norm(x: Arr, training: bool, eps: Num | float, mean: Weight, variance: Weight, *affine: Weight) -> Arr:
    if training or mean is None or variance is None or x.axes[1:2] != ((FEATURE,),):
        x.trace.refuse("batch statistics")
    return layer(x, lg.norms.batch_norm, eps, *_along(x, *affine), mean=mean, variance=variance)


def _rms_norm(x: Arr, normalized_shape: Shape, weight: Weight = None, eps: Num | float | None = None) -> Arr:
    work = torch.promote_types(getattr(torch, x.dtype), torch.float32)  # half formats are computed in float32
    added = torch.finfo(work).eps if eps is None else eps
    return layer(_trailing(x, normalized_shape), lg.rms_norm, added, weight)


OPERATIONS |= {
    "layer_norm": _layer_norm, "native_layer_norm": _native, "group_norm": _group_norm, "rms_norm": _rms_norm,
    "normalize": lambda x, p=2.0, dim=1, eps=1e-12: x.divided(length(x, p, dim, True).maximum(eps)),
    "batch_norm": lambda x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5: (
        _batch_norm(x, training, eps, running_mean, running_var, weight, bias)
    ),
    "dropout": lambda x, p=0.5, training=True, inplace=False: (
        x.view(x.axes) if not training or p == 0 else x.trace.refuse("random numbers")
    ),
}  # fmt: skip


def _new(
    number: object, sizes: Sequence[Any], trace: Trace, size: Shape | None, dtype: object, otherwise: str = "float32"
) -> Arr:
    """An array of one number."""
    axes = dims(trace, alone(sizes) if size is None else size)
    return filled(trace, number, axes, _format(trace, dtype, otherwise))


def _constant_arrays(name: str, value: int, **state: bool) -> dict[str, Function]:
    """Three ways to make an array of a number in memory of this state."""

    def held(arr: Arr) -> Arr:
        vars(arr.memory).update(state)
        return arr

    return {
        name: lambda *sizes, trace, size=None, dtype=None: held(_new(value, sizes, trace, size, dtype)),
        f"new_{name}": lambda x, *sizes, size=None, dtype=None: held(_new(value, sizes, x.trace, size, dtype, x.dtype)),
        f"{name}_like": lambda x, *, dtype=None: held(x.filled(value, dtype=_format(x.trace, dtype, x.dtype))),
    }


OPERATIONS |= _constant_arrays("ones", 1) | _constant_arrays("zeros", 0, zero=True)
OPERATIONS |= _constant_arrays("empty", 0, undefined=True)
OPERATIONS |= {
    "full": lambda size, fill_value, *, trace, dtype=None: _new(fill_value, (), trace, size, dtype),
    "new_full": lambda x, size, fill_value, *, dtype=None: _new(fill_value, (), x.trace, size, dtype, x.dtype),
    "full_like": lambda x, fill_value, *, dtype=None: x.filled(fill_value, dtype=_format(x.trace, dtype, x.dtype)),
    "zero": lambda x: x.filled(0),
    "fill": lambda x, value: x.filled(value),
}

_ANSWERS = dict.fromkeys(("is_cuda", "is_meta", "is_nested", "is_sparse", "is_quantized"), False)
_ANSWERS |= {"is_floating_point": True, "is_complex": False, "is_leaf": True, "grad_fn": None}
_ANSWERS |= {"device": torch.device("cpu"), "layout": torch.strided}
_NOTED = ("device", "is_cuda")


def _answering(name: str, value: object) -> Callable[..., object]:
    def answer(x: Arr) -> object:
        told = ON_GPU.get(name, value) if x.trace.kernels.allowed else value
        if name in _NOTED:
            x.trace.report.notes.add(f"asks for {name}" + f", and is told {told}" * x.trace.kernels.allowed)
        return told

    return answer


def _lengths(x: Arr) -> tuple[Any, ...]:
    return tuple(x.size(k, Size) for k in range(len(x.axes)))


def _requires_grad(x: Arr) -> bool:
    if not x.memory.name:
        frame = sys._getframe(1)
        while is_ours(frame) and frame.f_back is not None:
            frame = frame.f_back
        if kind(frame) != "program":  # PyTorch, which keeps it for derivatives
            return False
        x.trace.refuse("whether a computed array requires gradients")
    return x.trace.decisions.circumstance(f"where {x.memory.name} requires gradients", GRADIENTS)


QUESTIONS |= {name: _answering(name, value) for name, value in _ANSWERS.items()} | {
    "shape": _lengths, "dtype": lambda x: getattr(torch, x.dtype), "ndim": lambda x: len(x.axes),
    "numel": lambda x: functools.reduce(operator.mul, _lengths(x)),
    "size": lambda x, dim=None: _lengths(x) if dim is None else x.size(x._axis(dim), Size),
    "requires_grad": _requires_grad,
    "grad": lambda x: x.trace.report.unexamined.add("inputs and parameters that have a gradient"),
    "is_inference": lambda x: x.trace.decisions.circumstance("in inference mode"),
    "requires_grad_": lambda x, requires_grad=True: x, "__set__requires_grad": lambda x, requires_grad: None,
}  # fmt: skip
QUESTIONS |= memory_answers(Size)
OPERATIONS |= QUESTIONS
_ALIASES = """
add=radd sub=subtract div=truediv,divide,true_divide rdiv=rtruediv clamp=clip transpose=swapaxes,swapdims T=t
detach=data,alias view_as=reshape_as movedim=moveaxis expand=broadcast_to to=_to_copy
norm=linalg_norm,linalg_vector_norm,vector_norm ndim=dim,ndimension numel=nelement size=sym_size
"""
for _one, _, _others in (entry.partition("=") for entry in _ALIASES.split()):
    OPERATIONS |= dict.fromkeys(_others.split(","), OPERATIONS[_one])
