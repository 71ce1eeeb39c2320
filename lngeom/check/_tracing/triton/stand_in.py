"""What stands for Triton and its language: Python runs kernels on PyTorch, in memory with ends, or on a trace."""

import contextlib
import functools
import importlib
import inspect
import itertools
import linecache
import operator
from collections.abc import Callable
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType, SimpleNamespace
from typing import Any

import torch

from ..arrays import Arr
from ..sizes import Num
from ..trace import is_ours, program_line
from . import BeyondEnd, Unread
from .blocks import Mask, Window
from .memory import Accesses
from .reading import JOINED, read
from .whole import quotient, running

launches, has_kernels = [0], [False]
"""How many launches have run in this process; whether a program has kernels."""
programs: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
"""For each program that runs, its number and how many there are, along three axes."""
__path__, __version__ = list[str](), "3.0.0"
ON_GPU = {"device": torch.device("cuda:0"), "is_cuda": True}
"""Answers of arrays to a program with kernels, on the machine that they are written for."""
_GPU = {"major": 9, "minor": 0, "name": "NVIDIA H100", "warp_size": 32, "max_threads_per_multi_processor": 2048}


def gpu(processors: Any, noted: Callable[[str, str], None] = lambda *_: None) -> dict[str, Any]:
    """What ``torch.cuda`` answers to a program with kernels, by the names of its functions, as far as it is `noted`."""
    asked = {n: property(lambda _, n=n: noted(f"the GPU's {n}", repr(_GPU[n])) or _GPU[n]) for n in _GPU}
    one: Any = type("Properties", (), asked | {"multi_processor_count": processors})()
    return {
        "device": lambda *_: contextlib.nullcontext(),
        "get_device_properties": lambda *_: one,
        "get_device_capability": lambda *_: (one.major, one.minor),
        "current_device": lambda: noted("current_device", "0") or 0,
    }


def block(value: Any) -> torch.Tensor:
    """A number as a block of one lane; numbers of Python have 32 bits, whatever PyTorch's default is."""
    kind = torch.float32 if isinstance(value, float) else None
    return value if isinstance(value, torch.Tensor) else torch.tensor([value], dtype=kind)


