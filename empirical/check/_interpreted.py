"""Kernels of Triton where no GPU is: they run in Triton's interpreter, which gets what it lacks, or on NumPy."""

import contextlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ..tracing.triton import stand_in

INTERPRETED = "interpreted: order and rounding of sums are not the GPU's"
_launches = [0]
_LIBRARIES = re.compile(r"/site-packages/(torch|transformers|accelerate|jax|keras|numpy|scipy)/")


def launches() -> int:
    """How many launches of kernels Triton's interpreter has run in this process."""
    return _launches[0] + stand_in.launches()


class _StandIn(Loader):
    """Loads what stands for Triton's modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return stand_in

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it is there."""


def _asked_by_program() -> bool:
    """Whether the import that is under way stands in a program, and not in a library that could do without."""
    frame = sys._getframe(2)
    while frame.f_back and (frame.f_code.co_filename.startswith("<frozen") or "importlib" in frame.f_code.co_filename):
        frame = frame.f_back
    return _LIBRARIES.search(frame.f_code.co_filename) is None


class _WhenImported(MetaPathFinder):
    """Arranges for the interpreter when Triton is imported, so that nothing that needs neither waits for either."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "triton" or not (name == "triton" or self.stands_in):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name) if name == "triton" else None
        self.stands_in = spec is None
        if self.stands_in:
            sys.meta_path.insert(0, self)
            if not _asked_by_program() or name.removeprefix("triton") not in stand_in.NAMES:
                return None
            _without_gpu(importlib.import_module("torch"))
            importlib.import_module("torch.utils._triton").has_triton_package()  # it remembers the answer
            return ModuleSpec(name, _StandIn(), is_package=True)
        torch = importlib.import_module("torch")
        if spec is None or spec.loader is None or torch.cuda.is_available() or torch.xpu.is_available():
            return spec
        os.environ["TRITON_INTERPRET"] = "1"
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            _arrange(torch)

        spec.loader.exec_module = exec_module
        return spec

    stands_in = False


def forget_stand_in() -> None:
    """Leave no module that only stands for one of Triton to libraries that ask whether it is installed."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "triton" and module is stand_in:
            del sys.modules[name]


def interpret_triton() -> None:
    """Have kernels of Triton interpreted if it is imported from now on and no GPU is there."""
    if "triton" not in sys.modules and not any(isinstance(finder, _WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


def _arrange(torch: ModuleType) -> None:
    """Numbers among the arguments, functions that are imported by name, bfloat16 as numbers, and no device."""
    modules: tuple[ModuleType, ...] = tuple(
        importlib.import_module(f"triton.{name}")
        for name in ("runtime.interpreter", "language", "runtime.autotuner", "language.extra.libdevice")
    )
    interpreter, language, autotuner, libdevice = modules
    convert, execute = interpreter._implicit_cvt, interpreter.GridExecutor.__call__

    def converted(argument: object) -> object:
        if not isinstance(argument, float):
            return convert(argument)
        handle = interpreter.TensorHandle(np.array([argument], np.float32), language.float32)
        return language.tensor(handle, language.float32)

    def counted(self: object, *arguments: object, **named: object) -> object:
        _launches[0] += 1
        return execute(self, *arguments, **named)

    vars(interpreter)["_implicit_cvt"], interpreter.GridExecutor.__call__ = converted, counted
    _as_numbers(interpreter, language)
    for name, function in list(vars(language.math).items()):
        if language.core.is_builtin(function):
            free = _without_semantic(function, interpreter.interpreter_semantic)
            for module in (language.math, libdevice) if hasattr(libdevice, name) else (language.math,):
                setattr(module, name, free)
    autotuner.Autotuner.run = lambda self, *arguments, **named: self.fn.run(
        *arguments, **named, **self.configs[0].all_kwargs()
    )
    _without_gpu(torch)


def _without_gpu(torch: ModuleType) -> None:
    """Contexts that do nothing, and four processors."""
    if not torch.cuda.is_available():
        torch.cuda.device = lambda *_: contextlib.nullcontext()
        torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=4)


def _as_numbers(interpreter: ModuleType, language: ModuleType) -> None:
    """Rounds to bfloat16 to nearest and computes with its numbers: left alone, it cuts off and computes with bits."""
    cast, builder, short = interpreter._convert_float, interpreter.InterpreterBuilder, language.bfloat16

    def to_nearest(values: np.ndarray, given: object, wanted: object, mode: object) -> np.ndarray:
        if (given, wanted, mode) != (language.float32, short, None):
            return cast(values, given, wanted, mode)
        bits = values.view(np.uint32)
        nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        return np.where(np.isnan(values), bits >> 16 | 1, nearest).astype(np.uint16)

    def widened(operation: Callable[..., Any]) -> Callable[..., object]:
        def run(self: Any, *arguments: Any) -> object:
            *handles, function = arguments
            if handles[0].dtype.scalar != short:
                return operation(self, *arguments)
            result = operation(self, *(self.cast_impl(handle, language.float32) for handle in handles), function)
            truth = result.data.dtype == bool
            return interpreter.TensorHandle(result.data, short) if truth else self.cast_impl(result, short)

        return run

    def total(self: Any, given: Any) -> object:
        if given.dtype.scalar != short:
            return add(self, given)
        values = (given.handle.data.astype(np.uint32) << 16).view(np.float32)
        values = values.ravel() if self.axis is None else np.moveaxis(values, self.axis, 0)
        while len(values) > 1:  # a block has a power of 2 of them; halves are added, as threads do
            half = len(values) // 2
            bits = to_nearest(values[:half] + values[half:], language.float32, short, None)
            values = (bits.astype(np.uint32) << 16).view(np.float32)
        shape = [1] * given.handle.data.ndim if self.axis is None else np.expand_dims(values[0], self.axis).shape
        values = values[0].reshape(shape) if self.keep_dims else values[0]
        return self.to_tensor((np.ascontiguousarray(values).view(np.uint32) >> 16).reshape(values.shape), given.dtype)

    def one_by_one(scan: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, given: self.generic_scan([given]) if given.dtype.scalar == short else scan(self, given)

    add, interpreter.ReduceOps.sum = interpreter.ReduceOps.sum, total
    for name in ("cumsum", "cumprod"):
        setattr(interpreter.ScanOps, name, one_by_one(getattr(interpreter.ScanOps, name)))
    vars(interpreter)["_convert_float"] = to_nearest
    builder.unary_op, builder.binary_op = widened(builder.unary_op), widened(builder.binary_op)


def _without_semantic(function: Callable[..., object], semantic: object) -> Callable[..., object]:
    """A function of the language that may be called as it is imported, and is found by the interpreter as before."""

    def called(*arguments: object, **named: object) -> object:
        return function(*arguments, **{"_semantic": semantic} | {k: v for k, v in named.items() if v is not None})

    called.__triton_builtin__ = True  # pyright: ignore[reportFunctionMemberAccess]
    return called
