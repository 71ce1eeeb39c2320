"""Launches by programs that are traced: the kernel is found, its constants are any that it may get, and it is read."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from .._sizes import FEATURE, Num
from .._torch import Size
from .._trace import Trace
from ._blocks import Pointer
from ._interpreter import Interpreter
from ._whole import Whole, quotient, symbol, whole

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_UNSEEN = "what Triton's compiler makes of a kernel, races, and what is not a number in lanes beyond a row"


class Arguments(dict[str, Any]):
    """What a program's own functions choose constants by."""


def _whole(trace: Trace, value: object) -> Whole:
    """A size of a wrapper as a whole number."""
    if isinstance(value, Num) and value.dim is not None:
        return symbol(*value.dim)
    return whole(value) if type(value) is int else trace.refuse(f"{value!r:.40} as a number of programs or elements")


def _any(trace: Trace, name: str, at: Callable[[int], int]) -> Num:
    """A whole number of which its name is all that is known, and that it is positive."""
    return Size(trace, trace.block(name, at), (name,))


def _power(n: int) -> int:
    """The smallest power of 2 that is no smaller."""
    return 1 << (n - 1).bit_length()


def next_power_of_2(n: Num | int) -> Num | int:
    """The smallest power of 2 that is no smaller; of d, any number that is no smaller."""
    if not isinstance(n, Num):
        return _power(n)
    if n.dim != (FEATURE,):
        n.trace.refuse("the next power of 2 of something else than d")
    made = _any(n.trace, "pow2d", _power)
    if "pow2d" not in n.trace.assumed:
        n.trace.assumed.add("pow2d")
        n.trace.ground.assume(made.value - n.trace.ground.d, ">=")
    return made


def cdiv(a: Num | int, b: Num | int) -> Num | int:
    """⌈a/b⌉."""
    found = next((value for value in (a, b) if isinstance(value, Num)), None)
    if found is None:
        return -(-a // b)
    made = quotient(_whole(found.trace, a), _whole(found.trace, b))
    (names,) = (monomial for monomial, _ in made.terms)
    return Size(found.trace, None, names)


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


def _item(kernel: Any, grid: Any) -> Callable[..., Any]:
    """A kernel with a grid, ready to be launched."""

    def launch(*arguments: Any, **named: Any) -> None:
        arr = next(value.arr for value in (*arguments, *named.values()) if hasattr(value, "arr"))
        launched(arr.trace, kernel, grid, arguments, named)

    return launch


def _no_device(*_: object) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


class _Device:
    """A GPU with an arbitrary number of processors."""

    def __init__(self, trace: Trace) -> None:
        self.multi_processor_count = Size(trace, None, ("SM",))


@contextlib.contextmanager
def launching(trace: Trace) -> Iterator[None]:
    """A block in which launches are followed and the functions around them take sizes."""
    patches: list[Any] = [
        mock.patch.multiple(torch.cuda, device=_no_device, get_device_properties=lambda *_: _Device(trace))
    ]
    real = sys.modules.get("triton")
    if real is not None and hasattr(real, "runtime"):
        patches += [
            mock.patch.object(real.runtime.jit.KernelInterface, "__getitem__", _item),
            mock.patch.multiple(real, cdiv=cdiv, next_power_of_2=next_power_of_2),
        ]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield
