"""Wrong norms that are right wherever nobody looks, and code that behaves otherwise when it is traced.

Each with what its verdict has to be, or has to say.
"""

import os
import types

import numpy as np
import torch
from torch.nn import functional as F

FUSED = {640, 1280}
CONFIG, FLAG, SPACE = {"fast": False}, False, types.SimpleNamespace(fast=False)
DRAWS, WIDE, STATE = np.random.default_rng(0), 50_000, {"calls": 0}


class Config:
    fast = False


def rms(x, weight, eps=1e-6):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def either(wrong):
    """The norm, but where `wrong` of x and its last size."""
    return lambda x, weight, eps=1e-6: x * weight if wrong(x, x.shape[-1]) else rms(x, weight, eps)


NOT_PROVED = {
    "a set of sizes": either(lambda x, d: d in FUSED),
    "a size as text": either(lambda x, d: str(d).endswith("96")),
    "a size as NumPy's": either(lambda x, d: np.int32(896) == d),
    "an int by its type": either(lambda x, d: isinstance(d, int) and d > 30_000),
    "a size far away": either(lambda x, d: d > WIDE),
    "a remainder": either(lambda x, d: d % 907 == 0),
    "bits of a size": either(lambda x, d: d.bit_length() > 15),
    "an attribute of a size": either(lambda x, d: hasattr(d, "__index__") and d > 30_000),
    "the number of rows": either(lambda x, d: x.shape[0] in {37, 41}),
    "the environment": either(lambda x, d: "FAST" in os.environ),
    "random numbers": either(lambda x, d: torch.rand(()) > 0.9999),
    "a generator": either(lambda x, d: DRAWS.random() > 0.9999),
}


def of(change):
    return lambda x, weight: rms(change(x), weight)


def over(mean):
    return lambda x, weight: x * torch.rsqrt(mean(x) + 1e-6) * weight


NOT_PROVED |= {
    "asks its type": either(lambda x, d: type(x) is torch.Tensor),
    "asks for the class": either(lambda x, d: (x.__class__.__module__, x.__class__.__name__) == ("torch", "Tensor")),
    "asks its text": either(lambda x, d: "tensor(" in repr(x)),
    "asks for an attribute": either(lambda x, d: not hasattr(x, "arr")),
    "asks for a gradient": either(lambda x, d: x.requires_grad),
    "asks where it comes from": either(lambda x, d: x.grad_fn is not None),
    "asks for the mode": either(lambda x, d: torch.is_grad_enabled()),
    "asks for the memory": either(lambda x, d: not x.is_contiguous()),
    "branches on data": either(lambda x, d: x.sum() <= 0),
    "where by data": lambda x, weight: torch.where(x > 0, rms(x, weight), x),
    "sorts": of(lambda x: x.sort(-1).values),
    "dropout": lambda x, weight: F.dropout(rms(x, weight), 0.5, True),
    "overwrites its input": lambda x, weight: x.mul_(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)) * weight,
    "divides by the rows": over(lambda x: x.pow(2).sum(-1, keepdim=True) / x.shape[0]),
    "half of it": over(lambda x: x[..., : x.shape[-1] // 2].pow(2).mean(-1, keepdim=True)),
    "first row": lambda x, weight: rms(x, weight) + 0 * x[0],
    "numpy inside": lambda x, weight: torch.from_numpy(np.asarray(x)) * weight,
    "loops over components": lambda x, weight: x * sum(x[..., i : i + 1] for i in range(x.shape[-1])) * weight,
}


def entered(code):
    """Enter a code that may not be proved under its name."""
    NOT_PROVED[code.__name__.replace("_", " ")] = code
    return code


@entered
def counts_calls(x, weight):
    STATE["calls"] += 1
    return rms(x, weight) if STATE["calls"] < 15 else 2 * rms(x, weight)


@entered
def changes_its_closure(x, weight, seen=[]):  # noqa: B006  # the default is what it remembers by
    seen.append(x.shape)
    return rms(x, weight) if len(seen) < 2 else x * weight


@entered
def catches(x, weight):
    try:
        return x * weight if bool((x > 0).all()) else x
    except Exception:
        return rms(x, weight)


@entered
def overwrites_a_view(x, weight):
    y = x.view(x.shape)
    y -= y.mean(-1, keepdim=True)
    return rms(x, weight)


@entered
def writes_a_part(x, weight):
    y = rms(x, weight)
    y[..., 0] = 0
    return y


@entered
def changes_a_global(x, weight):
    weight.data = weight.data * 2
    return rms(x, weight)


class Norm(torch.nn.Module):
    """RMSNorm, which the others change where nobody looks."""

    def __init__(self, dim, eps=1e-6, mode="a"):
        super().__init__()
        self.weight, self.eps, self.mode = torch.nn.Parameter(torch.ones(dim)), eps, mode
        self.alpha = torch.nn.Parameter(torch.zeros(1))
        self.seen, self.size = [], dim

    def forward(self, x):
        return rms(x, self.weight, self.eps) * self.scale(x)

    def scale(self, x):
        return 1


def changed(scale):
    return type("Changed", (Norm,), {"scale": scale, "__module__": __name__})


NOT_PROVED |= {
    "a learnable scalar": changed(lambda self, x: 1 + self.alpha),
    "int of a size": changed(lambda self, x: 1 + max(int(self.size) - 30_000, 0)),
    "a size cut off": changed(lambda self, x: self.size / min(self.size, 30_000)),
}

EXCLUDED = {
    "a global": (either(lambda x, d: FLAG), "given", "FLAG = False"),
    "a table": (either(lambda x, d: CONFIG["fast"]), "given", "CONFIG = {'fast': False}"),
    "an attribute of a class": (either(lambda x, d: Config.fast), "given", "Config.fast = False"),
    "an attribute of a namespace": (either(lambda x, d: SPACE.fast), "given", "SPACE.fast = False"),
    "an option": (changed(lambda self, x: 2 if self.mode == "b" else 1), "given", "mode = 'a'"),
    "training": (changed(lambda self, x: 2 if self.training else 1), "unexamined", "in training"),
    "inference by the array": (either(lambda x, d: x.is_inference()), "unexamined", "in inference mode"),
    "autocast": (either(lambda x, d: torch.is_autocast_enabled()), "unexamined", "in autocast"),
    "inference": (either(lambda x, d: torch.is_inference_mode_enabled()), "unexamined", "in inference mode"),
    "two axes": (either(lambda x, d: x.ndim == 2), "unexamined", "x of shape (B, d)"),
    "four axes": (either(lambda x, d: x.ndim == 4), "unexamined", "x of shape (B, L, H, d)"),
    "half precision": (either(lambda x, d: x.dtype == torch.float16), "unexamined", "float16"),
    "a gain that learns alone": (
        lambda x, weight: x * weight if weight.requires_grad and not x.requires_grad else rms(x, weight),
        "unexamined",
        "where weight requires gradients",
    ),
    "a mark on a gain": (
        lambda x, weight: rms(x, 1 + weight if getattr(weight, "is_delta", False) else weight),
        "unexamined",
        "arrays that have the attribute is_delta",
    ),
    "an inverse that is not exact": (either(lambda x, d: (1 / d) * d != 1), "unexamined", "rounding decides otherwise"),
    "an eps that is absorbed": (
        lambda x, weight, eps=1e-6: rms(x, weight, 0 if 2 + eps == 2 else eps),
        "unexamined",
        "rounding decides otherwise",
    ),
    "a value of eps": (lambda x, weight, eps=1e-6: rms(x, weight, float(np.float32(eps))), "given", "eps = 1e-06"),
}
