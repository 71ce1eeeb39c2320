"""Arrays of NumPy, PyTorch, JAX, Keras and TensorFlow as the checks need them: made from float64, read as float64."""

import importlib
import inspect
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy

from lngeom.errors import InputError


class Framework(NamedTuple):
    """How one library makes an array of a dtype from float64 values, on a device."""

    name: str
    make: Callable[[numpy.ndarray, str, str | None], Any]

    def read(self, values: Any) -> numpy.ndarray:
        """Float64 copy of an array of the library."""
        if hasattr(values, "detach"):
            return values.detach().cpu().double().numpy().copy()
        if hasattr(values, "numpy") and self.name in ("keras", "tensorflow"):
            values = values.numpy()
        return numpy.array(values).astype(numpy.float64)


def _numpy(values: numpy.ndarray, dtype: str, device: str | None) -> Any:
    if dtype != "bfloat16":
        return values.astype(dtype)
    try:
        return values.astype(importlib.import_module("ml_dtypes").bfloat16)
    except ModuleNotFoundError as error:
        raise InputError("NumPy has no bfloat16 of its own: install ml_dtypes, or choose another --dtype") from error


def _torch(values: numpy.ndarray, dtype: str, device: str | None) -> Any:
    torch = importlib.import_module("torch")
    return torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype)).to(device or "cpu")


def _jax(values: numpy.ndarray, dtype: str, device: str | None) -> Any:
    jax = importlib.import_module("jax")
    if dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    # JAX rounds float64 by way of float32 when 64 bits are off; these values are numbers of the dtype already.
    made = jax.numpy.asarray(values.astype(numpy.float64 if dtype == "float64" else numpy.float32))
    made = made.astype(dtype)
    return jax.device_put(made, jax.devices(device)[0]) if device else made


def _keras(values: numpy.ndarray, dtype: str, device: str | None) -> Any:
    return importlib.import_module("keras").ops.convert_to_tensor(values, dtype=dtype)


def _tensorflow(values: numpy.ndarray, dtype: str, device: str | None) -> Any:
    tensorflow = importlib.import_module("tensorflow")
    return tensorflow.cast(tensorflow.constant(values), dtype)


FRAMEWORKS = {
    name: Framework(name, make)
    for name, make in (
        ("torch", _torch),
        ("jax", _jax),
        ("keras", _keras),
        ("tensorflow", _tensorflow),
        ("numpy", _numpy),
    )
}
_ROOTS = {"torch": "torch", "jax": "jax", "flax": "jax", "keras": "keras", "tensorflow": "tensorflow", "numpy": "numpy"}


def likely_frameworks(target: Any) -> list[str]:
    """Names of the installed frameworks, the one that `target` mentions first."""
    found: set[str] = set()
    _collect(target, found, set())
    order = [name for name in FRAMEWORKS if name in found]
    order += [name for name in FRAMEWORKS if name not in found and name in sys.modules]
    return order or ["numpy"]


def _collect(target: Any, found: set[str], seen: set[int]) -> None:
    """Frameworks of the modules, functions and annotations that a function refers to, followed in its own module."""
    if id(target) in seen or len(seen) > 200:
        return
    seen.add(id(target))
    if isinstance(target, ModuleType):
        found.update(filter(None, [_ROOTS.get(target.__name__.partition(".")[0])]))
        return
    root = _ROOTS.get((getattr(type(target), "__module__", "") or "").partition(".")[0])
    if root:
        found.add(root)
    inner = inspect.unwrap(target) if callable(target) else target
    inner = getattr(inner, "__func__", inner)
    if isinstance(inner, type):
        found.update(filter(None, (_ROOTS.get(base.__module__.partition(".")[0]) for base in inner.__mro__)))
        return
    if not isinstance(inner, FunctionType):
        return
    found.update(filter(None, [_ROOTS.get((inner.__module__ or "").partition(".")[0])]))
    for word in str(inner.__annotations__).replace("'", " ").replace(".", " ").split():
        found.update(filter(None, [_ROOTS.get(word)]))
    pending: list[CodeType] = [inner.__code__]
    while pending:
        code = pending.pop()
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            value = inner.__globals__.get(name)
            if isinstance(value, ModuleType) or getattr(value, "__module__", None) == inner.__module__:
                _collect(value, found, seen)
            elif value is None and name in _ROOTS:
                found.add(_ROOTS[name])
    for cell in inner.__closure__ or ():
        if callable(cell.cell_contents) or isinstance(cell.cell_contents, ModuleType):
            _collect(cell.cell_contents, found, seen)
