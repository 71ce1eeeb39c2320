"""What stands for Triton and its language where it is not installed: kernels run on NumPy, in memory with ends."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

NAMES = ("", ".language", ".language.math", ".language.extra", ".language.extra.libdevice", ".language.extra.cuda",
         ".language.extra.cuda.libdevice")  # fmt: skip
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sqrt": (np.sqrt, lambda x: x.root()),
    "sqrt_rn": (np.sqrt, lambda x: x.root()),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x: x.power(-0.5)),
    "abs": (np.abs, lambda x: x.absolute()),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: x.applied("sigmoid")),
    "exp": (np.exp, lambda x: x.applied("exp")),
}
"""Functions of each number: of a block of NumPy, and of a traced array."""
_launches = [0]
_programs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
__path__: list[str] = []
__version__ = "3.0.0"
int32, int64, float64, float32, bfloat16, float16 = "int32", "int64", "float64", "float32", "bfloat16", "float16"
range, static_range = range, range


def launches() -> int:
    """How many launches have run in this process."""
    return _launches[0]


def is_used() -> bool:
    """Whether a program has kernels."""
    return JITFunction.made


class Block(np.ndarray):
    """An array with the methods of a block, also without axes; half formats are rounded where they are stored."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array).view(Block)

    def to(self, dtype: Any) -> Block:
        """The numbers in another format."""
        name = str(dtype)
        kind = "int64" if "int" in name else "float32" if name in ("float16", "bfloat16") else name
        return np.asarray(self).astype(kind).view(Block)


def block(value: Any) -> Block:
    """A number or an array as a block; numbers of Python have 32 bits."""
    array = np.asarray(value)
    return (array.astype(np.float32) if isinstance(value, float) else array).view(Block)


class Place:
    """Elements of one storage."""

    def __init__(self, storage: np.ndarray, dtype: str, offset: Any) -> None:
        self.storage, self.element_ty, self.offset, self.dtype = storage, dtype, offset, self

    def __add__(self, more: Any) -> Place:
        return Place(self.storage, self.element_ty, self.offset + np.asarray(more).astype(np.int64))

    def lanes(self, mask: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Offsets and mask, of one shape; those that count lie in the storage."""
        where, taken = np.broadcast_arrays(self.offset, True if mask is None else mask)
        if ((where < 0) | (where >= len(self.storage)))[taken].any():
            raise IndexError(f"memory is {what} beyond its end")
        return where, taken


def load(pointer: Place, mask: Any = None, other: Any = None, **_: object) -> Block:
    """What lies in memory; beyond the mask `other`, or what is not a number."""
    where, taken = pointer.lanes(mask, "read")
    values = np.full(where.shape, np.nan if other is None else other, pointer.storage.dtype)
    values[taken] = pointer.storage[where[taken]]
    return values.view(Block)


def store(pointer: Place, value: Any, mask: Any = None, **_: object) -> None:
    """Write into memory."""
    where, taken = pointer.lanes(mask, "written")
    pointer.storage[where[taken]] = np.broadcast_to(np.asarray(value), where.shape)[taken]


def arange(start: int, end: int) -> Block:
    """The numbers of lanes; Triton takes powers of 2."""
    if end - start < 1 or end - start & (end - start - 1):
        raise ValueError(f"arange of {end - start} elements, which is no power of 2")
    return np.arange(start, end).view(Block)


def sum(value: Any, axis: int | None = None, keep_dims: bool = False) -> Block:
    """A sum."""
    return block(np.asarray(value).sum(axis, keepdims=keep_dims))


def full(shape: Any, value: float, dtype: str) -> Block:
    """A block of one number."""
    return block(np.full(shape, value)).to(dtype)


def zeros(shape: Any, dtype: str) -> Block:
    """A block of zeros."""
    return full(shape, 0.0, dtype)


def where(condition: Any, a: Any, b: Any) -> Block:
    """One of two numbers in each lane."""
    return block(np.where(condition, block(a), block(b)))


def program_id(axis: int) -> Block:
    """The number of the program that runs."""
    return block((*_programs[-1][0], 0, 0)[axis])


def num_programs(axis: int) -> int:
    """How many programs run."""
    return (*_programs[-1][1], 1, 1)[axis]


class JITFunction:
    """A kernel; around it constants may be chosen, of which the first configuration is taken."""

    made = False

    def __init__(self, fn: Any) -> None:
        self.fn, JITFunction.made = fn, True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The function, as another kernel calls it."""
        return self.fn(*arguments, **named)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return launcher(self, grid)


class Wrapped(JITFunction):
    """A kernel with configurations, or with constants that functions of its arguments give."""

    def __init__(self, fn: Any, **about: Any) -> None:
        vars(self).update(about, fn=fn)


class Config:
    """One configuration."""

    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3, **about: object) -> None:
        vars(self).update(about, kwargs=kwargs, num_warps=num_warps, num_stages=num_stages)


