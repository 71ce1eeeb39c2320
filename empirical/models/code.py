"""A fingerprint of the code of a model in memory, where no file holds it."""

import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from torch import nn

_INSTALLED = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
_CONSTANTS = bool | int | float | complex | str | bytes | None


def code_sha256(model: nn.Module) -> str:
    """SHA-256 of a model's code: its classes, replaced methods, and the functions and constants that these name.

    Installed packages have versions instead. Comments, and where a file lies, do not count.
    """
    digest, seen = hashlib.sha256(), set[int]()
    for part in model.modules():
        for value in (type(part), *vars(part).values()):
            if isinstance(value, type | FunctionType):
                digest.update("\0".join(_said(value, seen)).encode())
    return digest.hexdigest()


def _said(value: object, seen: set[int]) -> Iterator[str]:
    """What decides what a value computes; each class and function once."""
    value = getattr(value, "__func__", getattr(value, "fget", value))  # of methods of a class, and of properties
    if isinstance(value, _CONSTANTS):
        yield repr(value)
    elif isinstance(value, CodeType):
        yield value.co_code.hex()
        yield from _said((value.co_names, value.co_consts), seen)
    elif isinstance(value, tuple):
        for each in value:
            yield from _said(each, seen)
    elif isinstance(value, type | FunctionType) and id(value) not in seen and not _installed(value):
        seen.add(id(value))
        yield from _said(_parts_of_class(value) if isinstance(value, type) else _parts_of_function(value), seen)


def _parts_of_class(value: type) -> tuple[object, ...]:
    own = (part for name, part in vars(value).items() if name[:2] != "__" or isinstance(part, FunctionType))
    return (*value.__bases__, *own)


def _parts_of_function(value: FunctionType) -> tuple[object, ...]:
    code, scope = value.__code__, value.__globals__
    inner = (const.co_names for const in code.co_consts if isinstance(const, CodeType))
    names = [name for each in (code.co_names, *inner) for name in each]
    modules = (scope[name] for name in names if isinstance(scope.get(name), ModuleType))
    scopes = (scope, *(vars(module) for module in modules if not _installed(module)))
    named = (each[name] for each in scopes for name in names if name in each)
    held = (cell.cell_contents for cell in value.__closure__ or ())
    return (code, value.__defaults__, *(value.__kwdefaults__ or {}).values(), *held, *named)


def _installed(value: object) -> bool:
    name = getattr(value, "__module__", getattr(value, "__name__", ""))
    file = getattr(sys.modules.get(name), "__file__", None)
    return str(file).startswith(_INSTALLED) or (file is None and name in sys.builtin_module_names)
