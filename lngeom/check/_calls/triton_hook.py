"""A hook on imports: without a GPU, Python runs the kernels of Triton, whether Triton is installed or not."""

import contextlib
import functools
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .._tracing.allowed import kind
from .._tracing.triton import BeyondEnd

_STAND_IN = f"{BeyondEnd.__module__}.stand_in"
_PARTS = ("", ".language", ".language.math", ".language.extra", ".language.extra.libdevice", ".language.extra.cuda",
          ".language.extra.cuda.libdevice")  # fmt: skip
_NEW = "empty", "zeros", "ones", "full", "tensor"
_MAKERS = (*(a + b for a in (*_NEW[:4], "rand", "randn") for b in ("", "_like")), "arange", "tensor", "as_tensor",
           "asarray", "eye", "linspace", "logspace", "randint", "randperm", "scalar_tensor")  # fmt: skip
"""Functions of PyTorch that make tensors on a device."""
_LIBRARIES = re.compile(r"/site-packages/(torch|transformers|accelerate|jax|keras|numpy|scipy)/")


def launches() -> int:
    """How many launches of kernels Python has run in this process."""
    return sys.modules[_STAND_IN].launches[0] if _STAND_IN in sys.modules else 0


def has_kernels() -> bool:
    """Whether a program of this process has kernels, which other calls may launch."""
    return _STAND_IN in sys.modules and sys.modules[_STAND_IN].has_kernels[0]


class _StandIn(Loader):
    """Loads the stand-ins for Triton and for the modules of its language."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made = importlib.import_module(_STAND_IN)
        return made if spec.name == "triton" else made.language

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it is there."""


def _asked_by_program() -> bool:
    """Whether a program imports it, and not a library for which Triton is optional."""
    frame = sys._getframe(2)
    while frame.f_back and (frame.f_code.co_filename.startswith("<frozen") or "importlib" in frame.f_code.co_filename):
        frame = frame.f_back
    return _LIBRARIES.search(frame.f_code.co_filename) is None


class _WhenImported(MetaPathFinder):
    """Acts only when Triton is imported, so that other checks do not wait for it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "triton" or not (name == "triton" or self.stands_in):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name) if name == "triton" else None
        self.stands_in = spec is None
        if self.stands_in:
            sys.meta_path.insert(0, self)
            if not _asked_by_program() or name.removeprefix("triton") not in _PARTS:
                return None
            _run_by_python()
            importlib.import_module("torch.utils._triton").has_triton_package()  # it remembers the answer
            return ModuleSpec(name, _StandIn(), is_package=True)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (load(module), _run_by_python(module))[0]
        return spec

    stands_in = False


def forget_stand_in() -> None:
    """Remove the stand-ins, so that libraries that ask for Triton do not find them."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "triton" and isinstance(getattr(module.__spec__, "loader", None), _StandIn):
            del sys.modules[name]


def interpret_triton() -> None:
    """Have Python run the kernels of Triton if there is no GPU."""
    if "triton" in sys.modules:
        _run_by_python(sys.modules["triton"])
    elif not any(isinstance(finder, _WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


_REPLACED: dict[tuple[Any, str], tuple[Any, Any]] = {}
"""What was there of functions of PyTorch, and what stands in for it once a program has imported Triton."""
_STANDS_IN = [False]


def _replace(stands_in: bool) -> None:
    _STANDS_IN[0] = stands_in
    for (owner, name), functions in _REPLACED.items():
        setattr(owner, name, functions[stands_in])


@contextlib.contextmanager
def without_gpu(stands_in: bool = True) -> Iterator[None]:
    """A check, after which the functions of PyTorch are its own again; or a part of one in which they are."""
    before = _STANDS_IN[0]
    try:
        yield _replace(stands_in)
    finally:
        _replace(before)


def _on_cpu(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes tensors: those for a GPU too, which there is not."""

    def place(value: Any) -> Any:
        return "cpu" if type(value).__name__ in ("str", "device") and str(value).startswith("cuda") else value

    return functools.wraps(make)(
        lambda *given, **options: make(*map(place, given), **{name: place(one) for name, one in options.items()})
    )


class _Told(property):
    """A question of a tensor: a program is told what it would be on a GPU, a trace is asked itself."""

    def __init__(self, own: Any, told: Any) -> None:
        super().__init__(lambda x: own.__get__(x) if hasattr(x, "arr") or kind(sys._getframe(1)) != "program" else told)
        self.__name__ = own.__name__  # by which PyTorch hands it over


def _run_by_python(triton: Any = None) -> None:
    """Without a GPU: contexts of devices do nothing, tensors are on the CPU, and there are four processors."""
    torch = importlib.import_module("torch")
    if not (torch.cuda.is_available() or torch.xpu.is_available()):
        stand_in = importlib.import_module(_STAND_IN)
        ours: dict[tuple[Any, str], Any] = {(torch.cuda, name): answer for name, answer in stand_in.gpu(4).items()}
        ours[torch.library, "wrap_triton"] = lambda kernel: kernel
        ours |= {(torch, name): _on_cpu(getattr(torch, name)) for name in _MAKERS}
        ours |= {
            (torch.Tensor, name): _on_cpu(getattr(torch.Tensor, name)) for name in ("to", *map("new_{}".format, _NEW))
        }
        ours |= {(torch.Tensor, n): _Told(getattr(torch.Tensor, n), answer) for n, answer in stand_in.ON_GPU.items()}
        _REPLACED.update({key: (getattr(*key), function) for key, function in ours.items() if key not in _REPLACED})
        _replace(_STANDS_IN[0])
        if hasattr(triton, "runtime"):
            triton.runtime.jit.KernelInterface.__getitem__ = stand_in.launcher
