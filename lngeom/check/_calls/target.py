"""The object that ``module:name`` names."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from lngeom.errors import InputError
from lngeom.limits import Endless, timed
from lngeom.sources import read_from_source

from .options import CheckOptions
from .triton_hook import forget_stand_in, interpret_triton


def resolve(spec: str) -> Any:
    """The object that ``module:name`` or ``file.py:name`` names, importable from the current directory."""
    module, _, name = spec.partition(":")
    folders = [read_from_source(Path.cwd())]
    if module.endswith(".py"):
        path = Path(module)
        if not path.is_file():
            raise InputError(f"{spec}: there is no file {module}")
        other = getattr(sys.modules.get(path.stem), "__file__", None)
        if path.stem in sys.modules and (other is None or Path(other).resolve() != path.resolve()):
            raise InputError(f"{spec}: another module called {path.stem} is loaded already; give the file another name")
        folders, module = [read_from_source(path.parent), *folders], path.stem
    interpret_triton()
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    try:
        with timed("its code", CheckOptions.seconds):
            value: Any = importlib.import_module(module)
    except (Exception, SystemExit, Endless) as error:  # a script without a guard may end the process
        msg = f"{spec}: the module {module!r} cannot be imported from here: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    forget_stand_in()
    for part in name.split(".") if name else ():
        if not hasattr(value, part):
            known = [n for n, v in getattr(value, "__dict__", {}).items() if callable(v) and not n.startswith("_")]
            raise InputError(f"{spec}: {module} has no {part!r}; it has {', '.join(known[:12]) or 'nothing callable'}")
        value = getattr(value, part)
    owner = getattr(value, "__self__", None)
    is_pass = isinstance(owner, type) and hasattr(owner, "setup_context") and value.__name__ == "apply"
    return _applied(owner, name) if is_pass else value


def _applied(owner: Any, name: str) -> Any:
    """A function of PyTorch's autograd with the parameters of its forward pass."""
    own = list(inspect.signature(owner.forward).parameters.values())
    kept = own if "setup_context" in vars(owner) else own[1:]  # without the context
    applied: Any = lambda *arguments: owner.apply(*arguments)  # noqa: E731
    applied.__name__ = applied.__qualname__ = name
    applied.__signature__ = inspect.Signature(kept)
    return applied