def jit(fn: Any = None, **_: object) -> Any:
    """Decorator of kernels."""
    return jit if fn is None else JITFunction(fn)


def autotune(configs: list[Any], key: Any, **about: object) -> Callable[..., Any]:
    """Decorator of kernels with configurations."""
    return lambda fn: Wrapped(fn, configs=configs, **about)


def heuristics(values: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Decorator of kernels with chosen constants."""
    return lambda fn: Wrapped(fn, values=values)


def launcher(kernel: Any, grid: Any) -> Callable[..., None]:
    """A kernel with a grid, ready to be launched."""
    return functools.partial(_launch, kernel, grid)


def _launch(kernel: Any, grid: Any, *arguments: Any, **named: Any) -> None:
    """Run a launch, program by program; of traced arrays, follow it."""
    found = next((value.arr for value in (*arguments, *named.values()) if hasattr(value, "arr")), None)
    if found is not None:
        importlib.import_module(f"{__package__}.launch").launched(found.trace, kernel, grid, arguments, named)
        return
    chain = [kernel]
    while isinstance(chain[-1], JITFunction):
        chain.append(chain[-1].fn)
    names = chain[-1].__code__.co_varnames[: chain[-1].__code__.co_argcount]
    given = dict(zip(names, arguments, strict=False)) | {name: v for name, v in named.items() if name in names}
    for each in chain:
        given |= each.configs[0].kwargs if hasattr(each, "configs") else {}
        given |= {name: choose(given) for name, choose in getattr(each, "values", {}).items()}
    asked: Any = grid(given) if callable(grid) else grid
    sizes = tuple(map(int, asked))
    storages: dict[int, tuple[Any, np.ndarray]] = {}
    taken = {name: _argument(value, storages) for name, value in given.items()}
    _launches[0] += 1
    with np.errstate(all="ignore"):
        for ids in itertools.product(*map(range, sizes)):
            _programs.append((ids, sizes))
            chain[-1](**taken)
    for flat, array in storages.values():
        flat.copy_(importlib.import_module("torch").from_numpy(array))


def _argument(value: Any, storages: dict[int, tuple[Any, np.ndarray]]) -> Any:
    """A tensor as places in its storage, a float as one of 32 bits."""
    if not hasattr(value, "untyped_storage"):
        return block(value) if isinstance(value, float) else value
    dtype, storage = str(value.dtype).removeprefix("torch."), value.untyped_storage()
    if storage.data_ptr() not in storages:
        flat = value.detach().as_strided((storage.nbytes() // value.element_size(),), (1,), 0)
        wide = flat.float() if dtype in ("bfloat16", "float16") else flat
        storages[storage.data_ptr()] = flat, wide.numpy().copy()
    return Place(storages[storage.data_ptr()][1], dtype, np.int64(value.storage_offset()))


def cdiv(a: Any, b: Any) -> Any:
    """⌈a/b⌉."""
    return _sized("cdiv")(a, b) if hasattr(a, "dim") or hasattr(b, "dim") else -(-a // b)


def next_power_of_2(n: Any) -> Any:
    """The smallest power of 2 that is no smaller."""
    return _sized("next_power_of_2")(n) if hasattr(n, "dim") else 1 << (int(n) - 1).bit_length()


def _sized(name: str) -> Callable[..., Any]:
    return getattr(importlib.import_module(f"{__package__}.launch"), name)


def __getattr__(name: str) -> Any:
    if name in ("constexpr", "dtype"):
        return type(name, (int,), {"value": property(int), "__module__": __name__})
    if name in ("language", "math", "extra", "libdevice", "cuda"):
        return importlib.import_module(__name__)
    function = FUNCTIONS[name][0] if name in FUNCTIONS else getattr(np, name, None)
    if function is None or name.startswith("__"):
        raise AttributeError(name)

    def mapped(value: Any) -> Block:
        return block(function(block(value)))

    mapped.__name__ = name
    return mapped
