"""Arrays of NumPy, PyTorch, JAX, Keras and TensorFlow as the checks need them: made from float64, read as float64."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from lngeom.errors import InputError

FrameworkArray = Any
"""An array of one of these libraries."""


class Framework(NamedTuple):
    """How one library makes an array of a dtype from float64 values, on a device."""

    name: str
    make: Callable[[np.ndarray, str, str | None], FrameworkArray]

    def read(self, values: object) -> np.ndarray:
        """Float64 copy of an array of the library."""
        if detach := getattr(values, "detach", None):  # NumPy has no bfloat16, other devices no memory it could read
            return detach().to("cpu", importlib.import_module("torch").float64, copy=True).numpy()
        return np.array(values, dtype=np.float64)


def _numpy(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype != "bfloat16":
        return values.astype(dtype, order="C")
    try:
        return values.astype(importlib.import_module("ml_dtypes").bfloat16, order="C")
    except ModuleNotFoundError as error:
        raise InputError("NumPy has no bfloat16 of its own: install ml_dtypes, or choose another --dtype") from error


def _torch(values: np.ndarray, dtype: str, device: str | None) -> FrameworkArray:
    torch = importlib.import_module("torch")
    with np.errstate(over="ignore"):
        # A copy in the order of its axes; PyTorch, too, rounds float64 to a half format by way of float32.
        copy = np.array(values, dtype if dtype in ("float32", "float64") else "float32", order="C")
    return torch.from_numpy(copy).to(getattr(torch, dtype)).to(device or "cpu")


def _jax(values: np.ndarray, dtype: str, device: str | None) -> FrameworkArray:
    jax = importlib.import_module("jax")
    if dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    # JAX rounds float64 by way of float32 when 64 bits are off; these values are numbers of the dtype already.
    array = jax.numpy.asarray(values.astype(np.float64 if dtype == "float64" else np.float32)).astype(dtype)
    return jax.device_put(array, jax.devices(device)[0]) if device else array


def _undirected(make: Callable[[np.ndarray, str], Any], library: str) -> Callable[[np.ndarray, str, str | None], Any]:
    def made(values: np.ndarray, dtype: str, device: str | None) -> Any:
        if device not in (None, "cpu"):
            raise ValueError(f"--device {device}: the check tells {library} no device; leave the option out")
        return make(values, dtype)

    return made


_KERAS = _undirected(lambda x, to: importlib.import_module("keras").ops.convert_to_tensor(x, dtype=to), "Keras")
_TENSORFLOW = _undirected(lambda x, dtype: importlib.import_module("tensorflow").cast(x, dtype), "TensorFlow")
_LIBRARIES = ("torch", _torch), ("jax", _jax), ("keras", _KERAS), ("tensorflow", _TENSORFLOW)
FRAMEWORKS = {name: Framework(name, make) for name, make in (*_LIBRARIES, ("numpy", _undirected(_numpy, "NumPy")))}
_ROOTS = {name: name for name in FRAMEWORKS} | {"flax": "jax"}


def likely_frameworks(target: object) -> list[str]:
    """Names of the frameworks that `target` mentions, then of the others that are loaded.

    A function that mentions none and calls methods of x alone is of the framework whose options it spells:
    ``x.std(axis=-1, keepdims=True)`` is NumPy's, though it runs in PyTorch too, and divides by d - 1 there.
    """
    mentioned = {_ROOTS.get(name.partition(".")[0]) for name in _mentioned(target, set())} - {None}
    code = getattr(target, "__code__", None)
    words = [word for names in (code.co_consts if code else ()) if isinstance(names, tuple) for word in names]
    for name, options in (("numpy", ("axis", "keepdims")), ("torch", ("dim", "keepdim"))):
        mentioned = mentioned or ({name} if any(word in options for word in words) else set())
    order = sorted(FRAMEWORKS, key=lambda name: name not in mentioned)
    return [name for name in order if name in mentioned or name in sys.modules] or ["numpy"]


def _mentioned(target: object, seen: set[int]) -> Iterator[str]:
    """Names of the modules that an object comes from or refers to, followed through the functions of its own module."""
    if id(target) in seen or len(seen) > 200:
        return
    seen.add(id(target))
    if isinstance(target, ModuleType):
        yield target.__name__
        return
    yield type(target).__module__ or ""
    inner = inspect.unwrap(target) if callable(target) else target
    inner = getattr(inner, "__func__", inner)
    if isinstance(inner, type):
        yield from (base.__module__ for base in inner.__mro__)
    elif isinstance(inner, FunctionType):
        yield inner.__module__ or ""
        yield from str(inner.__annotations__).replace("'", " ").replace(".", " ").split()
        for value in _referred(inner):
            if isinstance(value, str):
                yield value
            else:
                yield from _mentioned(value, seen)


def _referred(function: FunctionType) -> Iterator[object]:
    """Objects that a function's code refers to in its module and closure; names that it imports itself as they are."""
    pending: list[CodeType] = [function.__code__]
    for code in pending:
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            value = function.__globals__.get(name)
            if value is None:
                yield name
            elif isinstance(value, ModuleType) or getattr(value, "__module__", None) == function.__module__:
                yield value
    contents = [cell.cell_contents for cell in function.__closure__ or ()]
    yield from (value for value in contents if callable(value) or isinstance(value, ModuleType))
