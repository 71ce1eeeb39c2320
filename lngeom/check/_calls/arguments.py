"""Arguments: kernels that take them in another order, or write their output into one, as functions of rows."""

import inspect
import itertools
from typing import Any

from .._tracing.roles import parameters

_OUT = ("out", "output", "result", "dst", "y", "o")
_X = ("x", "input", "inputs", "inp", "hidden_states", "hidden", "tensor", "a", "data", "src")


def adapted(target: Any, *, in_place: bool = False) -> Any:
    """The function with x first, without the array for its output; one that works in place gets a copy of x.

    It does if `in_place`, or if its name says so, as PyTorch's ``add_``.
    """
    if isinstance(target, type) or hasattr(target, "named_parameters") or not callable(target):
        return target
    called = str(getattr(target, "__name__", "")).lower()
    in_place = in_place or called.endswith("_") or "inplace" in called or "in_place" in called
    names = list(kept := parameters(target))
    x = next((name for name in names if name.lower() in _X), names[0] if names else "")
    out = next((n for n in names if n.lower() in _OUT and n != x and kept[n].default is not None), None)
    if not names or (out is None and x == names[0] and not in_place):  # it is a function of rows already
        return target

    def norm(rows: Any, *given: Any, **named: Any) -> Any:
        rows = (rows.clone() if hasattr(rows, "clone") else rows.copy()) if in_place else rows
        values = dict(zip(rest, given, strict=False)) | named | {x: rows}
        if out is not None:
            values[out] = rows * float("nan")  # components that are not written show themselves
        written = values.get(out or x)
        # A schema may take some by place alone.
        placed = [values.pop(name) for name in itertools.takewhile(values.__contains__, names)]
        output = target(*placed, **values)
        return written if output is None else output

    rest = [name for name in names if name not in (x, out)]
    norm.__name__, norm.__wrapped__ = getattr(target, "__name__", "norm"), target  # pyright: ignore
    norm.in_place = in_place  # pyright: ignore
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    listed = [kept[n] if kept[n].kind == inspect.Parameter.KEYWORD_ONLY else kept[n].replace(kind=both) for n in rest]
    norm.__signature__ = inspect.Signature([inspect.Parameter("x", both), *listed])  # pyright: ignore
    return norm
