"""A program's questions to a framework's symbolic sizes: the framework's own answers serve the framework alone."""

import functools
import math
import operator
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from .allowed import kind_of
from .trace import Trace

Answer = Callable[..., object]

QUESTIONS: dict[str, Callable[..., object]] = {
    "__eq__": operator.eq, "__ne__": operator.ne, "__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt,
    "__ge__": operator.ge, "__hash__": hash, "__str__": str, "__repr__": repr, "__format__": format, "__int__": int,
    "__float__": float, "__complex__": complex, "__bool__": bool, "__index__": operator.index, "__round__": round,
    "__floor__": math.floor, "__ceil__": math.ceil, "__trunc__": math.trunc, "__mod__": operator.mod,
    "__floordiv__": operator.floordiv, "__divmod__": divmod,
}  # fmt: skip
"""What code learns about a size by."""


@functools.cache
def _asks(file: str) -> bool | None:
    """Whether the code of a file is a program's, None if it asks for its caller."""
    whose = "framework" if "/sympy/" in file else kind_of(file)
    return None if whose == "standard" or "/numpy/" in file else whose == "program"


def is_program() -> bool:
    """Whether the program asks, and not its framework."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        generated = frame.f_code.co_filename == "<string>" and frame.f_code.co_name.startswith("__")
        answer = None if generated else _asks(frame.f_code.co_filename)
        if answer is not None:
            return answer
        frame = frame.f_back
    return False


def asked(kind: type, names: Iterable[str], answer: Answer) -> dict[str, Any]:
    """The methods of a symbolic kind that answer a program by `answer`, and its framework as they did."""

    def method(name: str) -> Answer:
        own = getattr(kind, name, None)

        def ask(size: object, *others: object, **options: object) -> object:
            if is_program():
                return answer(name, size, *others, **options)
            if own is None:
                raise TypeError(name)
            return own(size, *others, **options)

        return ask

    return {name: method(name) for name in names}


def asking(trace: Trace, kind: type, names: Iterable[str], answer: Answer) -> AbstractContextManager[Any]:
    """A context in which a program's questions to a symbolic kind have an answer."""

    def attribute(size: object, name: str) -> object:
        if (name.startswith("__") and name != "__class__") or not is_program():
            return object.__getattribute__(size, name)
        return int if name == "__class__" else trace.refuse(f"the attribute {name} of a size is read")

    methods = {**asked(kind, names, answer), "__getattribute__": attribute}
    return mock.patch.multiple(kind, create=True, **methods)  # pyright: ignore[reportCallIssue, reportArgumentType]
