"""A script of a few lines that shows a fault without this library."""

import numpy as np

from ._claim import Claim
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
    if framework not in _MADE or not name.isidentifier() or kernel.form.factory or given.holds:
        return ""

    def made(values: object) -> str:
        return _MADE[framework].format(np.asarray(values, dtype=float).tolist(), kernel.dtype)

    values = {"gain": given.gain, "bias": given.bias, "eps": base.eps, "shape": (len(x),), "d": len(x), "axis": -1}
    words = []
    for role, keyword in given.roles.items():
        value = values[role]
        text = made(value) if role in ("gain", "bias") and value is not None else repr(value)
        words.append(text if keyword is None else f"{keyword}={text}")
    gain, bias = (None if p is None else np.asarray(p, dtype=float).tolist() for p in (base.gain, base.bias))
    square, eps = "(y * y).mean(-1, keepdims=True)", repr(base.eps)
    root = f"np.sqrt({square} + {eps})" if base.placement == "inside" else f"(np.sqrt({square}) + {eps})"
    exact = f"y / {root}"
    exact += (f" * np.array({gain})" if gain else "") + (f" + np.array({bias})" if bias else "")
    call = f"{name}({', '.join([made([x]), *words])})" + (".detach().double()" if framework == "torch" else "")
    lines = [
        *filter(None, [_IMPORTS.get(framework)]),
        "import numpy as np",
        f"from {module} import {name}",
        "",
        f"x = np.array({[x]})",
        "y = x - x.mean(-1, keepdims=True)" if base.centered else "y = x",
        f"expected = {exact}",
        f"got = np.asarray({call}, dtype=float)",
        'print(f"got {got}, expected {expected}")',
        f"assert (abs(got - expected) <= {shown.numbers[2]!r}).all()",
    ]
    return "\n".join(lines) + "\n"
