"""Allow-list of the calls and globals that a traced program may use."""

import builtins
import contextlib
import dis
import functools
import gc
import itertools
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from logging import Logger
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy

from .sizes import Num
from .trace import OURS, Trace

_LISTS = re.findall(r"(\w+):([^:]*)(?=^\w|\Z)", Path(__file__).with_name("known.txt").read_text(encoding="utf-8"), re.M)
KNOWN = {name: frozenset(words.split()) for name, words in _LISTS}
"""Names of what depends on its arguments alone, or prints: builtins, modules, and functions of NumPy and PyTorch.

Exceptions are allowed too. A module covers its submodules, for PyTorch, NumPy and JAX as far as they are listed.
"""
_WHOLE = re.compile(r"(torch\.(nn|autograd|jit|amp|compiler)|numpy\.(lib|linalg|_?core)|jax\._src\.\w+|"
                    r"jax\.(numpy|lax|nn)|flax|keras|haiku|equinox|einops|jaxtyping|opt_einsum|ml_dtypes|collections|logging|re|"
                    r"packaging)\.")  # fmt: skip
_OUTSIDE = re.compile(r"torch\.(nn\.parallel|autograd\.profiler|nn\.attention)|keras\.src\.random")
_FRAMEWORKS = KNOWN["frameworks"]
_HIDDEN = re.compile(
    r"__(?!init|call|version|post_init|name|annotations|doc|setattr|torch_function)\w+__$|grad_fn$|is_leaf$|_version$|"
    r"(tb|f|gi|cr|ag)_(frame|back|code|globals|locals)$"
)
"""Attributes by which a program inspects itself or its arguments instead of computing."""
_BY_NAME = re.compile(r"torch$|numpy(?!\.lib\.mixins$)")
"""Modules with functions that answer from a state: their functions are on an allow-list of their own."""
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_STORES = (dict, list, set, frozenset, tuple, MappingProxyType)
_LIBRARY = str(Path(os.__file__).parent)
_HOUSE = str(Path(__file__).parents[1])
_SITE = re.compile(r"/(site|dist)-packages/(\w+)")


def _house(module: str) -> bool:
    """Whether a module is of this package, and not of another one of its name."""
    return (getattr(sys.modules.get(module), "__file__", None) or "").startswith(_HOUSE)


@functools.cache
def kind_of(file: str) -> str:
    """Whose code a file has: it is ``ours``, a ``framework``'s, the ``standard`` library's, or the ``program``'s."""
    if file.startswith(OURS):
        return "ours"
    if file.startswith(("<frozen", "<__array_function__")):
        return "standard"
    package = _SITE.search(file)
    if package:
        return "framework" if package[2] in _FRAMEWORKS else "program"
    return "standard" if file.startswith(_LIBRARY) else "program"


def kind(frame: FrameType) -> str:
    """Whose code a frame runs."""
    file = frame.f_code.co_filename
    if file != "<string>":
        return kind_of(file)
    module = frame.f_globals.get("__name__", "")
    root = module.partition(".")[0]
    if root == "lngeom":  # a dataclass of this library, whose methods are compiled from strings
        return "ours"
    return "framework" if root in _FRAMEWORKS else "program"


def _own(module: str) -> bool:
    """Whether a module is the program's own."""
    root = module.partition(".")[0]
    return root not in _FRAMEWORKS and root not in sys.stdlib_module_names


def _known_module(name: str) -> bool:
    """Whether a module is on the allow-list, or the program's own."""
    root = name.partition(".")[0]
    if _own(name):  # its functions are looked at when they run
        return True
    plain = root.lstrip("_") if root in sys.stdlib_module_names else name
    return (bool({plain, name} & KNOWN["modules"]) or _WHOLE.match(name) is not None) and not _OUTSIDE.match(name)


