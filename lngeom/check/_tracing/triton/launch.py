"""Launches by programs that are traced: a kernel's constants are any that it may get, and it runs on any program."""

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from ..grounds import unwatched
from ..sizes import Num, at_of
from ..tensors import Size
from ..trace import Refusal, Trace
from . import stand_in
from .blocks import Pointer
from .memory import Accesses
from .reading import ADDED, ADDS, COMPARED, GONE, STEPPED, SUM, read
from .whole import PROGRAM, SECOND, Value, Whole, product, quotient, running, symbol, whole

_UNSEEN = "what Triton's compiler makes of a kernel, races, and what is not a number in lanes beyond a row"


def _whole(trace: Trace, value: object) -> Whole:
    if isinstance(value, Num) and value.dim is not None:
        return product(value.dim)
    return whole(value) if type(value) is int else trace.refuse(f"{value!r:.40} as a number of programs or elements")


def next_power_of_2(n: Num) -> Num:
    """The smallest power of 2 that is no smaller than d, or than a whole number that a kernel gets: any such number."""
    trace, name, at = n.trace, f"pow2{'·'.join(n.dim or ())}", at_of(n)
    if at is None or n.value is None:
        return trace.refuse("the next power of 2 of something else than d")
    known = name in trace.symbols.blocks
    made = trace.symbols.block(name, lambda d: stand_in.next_power_of_2(at(d)), False)
    if not known:
        trace.ground.assume(made - n.value, ">=")
    return Size(trace, made, (name,))


