"""What stands for Triton where it is not installed: its names, and kernels that run on NumPy, in memory with ends."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

_launches = [0]
_programs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
"""The ids of the program that runs, and how many there are."""


def launches() -> int:
    """How many launches have run in this process."""
    return _launches[0]


class Format:
    """A format of numbers; half formats are computed with in float32, and rounded where they are stored."""

    def __init__(self, name: str, kind: type) -> None:
        self.name, self.kind, self.element_ty = name, kind, self
        self.primitive_bitwidth = np.dtype(kind).itemsize * 8

    def __repr__(self) -> str:
        return self.name


FORMATS = {name: Format(name, kind) for name, kind in {
    "float16": np.float32, "bfloat16": np.float32, "float32": np.float32, "float64": np.float64,
    "int1": np.bool_, "int8": np.int8, "int32": np.int64, "int64": np.int64,
}.items()}  # fmt: skip


class Block(np.ndarray):
    """An array of NumPy with the methods of a block, also where it has no axes."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array).view(Block)

    def to(self, dtype: Format, **_: object) -> Block:
        """The numbers in another format."""
        return np.asarray(self).astype(dtype.kind).view(Block)


def block(value: Any) -> Block:
    """A number or an array as a block; numbers of Python have 32 bits."""
    array = np.asarray(value)
    return (array.astype(np.float32) if isinstance(value, float) else array).view(Block)