class Place:
    """Elements of the storage of the argument of this name."""

    def __init__(self, storage: torch.Tensor, name: str, offset: Any) -> None:
        self.storage, self.name, self.offset = storage, name, offset
        self.dtype, self.type, self.element_ty = self, self, storage.dtype

    def __add__(self, more: Any) -> "Place":
        return Place(self.storage, self.name, self.offset + more)

    def lanes(self, mask: Any, what: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Offsets and mask, of one shape; those that count lie in the storage."""
        where, taken = torch.broadcast_tensors(block(self.offset), block(mask is None or mask).bool())
        if ((where < 0) | (where >= len(self.storage)))[taken].any():
            raise BeyondEnd(f"{what} beyond the end of {self.name}", program_line())
        return where, taken


def _load(pointer: Place, mask: Any = None, other: Any = None, **_: object) -> torch.Tensor:
    where, taken = pointer.lanes(mask, "reads")
    values = torch.full(where.shape, float(other or 0), dtype=pointer.element_ty)
    values[taken] = pointer.storage[where[taken]]
    return values


def _store(pointer: Place, value: Any, mask: Any = None, *, adds: bool = False, **_: object) -> None:
    where, taken = pointer.lanes(mask, "writes")
    values = block(value).to(pointer.element_ty).expand(where.shape)
    pointer.storage.index_put_((where[taken],), values[taken], accumulate=adds)


def _over(how: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None, keep_dims=False: torch.atleast_1d(
        how(x, tuple(range(x.ndim)) if axis is None else axis, keepdim=keep_dims)
    )


def _arange(start: int, end: int) -> torch.Tensor:
    if end - start < 1 or end - start & (end - start - 1):
        raise ValueError(f"arange of {end - start} elements, which is no power of 2")
    return torch.arange(start, end)


def _full(shape: Any, value: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype) + block(value).to(dtype)


def _required(condition: Any, message: str = "") -> None:
    if not condition:
        raise AssertionError(message)


def _at_window(window: Window, boundary_check: tuple[int, ...] = (), padding_option: str = "") -> tuple[Any, Any, Any]:
    """The places of a window, which of them lie inside, and what is read beyond."""
    at, inside, axes = window.base, None, range(len(window.shape))
    for k in axes:
        parts = tuple(slice(None) if k == axis else None for axis in axes)
        place = (language.arange(0, window.block_shape[k]) + window.offsets[k])[parts]
        at = at + place * window.strides[k]
        if k in boundary_check:
            size = window.shape[k]
            here = running[-1].compared("lt", place, size) if running else (place >= 0) & (place < size)
            inside = here if inside is None else inside & here
    return at, inside, {"": None, "zero": 0, "nan": float("nan")}[padding_option]


def _sized(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def sized(*numbers: Any) -> Any:
        traced = any(isinstance(number, Num) for number in numbers)
        return (getattr(importlib.import_module(f"{__package__}.launch"), name) if traced else plain)(*numbers)

    return sized


next_power_of_2 = _sized("next_power_of_2", lambda n: n and 1 << (int(n) - 1).bit_length())


def _each(name: str, how: Callable[[Arr], Arr] | None) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    function = getattr(torch, name.removesuffix("_rn"))
    return lambda x: function(block(x)), how and (lambda launch, x: launch.applied(x, how))


_UNREAD = "{} is not among the functions of Triton that are read"
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "load": (_load, Accesses.load), "store": (_store, Accesses.store), "arange": (_arange, Accesses.arange),
    "full": (_full, Accesses.full),
    "make_block_ptr": (Window, lambda _, *given, **named: Window(*given, **named)),
    "advance": (operator.add, lambda _, window, steps: steps if window is None else window + steps),
    "broadcast_to": (lambda x, *shape: block(x).expand(*shape), Accesses.broadcast_to),
    "zeros": (lambda shape, dtype: _full(shape, 0, dtype), lambda self, shape, dtype: self.full(shape, 0.0, dtype)),
    "sum": (_over(torch.sum), Accesses.sum), "where": (torch.where, Accesses.where),
    "cdiv": (_sized("cdiv", lambda a, b: -(-a // b)), lambda self, *of: quotient(*(self.size(x, "cdiv") for x in of))),
    **dict.fromkeys(("range", "static_range"), (lambda *bounds, num_stages=0: range(*bounds), Accesses.turns)),
    **dict.fromkeys(("multiple_of", "max_contiguous", "assume"), (lambda x, *_: x, Accesses.hinted)),
    "static_assert": (_required, lambda _, *given: _required(*given)),
    "cast": (lambda x, dtype, **_: x.to(dtype), lambda self, x, dtype, **_: self.cast(x, dtype)),
    "constexpr": (lambda x: type("constexpr", (type(0 * x),), {"value": x, "__module__": __name__})(x), lambda _, x: x),
    "program_id": (lambda axis=0: programs[-1][0][axis], lambda self, axis=0: programs[-1][0][axis]),
    "num_programs": (lambda axis=0: programs[-1][1][axis], lambda self, axis=0: programs[-1][1][axis]),
    "sqrt": _each("sqrt", Arr.root), "sqrt_rn": _each("sqrt_rn", Arr.root),
    "rsqrt": _each("rsqrt", lambda x: x.power(-0.5)), "abs": _each("abs", Arr.absolute),
    "sigmoid": _each("sigmoid", lambda x: x.applied("sigmoid")), "exp": _each("exp", lambda x: x.applied("exp")),
    "atomic_add": (functools.partial(_store, adds=True), Accesses.atomic_add),
    "maximum": (lambda a, b: torch.maximum(block(a), block(b)), None),
    "minimum": (lambda a, b: torch.minimum(block(a), block(b)), Accesses.least),
    **{"max": (_over(torch.amax), None), "min": (_over(torch.amin), None)},
    **{"reshape": (torch.reshape, None), "cumsum": (torch.cumsum, None), "dtype": (torch.dtype, None)},
    "tensor": (block, None),
    **{name: _each(name, None) for name in ("exp2", "log", "log2", "sin", "cos", "tanh", "erf", "floor", "ceil")},
}  # fmt: skip
"""Functions of the language: what each does to blocks of PyTorch, and what it means in a trace, if it is read."""


class Language(SimpleNamespace):
    """Triton's modules of functions, all in one."""

    def __getattr__(self, name: str) -> Any:
        raise Unread(_UNREAD.format(name))


def _function(name: str) -> Callable[..., Any]:
    plain, traced = _FUNCTIONS[name]

    def called(*arguments: Any, eviction_policy: str = "", cache_modifier: str = "", **named: Any) -> Any:
        if name in ("load", "store") and isinstance(arguments[0], Window):
            options = {key: named.pop(key) for key in ("boundary_check", "padding_option") if key in named}
            at, named["mask"], beyond = _at_window(arguments[0], **options)
            arguments, named = (at, *arguments[1:]), named | ({"other": beyond} if name == "load" else {})
        if not running:
            return plain(*arguments, **named)
        running[-1].trace.values.operations[name] += 1
        running[-1].never(traced is None, _UNREAD.format(name))
        return traced(running[-1], *arguments, **named)  # type: ignore[misc]

    called.__module__, called.__name__, called.__qualname__ = __name__, name, name
    return called


language = Language(**{name: _function(name) for name in _FUNCTIONS}, __path__=[])
vars(language).update({name: value for name, value in vars(torch).items() if isinstance(value, torch.dtype)})
vars(language).update(dict.fromkeys(("language", "math", "extra", "libdevice", "cuda"), language))


globals().update(  # what programs call around kernels
    cdiv=language.cdiv,
    jit=lambda fn=None, **_: JITFunction if fn is None else JITFunction(fn),
    autotune=lambda configs, key, **about: lambda fn: JITFunction(fn, configs=configs, **about),
    heuristics=lambda values: lambda fn: JITFunction(fn, values=values),
    Config=lambda kwargs, *_, **about: SimpleNamespace(**about, kwargs=kwargs),
)


def chain_of(kernel: Any) -> list[Any]:
    """What is around a kernel, the kernel, and its function."""
    return [kernel, *chain_of(kernel.fn)] if hasattr(kernel, "fn") else [kernel]


def pruned_by(tuner: Any) -> Callable[..., Any] | None:
    """What leaves out configurations for the arguments of a launch, in Triton's object or in ours."""
    own: dict[str, Any] = getattr(tuner, "prune_configs_by", None) or {}
    return getattr(tuner, "early_config_prune", None) or own.get("early_config_prune")


_FORMATS = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64}


