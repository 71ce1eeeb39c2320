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
from types import ModuleType, SimpleNamespace
from typing import Any

from .._tracing.triton import BeyondEnd

_STAND_IN = f"{BeyondEnd.__module__}.stand_in"
_PARTS = ("", ".language", ".language.math", ".language.extra", ".language.extra.libdevice", ".language.extra.cuda",
          ".language.extra.cuda.libdevice")  # fmt: skip
_LIBRARIES = re.compile(r"/site-packages/(torch|transformers|accelerate|jax|keras|numpy|scipy)/")


def launches() -> int:
    """How many launches of kernels Python has run in this process."""
    return sys.modules[_STAND_IN].launches[0] if _STAND_IN in sys.modules else 0


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
"""What stands in for functions of PyTorch once a program has imported Triton, beside what was there."""


@contextlib.contextmanager
def without_gpu(stands_in: bool = True) -> Iterator[None]:
    """A check, after which the functions of PyTorch are its own again; or a part of one in which they are."""
    try:
        for (owner, name), functions in _REPLACED.items():
            setattr(owner, name, functions[stands_in])
        yield
    finally:
        for (owner, name), functions in _REPLACED.items():
            setattr(owner, name, functions[not stands_in])


def _on_cpu(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes tensors: those for a GPU too, which there is not."""
    return functools.wraps(make)(
        lambda *given, device=None, **options: make(*given, device=None if "cuda" in str(device) else device, **options)
    )


def _run_by_python(triton: Any = None) -> None:
    """Without a GPU: contexts of devices do nothing, tensors are on the CPU, and there are four processors."""
    torch = importlib.import_module("torch")
    if not (torch.cuda.is_available() or torch.xpu.is_available()):
        ours = {
            (torch.cuda, "device"): lambda *_: contextlib.nullcontext(),
            (torch.cuda, "get_device_properties"): lambda *_: SimpleNamespace(multi_processor_count=4),
        }
        makers = (f"{kind}{like}" for kind in ("empty", "zeros", "ones", "full") for like in ("", "_like"))
        ours |= {(torch, name): _on_cpu(getattr(torch, name)) for name in makers}
        for (owner, name), function in ours.items():
            setattr(owner, name, _REPLACED.setdefault((owner, name), (getattr(owner, name), function))[1])
        if hasattr(triton, "runtime"):
            triton.runtime.jit.KernelInterface.__getitem__ = importlib.import_module(_STAND_IN).launcher