class Place:
    """Elements of one storage."""

    def __init__(self, storage: Block, dtype: str, offset: Any) -> None:
        self.storage, self.name, self.offset = storage, dtype, offset
        self.dtype = SimpleNamespace(element_ty=FORMATS[dtype])

    def __add__(self, more: Any) -> Place:
        return Place(self.storage, self.name, self.offset + np.asarray(more).astype(np.int64))

    __radd__ = __add__

    def lanes(self, mask: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Offsets and mask, of one shape; those that count lie in the storage."""
        where, taken = np.broadcast_arrays(self.offset, True if mask is None else mask)
        if ((where < 0) | (where >= len(self.storage)))[taken].any():
            raise IndexError(f"memory is {what} beyond its end")
        return where, taken


def load(pointer: Place, mask: Any = None, other: Any = None, **_: object) -> Block:
    """What lies in memory; beyond the mask `other`, or what is not a number."""
    where, taken = pointer.lanes(mask, "read")
    whole = pointer.storage.dtype.kind in "iu"
    values = np.full(where.shape, (0 if whole else np.nan) if other is None else other, pointer.storage.dtype)
    values[taken] = pointer.storage[where[taken]]
    return values.view(Block)


def store(pointer: Place, value: Any, mask: Any = None, **_: object) -> None:
    """Write into memory."""
    where, taken = pointer.lanes(mask, "written")
    pointer.storage[where[taken]] = np.broadcast_to(np.asarray(value), where.shape)[taken]


def atomic_add(pointer: Place, value: Any, mask: Any = None, **_: object) -> None:
    """Add to what lies in memory."""
    where, taken = pointer.lanes(mask, "written")
    np.add.at(np.asarray(pointer.storage), where[taken], np.broadcast_to(np.asarray(value), where.shape)[taken])


def arange(start: int, end: int) -> Block:
    """The numbers of lanes; Triton takes powers of 2."""
    size = int(end) - int(start)
    if size < 1 or size & (size - 1):
        raise ValueError(f"arange of {size} elements, which is no power of 2")
    return np.arange(int(start), int(end)).view(Block)


def total(value: Any, axis: int | None = None, keep_dims: bool = False, **_: object) -> Block:
    """A sum."""
    return block(np.asarray(value).sum(axis, keepdims=keep_dims))


def _mapped(function: Callable[..., Any]) -> Callable[..., Block]:
    return lambda *values, **_: block(function(*map(block, values)))


class JITFunction:
    """A kernel, or a function that kernels call."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.fn(*arguments, **named)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(_launch, self, grid)

    def constants(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What is chosen for a launch: nothing."""
        return {}


class Around(JITFunction):
    """A kernel with constants that are chosen: the first configuration, and what heuristics say."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def constants(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What is chosen for a launch with these arguments."""
        configs, values = getattr(self, "configs", None), getattr(self, "values", {})
        chosen = dict(configs[0].kwargs) if configs else {}
        chosen |= {name: choose({**arguments, **chosen}) for name, choose in values.items()}
        return chosen | self.fn.constants({**arguments, **chosen})


class Autotuner(Around):
    """A kernel with several configurations."""

    def __init__(self, fn: Any, configs: list[Any], reset_to_zero: Any = None) -> None:
        super().__init__(fn)
        self.configs, self.reset_to_zero = configs, reset_to_zero


class Heuristics(Around):
    """A kernel with constants that functions of its arguments give."""

    def __init__(self, fn: Any, values: dict[str, Callable[..., Any]]) -> None:
        super().__init__(fn)
        self.values = values


class Config:
    """One configuration."""

    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3, **_: object) -> None:
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages


def jit(fn: Any = None, **_: object) -> Any:
    """Decorator of kernels."""
    return jit if fn is None else JITFunction(fn)


def _launch(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> None:
    """Run a launch, program by program; of traced arrays, follow it."""
    found = next((value.arr for value in (*arguments, *named.values()) if hasattr(value, "arr")), None)
    if found is not None:
        importlib.import_module(f"{__package__}._launch").launched(found.trace, kernel, grid, arguments, named)
        return
    inner = kernel
    while isinstance(inner, Around):
        inner = inner.fn
    names = list(inner.fn.__code__.co_varnames[: inner.fn.__code__.co_argcount])
    given = dict(zip(names, arguments, strict=False)) | {name: v for name, v in named.items() if name in names}
    given |= kernel.constants(given)
    sizes = grid(given) if callable(grid) else grid
    sizes = tuple(map(int, sizes if isinstance(sizes, tuple | list) else (sizes,)))
    storages: dict[int, tuple[Any, np.ndarray]] = {}
    taken = {name: _argument(value, storages) for name, value in given.items()}
    _launches[0] += 1
    with np.errstate(all="ignore"):
        for ids in itertools.product(*map(range, sizes)):
            _programs.append((ids, sizes))
            try:
                inner.fn(**taken)
            finally:
                _programs.pop()
    for flat, array in storages.values():
        flat.copy_(importlib.import_module("torch").from_numpy(array))


def _argument(value: Any, storages: dict[int, tuple[Any, np.ndarray]]) -> Any:
    """A tensor as places in its storage, a float as one of 32 bits."""
    if isinstance(value, float):
        return block(value)
    if not hasattr(value, "untyped_storage"):
        return FORMATS.get(str(value).removeprefix("torch."), value) if "torch." in str(value) else value
    dtype, storage = str(value.dtype).removeprefix("torch."), value.untyped_storage()
    flat = value.detach().as_strided((storage.nbytes() // value.element_size(),), (1,), 0)
    if storage.data_ptr() not in storages:
        wide = flat.float() if dtype in ("bfloat16", "float16") else flat
        storages[storage.data_ptr()] = flat, wide.numpy().copy()
    return Place(storages[storage.data_ptr()][1].view(Block), dtype, np.int64(value.storage_offset()))


def cdiv(a: Any, b: Any) -> Any:
    """⌈a/b⌉."""
    return _sized("cdiv")(a, b) if hasattr(a, "dim") or hasattr(b, "dim") else -(-a // b)


def next_power_of_2(n: Any) -> Any:
    """The smallest power of 2 that is no smaller."""
    return _sized("next_power_of_2")(n) if hasattr(n, "dim") else 1 << (int(n) - 1).bit_length()


def _sized(name: str) -> Callable[..., Any]:
    return getattr(importlib.import_module(f"{__package__}._launch"), name)


def _full(shape: Any, value: Any, dtype: Format = FORMATS["float32"]) -> Block:
    return np.full(shape, value, dtype.kind).view(Block)


_UNARY = {"sqrt": np.sqrt, "sqrt_rn": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "abs": np.abs, "exp": np.exp,
          "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "log": np.log}  # fmt: skip
_MATH = {name: _mapped(function) for name, function in _UNARY.items()}
_MATH |= {"div_rn": _mapped(np.true_divide), "fdiv": _mapped(np.true_divide), "fma": _mapped(lambda a, b, c: a * b + c)}
_LANGUAGE: dict[str, Any] = {
    **FORMATS, **_MATH, "load": load, "store": store, "atomic_add": atomic_add, "arange": arange, "sum": total,
    "constexpr": lambda value: value, "dtype": Format, "cdiv": cdiv, "static_range": range, "range": range,
    "program_id": lambda axis=0: block((*_programs[-1][0], 0, 0)[axis]),
    "num_programs": lambda axis=0: (*_programs[-1][1], 1, 1)[axis],
    "zeros": lambda shape, dtype: _full(shape, 0, dtype), "full": _full,
    "where": lambda c, a, b: block(np.where(c, a, b)), "cast": lambda x, dtype: block(x).to(dtype),
    "max": lambda x, axis=None: block(np.asarray(x).max(axis)), "maximum": _mapped(np.maximum),
    "minimum": lambda a, b: min(a, b) if np.ndim(a) == np.ndim(b) == 0 else block(np.minimum(a, b)),
    "static_assert": lambda *_: None, "static_print": lambda *_: None,
}  # fmt: skip


def _module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(f"triton{name}")
    for key, value in members.items():
        if isinstance(value, FunctionType):
            value.__name__ = key
        setattr(made, key, value)
    made.__path__ = []  # type: ignore[attr-defined]
    MODULES[made.__name__] = made
    return made


MODULES: dict[str, ModuleType] = {}
"""The modules that stand for Triton's, by name."""
_math = _module(".language.math", **_MATH)
_libdevice = _module(".language.extra.libdevice", **_MATH)
_cuda = _module(".language.extra.cuda", libdevice=_libdevice)
MODULES["triton.language.extra.cuda.libdevice"] = _libdevice
_extra = _module(".language.extra", libdevice=_libdevice, cuda=_cuda)
_language = _module(".language", math=_math, extra=_extra, **_LANGUAGE)
_module("", jit=jit, language=_language, Config=Config, cdiv=cdiv, next_power_of_2=next_power_of_2, __version__="3.0.0",
        autotune=lambda configs, key=(), reset_to_zero=None, **_: lambda fn: Autotuner(fn, configs, reset_to_zero),
        heuristics=lambda values: lambda fn: Heuristics(fn, values))  # fmt: skip