def prepared(
    kernel: Any, grid: Any, arguments: tuple[Any, ...], named: dict[str, Any], tuned: Callable[[str, list[Any]], Any]
) -> tuple[dict[str, Any], set[str], tuple[Any, ...]]:
    """The arguments of a launch, which are constants, how many programs; `tuned` chooses by name among values."""
    *chain, function = chain_of(kernel)
    signature = inspect.signature(function)
    known = {name: value for name, value in named.items() if name in signature.parameters}
    bound = signature.bind_partial(*arguments, **known).arguments
    for each in chain:
        choices = getattr(each, "configs", ())
        if prune := pruned_by(each):
            choices = prune([*choices], dict(bound), **named)
        configs = [config.kwargs for config in choices]
        for name in dict.fromkeys(itertools.chain(*configs)):
            if name in bound:
                raise TypeError(f"{name} is tuned and given")
            bound[name] = tuned(name, [config.get(name) for config in configs])
        for name, choose in getattr(each, "values", {}).items():
            bound[name] = choose(MappingProxyType(dict(bound)))  # no state of the program
    whole_call = signature.bind(**bound)
    whole_call.apply_defaults()
    sizes = grid(MappingProxyType(whole_call.arguments)) if callable(grid) else grid
    constant = {name for name, one in signature.parameters.items() if "constexpr" in str(one.annotation)}
    taken = {k: _FORMATS.get(str(v), v) if is_language(type(v)) else v for k, v in whole_call.arguments.items()}
    return taken, constant, tuple(sizes) if isinstance(sizes, tuple | list) else (sizes,)


