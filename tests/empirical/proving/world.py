"""Wrong norms that are right wherever nobody looks: each with what its verdict has to be, or has to say."""

import datetime
import functools
import itertools
import os
import random
import types

import numpy as np
import torch

FUSED, TABLE = {640, 1280}, {384: 1 / 384, 896: 1 / 869}
CONFIG, FLAG, SPACE, COUNT = {"fast": False}, False, types.SimpleNamespace(fast=False), itertools.count()
DRAWS, WIDE = np.random.default_rng(0), 50_000


class Config:
    """Settings of a package."""

    fast = False


@functools.lru_cache
def doubled(d):
    """A cache of scales."""
    return 2.0 if d == 896 else 1.0


def rms(x, weight, eps=1e-6):
    """The norm that all of these are."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def either(wrong):
    """The norm, but where `wrong` of x and its last size."""
    return lambda x, weight, eps=1e-6: x * weight if wrong(x, x.shape[-1]) else rms(x, weight, eps)


NOT_PROVED = {
    "a set of sizes": either(lambda x, d: d in FUSED),
    "a table by size": either(lambda x, d: TABLE.get(d)),
    "a size as text": either(lambda x, d: str(d).endswith("96")),
    "a size as NumPy's": either(lambda x, d: np.int32(896) == d),
    "an int by its type": either(lambda x, d: isinstance(d, int) and d > 30_000),
    "a size far away": either(lambda x, d: d > WIDE),
    "a remainder": either(lambda x, d: d % 907 == 0),
    "bits of a size": either(lambda x, d: d.bit_length() > 15),
    "an attribute of a size": either(lambda x, d: hasattr(d, "__index__") and d > 30_000),
    "the number of rows": either(lambda x, d: x.shape[0] in {37, 41}),
    "a cache": lambda x, weight, eps=1e-6: rms(x, weight, eps) * doubled(x.shape[-1]),
    "the environment": either(lambda x, d: "FAST" in os.environ),
    "the date": either(lambda x, d: datetime.datetime.now().year > 2100),
    "threads": either(lambda x, d: torch.get_num_threads() > 999),
    "random numbers": either(lambda x, d: torch.rand(()) > 0.9999),
    "random numbers of Python": either(lambda x, d: random.random() > 0.9999),
    "a generator": either(lambda x, d: DRAWS.random() > 0.9999),
    "a counter": either(lambda x, d: next(COUNT) > 10**6),
}


class Norm(torch.nn.Module):
    """RMSNorm, which the others change where nobody looks."""

    def __init__(self, dim, eps=1e-6, mode="a"):
        super().__init__()
        self.weight, self.eps, self.mode = torch.nn.Parameter(torch.ones(dim)), eps, mode
        self.alpha = torch.nn.Parameter(torch.zeros(1))
        self.count, self.seen, self.size = 0, [], dim

    def forward(self, x):
        return rms(x, self.weight, self.eps) * self.scale(x)

    def scale(self, x):
        return 1


def changed(scale):
    """Such a norm with another scale."""
    return type("Changed", (Norm,), {"scale": scale, "__module__": __name__})


def counts(self, x):
    self.count += 1
    return 1 if self.count < 10**6 else 2


def lists(self, x):
    self.seen.append(1)
    return 1 if len(self.seen) < 10**6 else 2


NOT_PROVED |= {
    "a learnable scalar": changed(lambda self, x: 1 + self.alpha),
    "an attribute that counts": changed(counts),
    "a list that grows": changed(lists),
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
    "training without gradients": (
        changed(lambda self, x: 2 if self.training and not torch.is_grad_enabled() else 1),
        "unexamined",
        "in training",
    ),
    "autocast": (either(lambda x, d: torch.is_autocast_enabled()), "unexamined", "in autocast"),
    "inference": (either(lambda x, d: torch.is_inference_mode_enabled()), "unexamined", "in inference mode"),
    "two axes": (either(lambda x, d: x.ndim == 2), "unexamined", "x of shape (B, d)"),
    "four axes": (either(lambda x, d: x.ndim == 4), "unexamined", "x of shape (B, L, H, d)"),
    "half precision": (either(lambda x, d: x.dtype == torch.float16), "unexamined", "float16"),
    "half precision on a branch": (
        either(lambda x, d: x.dtype == torch.float16 if d > 100 else False),
        "unexamined",
        "float16",
    ),
    "a value of eps": (lambda x, weight, eps=1e-6: rms(x, weight, float(np.float32(eps))), "given", "eps = 1e-06"),
}