def cdiv(a: Num | int, b: Num | int) -> Num:
    """⌈a/b⌉, where one is traced."""
    trace = a.trace if isinstance(a, Num) else b.trace  # type: ignore[union-attr]
    trace.never(any(type(n) is int and n < 1 for n in (a, b)), f"{a!r} is divided by {b!r}")
    ((names, _),) = quotient(_whole(trace, a), _whole(trace, b)).terms
    of_a, of_b = at_of(a), at_of(b)
    value = trace.symbols.block(names[0], lambda d: -(-of_a(d) // (of_b(d) or 1))) if of_a and of_b else None
    return Size(trace, value, names)


def _called(launch: Accesses, function: Any, *given: Any, **named: Any) -> Any:
    """A function of Triton, run by Python; its globals are the language, other kernels, and numbers, all noted."""
    hides = function.__globals__.keys() & {"range", "float", "min"}
    taken = {n for n, v in inspect.getclosurevars(function).nonlocals.items() if not stand_in.is_language(v)}
    launch.never(taken or hides, "a kernel that reads names of the function around it")
    bound = inspect.signature(function).bind(*given, **named)
    bound.apply_defaults()
    launch.trace.report.sources[function.__qualname__] = function.__code__
    found = stand_in.names_of(function, lambda other: lambda *a, **named: _called(launch, other, *a, **named))
    for name in {*function.__code__.co_names} & function.__globals__.keys():
        value = getattr(function.__globals__[name], "value", function.__globals__[name])  # of a constexpr
        if type(value) in (bool, int, float):
            found[name] = value
            launch.trace.report.given[name] = repr(value)
    found |= {"__builtins__": {}, "float": lambda value: value, "range": launch.turns, "min": launch.least}
    found |= {ADDED: lambda name, value: launch.terms[-1].setdefault(name, []).append(value), SUM: launch.after_turns}
    found |= {ADDS: lambda name: name in launch.ended[1], COMPARED: launch.compared, STEPPED: launch.stepped}
    found[GONE] = Value()
    exec(read(function, launch.trace.refuse), found)
    return found[function.__name__](**bound.arguments)


def launched(trace: Trace, kernel: Any, grid: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Follow a launch: the arrays then hold its results."""
    *around, function = stand_in.chain_of(kernel)
    trace.never(not inspect.isfunction(function), f"{type(function).__name__} is launched")
    parts = [one for each in around for one in (each, *getattr(each, "configs", ()))]
    hooks = [getattr(one, "user_defined_pre_hook", getattr(one, "pre_hook", None)) for one in parts]
    hooks += [getattr(one, name, None) for one in parts for name in ("reset_to_zero", "restore_value")]
    trace.never(any(hooks), "memory is reset while a kernel is tuned")
    trace.never(any(map(stand_in.pruned_by, around)), "a function of the program leaves out configurations")

    def tuned(name: str, values: list[Any]) -> Any:
        if len(set(values)) == 1:
            return values[0]
        trace.never(not all(type(value) is int and value > 0 for value in values), f"the constant {name} is tuned")
        plain = f"tuned_{function.__name__}_{name}"
        return Size(trace, trace.symbols.block(plain, lambda _: values[0]), (plain,))

    given, constant, (programs, *more) = stand_in.prepared(kernel, grid, arguments, named, tuned)
    options = {name: value for name, value in named.items() if name not in given}
    unknown = sorted(options.keys() - {"num_warps", "num_stages", "num_ctas", "maxnreg"})
    trace.never(unknown, f"a launch with {', '.join(unknown)}")
    grid, *more = [_whole(trace, size) for size in (programs, *more)]
    second = more[0] if more and more[0].number != 1 else None
    trace.never(any(size.number != 1 for size in more[1:]), "programs are numbered along three axes")
    named_in = grid.symbols.union(*(size.symbols for size in more)) & trace.symbols.blocks.keys()
    signs = [trace.ground.sign(trace.symbols.block(name, *trace.symbols.blocks[name]), ">") for name in named_in]
    trace.never(trace.replayed is None and not all(signs), f"a launch of {grid} programs, which may be none")
    trace.report.unexamined.add(_UNSEEN)
    launch = Accesses(trace, grid, any(len(getattr(each, "configs", ())) > 1 for each in around), second)
    trace.kernels.launches.append(launch)
    taken = {name: _argument(launch, value, name in constant) for name, value in given.items()}
    launch.kernel, launch.options = function.__name__, {name: repr(value) for name, value in options.items()}
    launch.given = {name: str(getattr(getattr(one, "arr", one), "dtype", one)) for name, one in taken.items()}
    running.append(launch)
    ids = PROGRAM, whole(0) if second is None else symbol(SECOND), whole(0)
    stand_in.programs.append((ids, (grid, whole(1) if second is None else second, whole(1))))
    try:
        with unwatched():  # a kernel finds nothing around it but what it is given here
            _called(launch, function, **taken)
    except Exception as error:
        if isinstance(error, Refusal):
            raise
        trace.refuse(f"what is not followed in a kernel: {error}", stand_in.place_of(error))
    finally:
        running.pop()
        stand_in.programs.pop()


def _argument(launch: Accesses, value: Any, constant: bool) -> Any:
    """An argument of a launch as its kernel sees it."""
    if isinstance(value, tuple):
        return tuple(_argument(launch, one, constant) for one in value)
    if hasattr(value, "arr"):
        launch.formats.add(value.arr.dtype)
        return Pointer(value.arr, whole(0))
    if isinstance(value, Num) or (type(value) in (int, float) and not constant):
        is_size = type(value) is int or getattr(value, "dim", None) is not None
        return _whole(launch.trace, value) if is_size else launch.data(value)
    known = value is None or type(value) in (bool, int, float, torch.dtype, *([str] if constant else ()))
    what = "an array of numbers, such as locks," if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
    return value if known else launch.refuse(f"{what} is given to a kernel")


@contextlib.contextmanager
def launching(trace: Trace) -> Iterator[None]:
    """A block in which launches are followed and the functions around them take sizes."""
    answers = stand_in.gpu(Size(trace, None, ("SM",)), trace.report.given.__setitem__)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.multiple(torch.cuda, **answers))
        stack.enter_context(mock.patch.multiple(torch, randint=lambda *_, **__: trace.refuse("random numbers")))
        real = sys.modules.get("triton")
        if real is not None and hasattr(real, "runtime"):
            stack.enter_context(mock.patch.object(real.runtime.jit.KernelInterface, "__getitem__", stand_in.launcher))
            ours = {"cdiv": stand_in.language.cdiv, "next_power_of_2": stand_in.next_power_of_2}
            sized, kind = [(getattr(real, name), function) for name, function in ours.items()], type(real.cdiv)
            stack.enter_context(mock.patch.multiple(real, **ours))
            if kind.__module__.startswith("triton"):  # programs have them by names of their own
                call: Any = kind.__call__

                def called(self: Any, *given: Any) -> Any:
                    return next((function for own, function in sized if own is self), call.__get__(self))(*given)

                stack.enter_context(mock.patch.object(kind, "__call__", called))
        yield