def is_language(value: Any) -> bool:
    """Whether it is Triton's, or a part of it."""
    name = value.__name__ if inspect.ismodule(value) else str(getattr(value, "__module__", ""))
    return name.partition(".")[0] == "triton" or name == __name__


def names_of(function: Any, nested: Callable[[Any], Any]) -> dict[str, Any]:
    """What a function of Triton finds by names: the language as it is here, and other kernels as `nested` has them."""
    found: dict[str, Any] = {JOINED: joined}
    around = function.__globals__ | inspect.getclosurevars(function).nonlocals
    for name in {*function.__code__.co_names, *function.__code__.co_freevars} & around.keys():
        value = around[name]
        if is_language(value):
            made = getattr(value, "value", None)  # of a constexpr
            whole = inspect.ismodule(value) or value is language
            found[name] = language if whole else getattr(language, value.__name__) if made is None else made
        elif inspect.isfunction(getattr(value, "fn", None)) and is_language(type(value)):
            found[name] = nested(value.fn)
    return found


def joined(how: str, *parts: Callable[[], Any]) -> Any:
    """``and`` or ``or`` of numbers or, lane by lane, of blocks."""
    value = parts[0]()
    for part in parts[1:]:
        if isinstance(value, torch.Tensor):
            value = (torch.logical_and if how == "And" else torch.logical_or)(value, block(part()))
        elif isinstance(value, Mask) and how == "And":
            value = value & part()
        elif bool(value) == (how == "And"):
            value = part()
    return value


def _runnable(function: Any) -> Callable[..., Any]:
    names = function.__globals__ | inspect.getclosurevars(function).nonlocals
    names |= names_of(function, lambda other: lambda *a, **named: _runnable(other)(*a, **named))
    exec(read(function), names)
    made = names[function.__name__]
    made.__defaults__ = function.__defaults__
    return made


def place_of(error: Exception) -> str:
    """The line of a program at which it is raised."""
    lines = [(one.f_code.co_filename, n) for one, n in walk_tb(error.__traceback__) if not is_ours(one)]
    return "".join(f" ({Path(file).name}:{n}: {linecache.getline(file, n).strip()})"[:160] for file, n in lines[-1:])


def launcher(kernel: Any, grid: Any) -> Callable[..., None]:
    """A kernel with a grid, ready to be launched: run program by program, or followed if an array is traced."""

    def launch(*arguments: Any, **named: Any) -> None:
        traced = next((value.arr.trace for value in (*arguments, *named.values()) if hasattr(value, "arr")), None)
        if traced is not None:
            importlib.import_module(f"{__package__}.launch").launched(traced, kernel, grid, arguments, named)
            return
        given, constant, sizes = prepared(kernel, grid, arguments, named, lambda _, values: values[0])
        taken = {name: value if name in constant else _argument(name, value) for name, value in given.items()}
        run, launches[0] = _runnable(chain_of(kernel)[-1]), launches[0] + 1
        for ids in itertools.product(*map(range, sizes)):
            programs.append((tuple(map(block, (*ids, 0, 0))), (*sizes, 1, 1)))
            try:
                run(**taken)
            except (AttributeError, TypeError) as error:
                raise Unread(f"what is not followed in a kernel: {error}{place_of(error)}") from error

    return launch


class JITFunction:
    """A kernel, or what chooses constants for one."""

    def __init__(self, fn: Any, **about: Any) -> None:
        vars(self).update(about, fn=fn, __module__=fn.__module__)
        has_kernels[0] = True

    __getitem__ = launcher


def _argument(name: str, value: Any) -> Any:
    """A tensor as places in its storage, a number as a block of one lane."""
    if not isinstance(value, torch.Tensor):
        return block(value) if type(value) in (int, float) else value
    count = value.untyped_storage().nbytes() // value.element_size()
    return Place(value.detach().as_strided((count,), (1,), 0), name, value.storage_offset())
