"""Short scripts that call a kernel without this library."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lngeom.rounding import Definition

_MADE = {"torch": "torch.{}({}, dtype=torch.{})", "numpy": "np.{}({}, dtype=np.{})", "jax": "jnp.{}({}, dtype=jnp.{})"}
_IMPORTS = {"torch": ("import torch",), "jax": ("import jax.numpy as jnp",)}
_TRITON = ("import os", 'os.environ["TRITON_INTERPRET"] = "1"')
_GROWS = """for _ in range(8):
    for _ in range(50):
        {}
    print(open("/proc/self/statm").read().split()[1], "pages")"""
"""Calls repeatedly, and prints the memory of the process."""


def _imports(kernel: Any) -> tuple[str, ...]:
    """The lines that import the framework and the kernel; none where it is no function that can be imported."""
    target, framework = kernel.form.target, kernel.framework.name
    module, _, name = kernel.name.partition(":")
    if not name:
        module, name = getattr(target, "__module__", ""), getattr(target, "__qualname__", "")
    if framework not in _MADE or not name.isidentifier() or kernel.form.factory:
        return ()
    folder, _, file = module.rpartition("/")
    path = ("import sys", f"sys.path.insert(0, {folder or '/'!r})") if "/" in module else ()
    lines = (*_IMPORTS.get(framework, ()), "import numpy as np")
    return (*lines, *path, f"from {file.removesuffix('.py')} import {name}")


def _call(kernel: Any, d: int, x: str, eps: float | None, written: Callable[[Any], str]) -> str:
    """The call at rows of `d` components, written as `x`; other arrays as `written` says."""
    given = kernel.at(d)
    values = {"gain": given.gain, "bias": given.bias, "eps": eps, "shape": (d,), "d": d, "axis": -1}
    words = [x]
    for role, keyword in given.roles.items():
        value = values[role]
        text = written(value) if role in ("gain", "bias") and value is not None else repr(value)
        words.append(text if keyword is None else f"{keyword}={text}")
    return f"{_imports(kernel)[-1].rpartition(' ')[2]}({', '.join(words)})"


def ones(kernel: Any, shape: tuple[int, ...], *, grows: bool = False) -> str:
    """A script that calls the kernel with ones, or prints how memory grows; empty where it cannot be imported."""
    if not (lines := _imports(kernel)) or kernel.at(shape[-1]).holds:
        return ""
    written = lambda values: _MADE[kernel.framework.name].format("ones", np.shape(values), kernel.dtype)  # noqa: E731
    eps = kernel.at(shape[-1]).eps if kernel.asked.eps is None else kernel.asked.eps
    line = _call(kernel, shape[-1], written(np.broadcast_to(0.0, shape)), eps, written)
    before = _TRITON if kernel.framework.name == "torch" else ()
    return "\n".join([*before, *lines, "", _GROWS.format(line) if grows else line, ""])


def reproducer(kernel: Any, base: Definition, x: Any, bound: float) -> str:
    """The fault and the definition; empty where the kernel cannot be imported, or is of another framework."""
    how, made = _MADE.get(kernel.framework.name, ""), "tensor" if kernel.framework.name == "torch" else "array"
    written = lambda values: how.format(made, np.asarray(values, float).tolist(), kernel.dtype)  # noqa: E731
    if kernel.form.filed:
        (file, row), lines = kernel.form.target.place(x), ("import numpy as np",)
        got = f"np.load({file!r})[[{row}]]"
        got = f"({got}.astype(np.uint32) << 16).view(np.float32)" if kernel.dtype == "bfloat16" else got
    elif not (lines := _imports(kernel)) or kernel.at(len(x)).holds:
        return ""
    else:
        got = _call(kernel, len(x), written([x]), base.eps, written)
        got += ".detach().double()" if kernel.framework.name == "torch" else ""
    gain, bias = (None if p is None else np.asarray(p, dtype=float).tolist() for p in (base.gain, base.bias))
    square, eps = "(y * y).mean(-1, keepdims=True)", repr(base.eps)
    root = f"np.sqrt({square} + {eps})" if base.placement == "inside" else f"(np.sqrt({square}) + {eps})"
    return "\n".join([
        *lines,
        "",
        f"x = np.array({[x]})",
        "y = x - x.mean(-1, keepdims=True)" if base.centered else "y = x",
        f"expected = y / {root}" + (f" * np.array({gain})" if gain else "") + (f" + np.array({bias})" if bias else ""),
        f"got = np.asarray({got}, dtype=float)",
        'print(f"got {got}, expected {expected}")',
        f"assert (abs(got - expected) <= {bound!r}).all()",
        "",
    ])  # fmt: skip
