"""A script of a few lines that shows a fault without this library."""

from functools import partial

import numpy as np

from ._claim import Claim
from ._filed import Filed
from ._script import array, call, imports
from ._trial import Shown


def reproducer(claim: Claim, shown: Shown) -> str:
    """The script; empty where the kernel has no name by which it can be imported, or another framework."""
    kernel, x, base = claim.kernel, shown.input, claim.base(len(shown.input))
    if isinstance(target := kernel.form.target, Filed):
        lines, got = ("import numpy as np",), _read(kernel.dtype, *target.place(x))
    elif not (lines := imports(kernel)) or kernel.at(len(x)).holds:
        return ""
    else:
        got = call(kernel, len(x), array(kernel, [x]), base.eps, partial(array, kernel))
        got += ".detach().double()" if kernel.framework.name == "torch" else ""
    gain, bias = (None if p is None else np.asarray(p, dtype=float).tolist() for p in (base.gain, base.bias))
    square, eps = "(y * y).mean(-1, keepdims=True)", repr(base.eps)
    root = f"np.sqrt({square} + {eps})" if base.placement == "inside" else f"(np.sqrt({square}) + {eps})"
    exact = f"y / {root}"
    exact += (f" * np.array({gain})" if gain else "") + (f" + np.array({bias})" if bias else "")
    script = [
        *lines,
        "",
        f"x = np.array({[x]})",
        "y = x - x.mean(-1, keepdims=True)" if base.centered else "y = x",
        f"expected = {exact}",
        f"got = np.asarray({got}, dtype=float)",
        'print(f"got {got}, expected {expected}")',
        f"assert (abs(got - expected) <= {shown.numbers[2]!r}).all()",
    ]
    return "\n".join(script) + "\n"


def _read(dtype: str, file: str, row: int) -> str:
    """A row of a file of outputs."""
    values = f"np.load({file!r})[[{row}]]"
    return f"({values}.astype(np.uint32) << 16).view(np.float32)" if dtype == "bfloat16" else values
