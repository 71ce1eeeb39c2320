"""Classes and factories as programs: what they are given to make the norm of a dimension."""

import inspect
import re
from collections.abc import Callable
from typing import Any

from .roles import REQUIRED, is_size, is_switch, parameters, role
from .sizes import Num

Function = Callable[..., Any]
"""A program, or what makes one."""

Setting = Callable[[str, float], float]
"""The number that stands for a setting such as ε, given its name and its value."""


def is_factory(target: Function) -> bool:
    """Whether a target makes norms, as its first parameter shows, instead of being one."""
    first = next(iter(parameters(target)), None)
    return isinstance(target, type) or first is None or is_size(first) or role(first) == "eps"


_CONFIG = re.compile(r"config|^(cfg|args|hparams|opts|model_args|params)$")


class _Config:
    """A configuration in which every width is d, and other sizes have labels of their own."""

    def __init__(self, d: Num | int, setting: Setting) -> None:
        self._d, self._setting = d, setting

    def __getattr__(self, name: str) -> Num | float:
        if "eps" in name:
            return self._setting(name, 1e-6)
        if re.search(r"(rank|num_key_value_heads)$", name):
            return type(self._d)(self._d.trace, None, (name.rpartition("_")[2],)) if isinstance(self._d, Num) else 1
        if is_size(name) or re.search(r"(hidden|embed|dim|d_model|width|channels|n_embd)", name):
            return self._d
        raise AttributeError(name)


def made(target: Function, d: Num | int, setting: Setting, *, eps: bool = False) -> Any:
    """The instance that a class or a factory makes for a dimension; if `eps`, with that also where it has one."""
    keywords: dict[str, object] = {}
    for name, parameter in _constructor(target).items():
        required = parameter.default is REQUIRED
        if is_size(name) and (required or not keywords):
            keywords[name] = d
        elif role(name) == "eps" and (eps or required or isinstance(parameter.default, float)):
            keywords[name] = setting(name, parameter.default if isinstance(parameter.default, float) else 1e-5)
        elif _CONFIG.search(name) and required:
            keywords[name] = _Config(d, setting)
        elif is_switch(name) and required:
            keywords[name] = True
        elif required:
            keywords[name] = 1 if name == "num_groups" else d
        elif isinstance(d, Num) and name not in ("device", "dtype", "name", "parent"):
            d.trace.report.given[name] = repr(parameter.default)
    try:
        return target(**keywords)
    except TypeError:  # a shape is asked for
        return target(**{name: (d,) if value is d else value for name, value in keywords.items()})


def _constructor(target: Function) -> dict[str, inspect.Parameter]:
    """The parameters of a constructor, with those that it passes on to its bases."""
    known: dict[str, inspect.Parameter] = {}
    for base in target.__mro__ if isinstance(target, type) else (target,):
        own = parameters(base.__init__ if isinstance(base, type) else base)
        known = dict(list(own.items())[isinstance(base, type) :]) | known
        if any(p.default is REQUIRED for p in known.values()) or ("__init__" in vars(base) and len(known) > 1):
            break
    return known


def named(run: Function, names: list[str]) -> Function:
    """A function of x and vectors with these names."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("x", *names)])  # type: ignore[attr-defined]
    return run