class World:
    """The reads of one run beside its arguments, and its side effects."""

    def __init__(self, trace: Trace, knows: Callable[[str], bool]) -> None:
        self.trace, self.knows = trace, knows
        self.seen: set[CodeType] = set()
        self.kept: list[tuple[str, object, object]] = []
        self.catches: list[str] = []
        self.fresh: list[object] = []
        self.built, self.line = False, 0

    def refuse(self, what: str, frame: FrameType, *, lasting: bool = False) -> None:
        """Note a refusal at a line of the program."""
        line = self.line or frame.f_lineno
        self.trace.refused(f"it {what} ({Path(frame.f_code.co_filename).name}:{line})", lasting=lasting)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """A block in which the program runs; a repeated run was watched before."""
        before, traced, collects = sys.getprofile(), sys.gettrace(), gc.isenabled()
        gc.disable()  # what runs whenever garbage is collected, such as Hypothesis' clock, is not the program's
        for function in _RESULTS:
            function.cache_clear()
        if self.trace.replayed is None:
            sys.setprofile(self._profile)
            sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.setprofile(before)
            sys.settrace(traced)
            for function in _RESULTS:
                function.cache_clear()
            if collects:
                gc.enable()

    def close(self) -> None:
        """Refuse a program with side effects, or that catches refusals."""
        for name, value, before in self.kept:
            if _fingerprint(value) != before:
                self.trace.refused(f"it changes {name}, which outlives the call", lasting=True)
        for text in self.catches:
            self.trace.refused(text)

    def _trace(self, frame: FrameType, event: str, raised: Any) -> Any:
        """Note what is raised in a function of the program that catches exceptions: a refusal is one as well."""
        if event == "exception":
            self.catches.append(f"{frame.f_code.co_qualname} catches exceptions")
        frame.f_trace_lines = False
        return self._trace if event != "call" or (_catches(frame.f_code) and kind(frame) == "program") else None

    def _profile(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":  # a framework may call what it likes
            if kind(frame) == "program" and not self._known(called):
                self.refuse(f"calls {getattr(called, '__qualname__', called)}", frame)
        elif event == "call":
            whose = kind(frame)
            if whose == "program":
                if frame.f_code.co_name == "__init__" and self.built:  # an object of this call alone may change
                    made = frame.f_locals[frame.f_code.co_varnames[0]]
                    if all(made is not known for _, known, _ in self.kept):  # one that is made again outlives it
                        self.fresh.append(made)
                if frame.f_code not in self.seen:
                    self._enter(frame)
            elif whose != "ours" and frame.f_back is not None and kind(frame.f_back) == "program":
                module = frame.f_globals.get("__name__", "")
                name = frame.f_code.co_name.removeprefix("_").removesuffix("_dispatcher")
                if not _known_module(module) or (_BY_NAME.match(module) is not None and not self.knows(name)):
                    self.refuse(f"calls {module}.{frame.f_code.co_qualname}", frame.f_back)

    def _known(self, function: Any) -> bool:
        """Whether a function written in C depends on its arguments alone, or is looked up in a table when it runs."""
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if isinstance(owner, ModuleType):
            module = owner.__name__
            if module == "builtins":
                return name in KNOWN["builtins"] or name == "__build_class__"
            return self.knows(name) if module.partition(".")[0] in ("torch", "numpy") else _known_module(module)
        module = (owner if isinstance(owner, type) else type(owner)).__module__
        if module in ("builtins", "collections", "functools", "itertools"):
            return owner is not None or self.knows(name)  # methods of containers; the arguments were looked at
        by_name = _house(module) or module.partition(".")[0] in ("torch", "numpy")
        return self.knows(name) if by_name else _known_module(module)

    def _enter(self, frame: FrameType) -> None:
        """Look at a function of the program before it first runs: its names and its contents."""
        code, names = frame.f_code, frame.f_locals
        self.seen.add(code)
        self.trace.report.sources[code.co_qualname] = code
        self.trace.report.written.update(_integers(code.co_consts))
        for name in code.co_freevars:
            if name in names and name != "__class__":
                self._read(name, names[name], frame)
        self._instructions(frame)
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value = names.get(name)
            own = [cls for cls in type(value).__mro__ if _kind_of(cls) == "program"]
            if self.built and (own or type(value) in (dict, list, set)):
                self._keep(name, value)
            for cls in own:
                self._keep(cls.__name__, cls)

    def _instructions(self, frame: FrameType) -> None:
        """What a function's code writes, catches, imports and names."""
        code, steps = frame.f_code, _steps(frame.f_code)
        if _catches(code):
            self.trace.report.unexamined.add(f"where {code.co_qualname} catches an exception")
        for k, (operation, argument, self.line) in enumerate(steps):
            kept = operation.endswith("_GLOBAL") or (operation.endswith("_DEREF") and argument in code.co_freevars)
            if kept and operation.startswith(("STORE", "DELETE")):  # the next call would be of another program
                self.refuse(f"writes {argument}, which outlives the call", frame, lasting=True)
            elif operation == "IMPORT_NAME" and not _known_module(argument):
                self.refuse(f"imports {argument}", frame)
            elif operation == "IMPORT_NAME" and _own(argument):
                self.trace.report.given[argument or "a module of its package"] = "what is imported while it runs"
            elif operation in (*_ATTRIBUTES, "LOAD_CONST") and isinstance(argument, str) and _HIDDEN.match(argument):
                self.refuse(f"looks at {argument}", frame)
            elif operation in ("LOAD_GLOBAL", "LOAD_NAME"):
                further = itertools.takewhile(lambda step: step[0] in _ATTRIBUTES, steps[k + 1 :])
                self._follow([argument, *(attribute for _, attribute, _ in further)], frame)
        self.line = 0

    def _follow(self, chain: list[str], frame: FrameType) -> None:
        """A global and its attributes, as far as modules, classes and objects of the program reach."""
        name = chain[0]
        if name not in frame.f_globals:  # a builtin, or an error when it runs
            value = getattr(builtins, name, None)
            known = name in KNOWN["builtins"] or (isinstance(value, type) and issubclass(value, BaseException))
            if value is not None and not known:
                self.refuse(f"uses {name}", frame)
            return
        value, path = frame.f_globals[name], name
        for attribute in chain[1:]:
            steps_in = isinstance(value, ModuleType | type | FunctionType) or type(value).__module__ == "types"
            if not (steps_in or _kind_of(type(value)) == "program") or not hasattr(value, attribute):
                break
            if isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in _FRAMEWORKS:
                self._read(path, value, frame)
            self._keep(path, value)
            value, path = getattr(value, attribute), f"{path}.{attribute}"
        self._read(path, value, frame)
        if isinstance(value, ModuleType) and _own(value.__name__):
            self.trace.report.given[path] = "a module"

    def _read(self, path: str, value: Any, frame: FrameType) -> None:
        """Something that is no argument: a constant is named, a function is looked at when it runs."""
        if type(value).__name__ == "PjitFunction":  # what jax.jit makes of a function
            value = value.__wrapped__
        if isinstance(value, functools._lru_cache_wrapper) and _kind_of(value) == "program":
            _RESULTS.add(value)
            value.cache_clear()
            value = value.__wrapped__
        while isinstance(value, MethodType | functools.partial | staticmethod | classmethod):
            value = value.func if isinstance(value, functools.partial) else value.__func__
        if isinstance(value, ModuleType):
            known = _known_module(value.__name__)
        elif value is contextlib.suppress:
            known = False  # it would catch a refusal unseen
        elif isinstance(value, type | FunctionType):
            module = value.__module__ or ""  # a framework's function is seen when it runs, and so is a kind of tensor
            late = isinstance(value, FunctionType) or type(value).__name__ == "_TensorMeta"
            late = late and module.partition(".")[0] in _FRAMEWORKS
            known = late or _known_module(module)
        else:
            known = self._known(value) if isinstance(value, BuiltinFunctionType) else self._given(path, value)
        if not known:
            self.refuse(f"uses {path}, a {type(value).__name__}", frame)
        elif _kind_of(value) == "program":
            self._keep(path, value)

    def _given(self, path: str, value: Any) -> bool:
        """Whether an object is one whose value is told, or that has none."""
        kind = type(value)
        if _traced(value) or isinstance(value, Logger):
            return True
        if kind in _PLAIN or kind in _STORES or isinstance(value, numpy.generic | numpy.ndarray):
            if not path.startswith(("math.", "np.", "numpy.")):  # π is no setting
                self.trace.report.given[path] = " ".join(repr(value).split())[:60]
            self.trace.report.written.update(_integers([value]))
            if isinstance(value, set | frozenset) and sum(isinstance(one, str) for one in value) > 1:
                self.trace.report.unexamined.add(f"another PYTHONHASHSEED, which orders the set {path}")
        elif _kind_of(kind) == "program" or kind.__module__ == "collections":
            self.trace.report.given[path] = f"a {kind.__name__}"
        else:
            return _known_module(kind.__module__) and kind.__module__ not in ("functools", "builtins", "itertools")
        self._keep(path, value)
        return True

    def _keep(self, name: str, value: object) -> None:
        old = all(value is not known for known in [*(known for _, known, _ in self.kept), *self.fresh])
        if not isinstance(value, ModuleType) and old:
            self.kept.append((name, value, _fingerprint(value)))


_RESULTS = weakref.WeakSet[Any]()
"""Functions of programs that remember their results, which are of one run."""


@functools.cache
def _catches(code: CodeType) -> bool:
    """Whether a function catches exceptions."""
    names = [name for name, *_ in _steps(code)]
    return "CHECK_EXC_MATCH" in names or ("PUSH_EXC_INFO", "POP_TOP") in itertools.pairwise(names)


@functools.cache
def _steps(code: CodeType) -> list[tuple[str, Any, int]]:
    steps = dis.get_instructions(code)
    return [(step.opname, step.argval, (step.positions and step.positions.lineno) or 0) for step in steps]


def _kind_of(value: Any) -> str:
    """Whose a class or a function is."""
    module = getattr(value, "__module__", None) or "builtins"
    root = module.partition(".")[0]
    return "framework" if root in _FRAMEWORKS or root in sys.stdlib_module_names or _house(module) else "program"


def _traced(value: object) -> bool:
    """Whether a value is one of a trace."""
    return type(value).__module__.startswith(__name__.rpartition(".")[0])


def _integers(values: Any, depth: int = 0) -> Iterator[int]:
    """The whole numbers above 1 among constants."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool | Num) and value > 1:
            yield value
        if isinstance(value, list | tuple | set | frozenset | dict) and depth < 3 and len(value) < 4096:
            yield from _integers(value, depth + 1)
            yield from _integers(value.values(), depth + 1) if isinstance(value, dict) else ()


def _fingerprint(value: Any, depth: int = 0) -> object:
    """What of an object would differ if a program changed it."""
    if type(value) in _PLAIN or depth > 5:
        return value if type(value) in _PLAIN else id(value)
    below = functools.partial(_fingerprint, depth=depth + 1)
    if isinstance(value, dict | MappingProxyType):
        return [(id(key), below(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return type(value), [below(item) for item in value]
    if isinstance(value, numpy.ndarray):
        return id(value), value.tobytes()
    if _traced(value):
        return id(value), id(getattr(getattr(value, "arr", None), "value", None))
    if type(value).__module__.partition(".")[0] == "triton":
        return id(value), below(getattr(value, "fn", None))
    if isinstance(value, type):
        return [(name, below(item)) for name, item in vars(value).items() if not name.startswith("__")]
    own = getattr(value, "__dict__", None)
    extra = (below(value.__defaults__), below(value.__kwdefaults__)) if isinstance(value, FunctionType) else ()
    version = getattr(value, "_version", None)
    if own is None or isinstance(value, ModuleType):
        return id(value), version, repr(value) if type(value).__module__ in ("collections", "itertools") else None
    return id(value), version, below(own), extra
