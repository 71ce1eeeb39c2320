"""Traced arrays as PyTorch sees them: tensors and sizes without data, whose every operation is looked up in a table."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import torch

from .arrays import Arr, refusing
from .components import Condition
from .questions import is_program
from .sizes import Num
from .trace import Trace

Function = Callable[..., object]
Options = Mapping[str, object] | None

OPERATIONS: dict[str, Function] = {}
"""PyTorch's functions and methods on traced arrays, by name: the table is filled by ``torch_operations``."""
QUESTIONS: dict[str, Function] = {}
"""Those of them that ask for the form of an array and compute nothing."""
_WRITES = ("fill", "zero")
"""Operations that, in place, do not read what they write into."""


def _handed(_: type, function: Function, types: object, args: Sequence[object] = (), kwargs: Options = None) -> object:
    """A call that PyTorch hands over because an argument is traced."""
    return dispatched(function, args, kwargs or {})


class Size(Num):
    """A size that PyTorch's own functions take for a number."""

    __slots__ = ()
    __torch_function__ = classmethod(_handed)


def _of_sizes(name: str) -> Function:
    """A method that PyTorch gives several sizes only if the first has a value."""
    return lambda self, *sizes, **options: dispatched(getattr(torch.Tensor, name), (self, *sizes), options)


class Tensor(torch.Tensor):
    """A tensor without data, of one arbitrary row."""

    arr: Arr
    __torch_function__ = classmethod(_handed)  # type: ignore[assignment]

    __bool__, __len__ = refusing("a branch on data"), refusing("the number of rows is read")
    __iter__ = refusing("rows or components are read one by one")
    __index__ = __float__ = __int__ = item = tolist = numpy = refusing("a number is read off the data")
    __setitem__ = refusing("a part is changed in place")

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"<traced tensor with axes {self.arr.axes}>"

    def __getattr__(self, name: str) -> NoReturn:
        if name != "arr" and is_program():
            self.arr.trace.report.unexamined.add(f"arrays that have the attribute {name}")
        raise AttributeError(name)

    new_ones, new_zeros, expand = map(_of_sizes, ("new_ones", "new_zeros", "expand"))  # type: ignore[assignment]

    def __deepcopy__(self, memory: object) -> "Tensor":
        return raised(Arr(self.arr.trace, self.arr.value, self.arr.axes, self.arr.dtype))


def raised(arr: Any) -> Tensor:
    """A traced array as PyTorch sees it."""
    with torch._C.DisableTorchFunctionSubclass():
        tensor = torch.Tensor._make_subclass(Tensor, torch.empty(0, device="meta"))
    tensor.arr = arr
    return tensor


def _name(function: Any) -> str:
    if isinstance(function, torch._ops.OpOverload):
        return function._schema.name.partition("::")[2]
    name = getattr(function, "__name__", "")
    if name in ("__get__", "__set__", "__delete__"):
        return f"{'' if name == '__get__' else name}{function.__self__.__name__}"
    return name.strip("_") if name.startswith("__") and name.endswith("__") else name


def _trace_of(values: Iterable[object]) -> Trace | None:
    """The trace of the first traced value among arguments."""
    for value in values:
        if isinstance(value, Tensor):
            return value.arr.trace
        if isinstance(value, Num):
            return value.trace
        if isinstance(value, list | tuple | dict):
            trace = _trace_of(value.values() if isinstance(value, dict) else value)
            if trace is not None:
                return trace
    return None


def lowered(value: object) -> object:
    """Arguments as the table takes them: traced arrays, numbers, and names of formats."""
    if isinstance(value, Tensor):
        return value.arr
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value
    if isinstance(value, list | tuple) and type(value) in (list, tuple, torch.Size):
        return type(value)(map(lowered, value)) if type(value) is not torch.Size else tuple(value)
    return value


def _lifted(value: object) -> object:
    if isinstance(value, Arr | Condition):
        return raised(value)
    return tuple(map(_lifted, value)) if isinstance(value, tuple) else value


@functools.cache
def _takes_trace(action: Function) -> bool:
    return "trace" in inspect.signature(action).parameters


_UNREAD = ("out", "input", "requires_grad", "device", "layout", "memory_format", "non_blocking", "pin_memory",
           "cudnn_enable", "cudnn_enabled")  # fmt: skip
"""Options that say where and how numbers are kept, and not which, or that are read elsewhere."""


def dispatched(function: Function, args: Sequence[Any], kwargs: Mapping[str, object]) -> object:
    """One call of PyTorch with a traced argument."""
    trace = _trace_of([*args, *kwargs.values()])
    assert trace is not None, "it is called for traced arguments alone"
    name = _name(function)
    in_place = name.endswith("_") or (name.startswith("i") and name[1:] in OPERATIONS and name not in OPERATIONS)
    base = name.removesuffix("_") if name.endswith("_") else name[1:] if in_place else name
    if name in OPERATIONS:
        in_place, base = False, name
    trace.never(base not in OPERATIONS, f"{name} is not among the operations that are traced")
    action = OPERATIONS[base]
    options = {key: lowered(value) for key, value in kwargs.items() if key not in _UNREAD}
    if _takes_trace(action):
        options["trace"] = trace
    args = [kwargs["input"], *args] if "input" in kwargs else args
    out = kwargs.get("out")
    lower = [lowered(value) for value in args]
    result = trace.applied(name, action, *lower, **options)
    asks = action in QUESTIONS.values()
    reads = not (asks or base.startswith("new_") or base.endswith("_like") or (in_place and base in _WRITES))
    for x in lower if reads else ():
        if isinstance(x, Arr) and x.memory.undefined and getattr(result, "memory", None) is not x.memory:
            trace.refuse("memory is read that nothing was written into")
    moved = any(isinstance(x, Arr) and x.value is getattr(result, "value", None) for x in lower)
    if not moved and not asks:  # neither a view nor a cast nor a question
        trace.values.operations[base] += 1
    target = args[0] if in_place else out
    if target is None:
        return _lifted(result)
    if not isinstance(target, Tensor) or not isinstance(result, Arr):
        trace.refuse(f"{name} writes into {type(target).__name__}")
    target.arr.become(result)
    return target
