"""A script of a few lines that shows a fault without this library."""

import numpy as np

from ._claim import Claim
from ._filed import Filed
from ._kernel import Kernel
from ._trial import Shown

_MADE = {
    "torch": "torch.tensor({}, dtype=torch.{})",
    "numpy": "np.array({}, dtype=np.{})",
    "jax": "jnp.array({}, dtype=jnp.{})",
}
_IMPORTS = {"torch": "import torch", "jax": "import jax.numpy as jnp"}


def reproducer(claim: Claim, shown: Shown) -> str:
    """The script; empty where the kernel has no name by which it can be imported, or another framework."""
    kernel, x, base = claim.kernel, shown.input, claim.base(len(shown.input))
    framework, target = kernel.framework.name, kernel.form.target
    module, _, name = kernel.name.partition(":")
    if not name:
        module, name = getattr(target, "__module__", ""), getattr(target, "__qualname__", "")
    given = kernel.at(len(x))
    if isinstance(target, Filed):
        imported, call = "", _read(kernel.dtype, *target.place(x))
    elif framework not in _MADE or not name.isidentifier() or kernel.form.factory or given.holds:
        return ""
    else:
        imported, call = f"from {module} import {name}", f"{name}({_words(kernel, x, base.eps)})"
        call += ".detach().double()" if framework == "torch" else ""
    gain, bias = (None if p is None else np.asarray(p, dtype=float).tolist() for p in (base.gain, base.bias))
    square, eps = "(y * y).mean(-1, keepdims=True)", repr(base.eps)
    root = f"np.sqrt({square} + {eps})" if base.placement == "inside" else f"(np.sqrt({square}) + {eps})"
    exact = f"y / {root}"
    exact += (f" * np.array({gain})" if gain else "") + (f" + np.array({bias})" if bias else "")
    lines = [
        *filter(None, [_IMPORTS.get(framework)]),
        "import numpy as np",
        *filter(None, [imported]),
        "",
        f"x = np.array({[x]})",
        "y = x - x.mean(-1, keepdims=True)" if base.centered else "y = x",
        f"expected = {exact}",
        f"got = np.asarray({call}, dtype=float)",
        'print(f"got {got}, expected {expected}")',
        f"assert (abs(got - expected) <= {shown.numbers[2]!r}).all()",
    ]
    return "\n".join(lines) + "\n"


def _words(kernel: Kernel, x: list, eps: float) -> str:
    """What a kernel is called with at one row."""

    def made(values: object) -> str:
        return _MADE[kernel.framework.name].format(np.asarray(values, dtype=float).tolist(), kernel.dtype)

    given = kernel.at(len(x))
    values = {"gain": given.gain, "bias": given.bias, "eps": eps, "shape": (len(x),), "d": len(x), "axis": -1}
    words = [made([x])]
    for role, keyword in given.roles.items():
        value = values[role]
        text = made(value) if role in ("gain", "bias") and value is not None else repr(value)
        words.append(text if keyword is None else f"{keyword}={text}")
    return ", ".join(words)


def _read(dtype: str, file: str, row: int) -> str:
    """A row of a file of outputs."""
    values = f"np.load({file!r})[[{row}]]"
    return f"({values}.astype(np.uint32) << 16).view(np.float32)" if dtype == "bfloat16" else values
