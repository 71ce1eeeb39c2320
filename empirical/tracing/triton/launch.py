"""Launches by programs that are traced: the kernel is found, its constants are any that it may get, and it is read."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

from .._sizes import FEATURE, Num
from .._torch import Size
from .._trace import Trace
from . import stand_in
from ._blocks import Pointer
from ._interpreter import Interpreter
from ._whole import Whole, quotient, symbol, whole

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_UNSEEN = "what Triton's compiler makes of a kernel, races, and what is not a number in lanes beyond a row"


class Arguments(dict[str, Any]):
    """What a program's own functions choose constants by: no state of the program."""


def _whole(trace: Trace, value: object) -> Whole:
    """A size of a wrapper as a whole number."""
    if isinstance(value, Num) and value.dim is not None:
        return symbol(*value.dim)
    return whole(value) if type(value) is int else trace.refuse(f"{value!r:.40} as a number of programs or elements")


def _any(trace: Trace, name: str, at: Callable[[int], int]) -> Num:
    """A whole number of which its name is all that is known, and that it is positive."""
    return Size(trace, trace.block(name, at), (name,))


def next_power_of_2(n: Num) -> Num:
    """The smallest power of 2 that is no smaller; of d, any number that is no smaller."""
    if n.dim != (FEATURE,):
        n.trace.refuse("the next power of 2 of something else than d")
    made = _any(n.trace, "pow2d", stand_in.next_power_of_2)
    if "pow2d" not in n.trace.assumed:
        n.trace.assumed.add("pow2d")
        n.trace.ground.assume(made.value - n.trace.ground.d, ">=")
    return made


def cdiv(a: Num | int, b: Num | int) -> Num:
    """⌈a/b⌉, of which one is traced."""
    trace = a.trace if isinstance(a, Num) else b.trace  # type: ignore[union-attr]
    ((names, _),) = quotient(_whole(trace, a), _whole(trace, b)).terms
    return Size(trace, None, names)


def _unwrapped(trace: Trace, kernel: Any) -> tuple[Any, dict[str, Any], list[Any], bool]:
    """The kernel itself, the constants that tuning gives it, and the heuristics around it."""
    constants, heuristics, tuned = dict[str, Any](), list[Any](), False
    while type(kernel).__name__ != "JITFunction":
        hooks = [getattr(each, "pre_hook", None) for each in (kernel, *getattr(kernel, "configs", ()))]
        if getattr(kernel, "reset_to_zero", None) or any(hooks):
            trace.refuse("memory is reset while a kernel is tuned")
        configs = [config.kwargs for config in getattr(kernel, "configs", ())]
        tuned |= len(configs) > 1
        for name in dict.fromkeys(name for config in configs for name in config):
            values = [config.get(name) for config in configs]
            if len(set(values)) == 1:
                constants[name] = values[0]
            elif all(type(value) is int and value > 0 for value in values):
                plain = f"tuned_{kernel.fn.__name__ if hasattr(kernel.fn, '__name__') else 'kernel'}_{name}"
                constants[name] = _any(trace, plain, lambda _, first=values[0]: first)
            else:
                trace.refuse(f"the constant {name} is tuned")
        heuristics += [kernel.values] if hasattr(kernel, "values") else []
        if not hasattr(kernel, "fn"):
            trace.refuse(f"{type(kernel).__name__} is launched")
        kernel = kernel.fn
    return kernel, constants, heuristics, tuned


def _argument(trace: Trace, value: Any) -> Any:
    """An argument of a launch as its kernel sees it."""
    if hasattr(value, "arr"):
        return Pointer(value.arr, whole(0))
    if isinstance(value, Num):
        return value if value.dim is None else symbol(*value.dim)
    if value is None or type(value) in (bool, int, float):
        return value
    return trace.refuse(f"a {type(value).__name__} is given to a kernel")


def launched(trace: Trace, kernel: Any, grid: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Follow a launch: what its programs write is then what the arrays hold."""
    kernel, constants, heuristics, tuned = _unwrapped(trace, kernel)
    signature = inspect.signature(kernel.fn)
    options = {name for name in named if name not in signature.parameters}
    if options - set(_OPTIONS):
        trace.refuse(f"a launch with {', '.join(sorted(options))}")
    given = {name: value for name, value in named.items() if name in signature.parameters}
    try:
        bound = signature.bind_partial(*arguments, **given).arguments
        if bound.keys() & constants.keys():
            trace.refuse("a tuned constant is given")
        bound |= constants
        for values in heuristics:
            bound |= {name: choose(Arguments(bound)) for name, choose in values.items()}
        whole_call = signature.bind(**bound)
        whole_call.apply_defaults()
    except TypeError as error:
        trace.refuse(f"a launch that does not fit its kernel: {error}")
    sizes = grid(Arguments(whole_call.arguments)) if callable(grid) else grid
    sizes = sizes if isinstance(sizes, tuple | list) else (sizes,)
    programs, *more = (_whole(trace, size) for size in sizes)
    if any(size.number != 1 for size in more):
        trace.refuse("programs are numbered along two axes")
    trace.unexamined.add(_UNSEEN)
    trace.launched = True
    taken = {name: _argument(trace, value) for name, value in whole_call.arguments.items()}
    Interpreter(trace, programs, tuned).call(kernel.fn, taken)
    trace.line = ""


@contextlib.contextmanager
def launching(trace: Trace) -> Iterator[None]:
    """A block in which launches are followed and the functions around them take sizes."""
    device = SimpleNamespace(multi_processor_count=Size(trace, None, ("SM",)))
    with contextlib.ExitStack() as stack:
        nothing = {"device": lambda *_: contextlib.nullcontext(), "get_device_properties": lambda *_: device}
        stack.enter_context(mock.patch.multiple(torch.cuda, **nothing))
        real = sys.modules.get("triton")
        if real is not None and hasattr(real, "runtime"):
            stack.enter_context(mock.patch.object(real.runtime.jit.KernelInterface, "__getitem__", stand_in.launcher))
            sizes = {name: getattr(stand_in, name) for name in ("cdiv", "next_power_of_2")}
            stack.enter_context(mock.patch.multiple(real, **sizes))
        yield
