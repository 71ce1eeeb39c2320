"""The call of a kernel as a line of Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

_MADE = {"torch": "torch.{}({}, dtype=torch.{})", "numpy": "np.{}({}, dtype=np.{})", "jax": "jnp.{}({}, dtype=jnp.{})"}
_ARRAY = {"torch": "tensor"}
_IMPORTS = {"torch": ("import torch",), "jax": ("import jax.numpy as jnp",)}
_TRITON = ("import os", 'os.environ["TRITON_INTERPRET"] = "1"')


def imports(kernel: Any) -> tuple[str, ...]:
    """The lines that import the framework and the kernel; none where it is no function that can be imported."""
    target, framework = kernel.form.target, kernel.framework.name
    module, _, name = kernel.name.partition(":")
    if not name:
        module, name = getattr(target, "__module__", ""), getattr(target, "__qualname__", "")
    if framework not in _MADE or not name.isidentifier() or kernel.form.factory:
        return ()
    module = module.removesuffix(".py").replace("/", ".")
    return (*_IMPORTS.get(framework, ()), "import numpy as np", f"from {module} import {name}")


def call(kernel: Any, d: int, x: str, eps: float | None, written: Callable[[Any], str]) -> str:
    """The call at rows of `d` components, written as `x`; other arrays as `written` says."""
    given = kernel.at(d)
    values = {"gain": given.gain, "bias": given.bias, "eps": eps, "shape": (d,), "d": d, "axis": -1}
    words = [x]
    for role, keyword in given.roles.items():
        value = values[role]
        text = written(value) if role in ("gain", "bias") and value is not None else repr(value)
        words.append(text if keyword is None else f"{keyword}={text}")
    return f"{imports(kernel)[-1].rpartition(' ')[2]}({', '.join(words)})"


def array(kernel: Any, values: Any) -> str:
    """An array in the framework and dtype of the check."""
    making, values = _ARRAY.get(kernel.framework.name, "array"), np.asarray(values, dtype=float).tolist()
    return _MADE[kernel.framework.name].format(making, values, kernel.dtype)


_GROWS = """for _ in range(8):
    for _ in range(50):
        {}
    print(open("/proc/self/statm").read().split()[1], "pages")"""
"""Calls again and again, and says how much memory the process has."""


def ones(kernel: Any, shape: tuple[int, ...], *, grows: bool = False) -> str:
    """A script that calls the kernel with ones, or prints how memory grows; empty where it cannot be imported."""
    lines = imports(kernel)
    if not lines or kernel.at(shape[-1]).holds:
        return ""

    def written(values: Any) -> str:
        return _MADE[kernel.framework.name].format("ones", np.shape(values), kernel.dtype)

    eps = kernel.at(shape[-1]).eps if kernel.asked.eps is None else kernel.asked.eps
    line = call(kernel, shape[-1], written(np.broadcast_to(0.0, shape)), eps, written)
    return (
        "\n".join(
            [*(_TRITON if kernel.framework.name == "torch" else ()), *lines, "", _GROWS.format(line) if grows else line]
        )
        + "\n"
    )
