"""Code that behaves differently when it is traced. It must never be called proved."""

import random
import sys
import threading
import time

import numpy as np
import torch
from torch.nn import functional as F

EPS = 1e-6
STATE = {"calls": 0, "last": None}


def rms(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def counts_calls(x, weight):
    STATE["calls"] += 1
    return rms(x, weight) if STATE["calls"] < 15 else 2 * rms(x, weight)


def keeps_the_last(x, weight):
    held, STATE["last"] = STATE["last"], rms(x, weight)
    return STATE["last"] if held is None or held.shape != STATE["last"].shape else held


class Keeper:
    calls = 0


def keeps_on_a_class(x, weight):
    Keeper.calls += 1
    return rms(x, weight) if Keeper.calls % 3 else x * weight


def changes_its_closure(x, weight, seen=[]):  # noqa: B006  # the default is what it remembers by
    seen.append(x.shape)
    return rms(x, weight) if len(seen) < 2 else x * weight


def catches(x, weight):
    try:
        return x * weight if bool((x > 0).all()) else x
    except Exception:
        return rms(x, weight)


def catches_an_item(x, weight):
    try:
        return x * x.max().item()
    except BaseException:
        return rms(x, weight)


def catches_a_part(x, weight):
    try:
        return x[..., :1] * weight
    except Exception:
        return rms(x, weight)


def overwrites_a_view(x, weight):
    y = x.view(x.shape)
    y -= y.mean(-1, keepdim=True)
    return rms(x, weight)


def writes_a_part(x, weight):
    y = rms(x, weight)
    y[..., 0] = 0
    return y


def half_of_it(x, weight):
    half = x.shape[-1] // 2
    return x * torch.rsqrt(x[..., :half].pow(2).mean(-1, keepdim=True) + EPS) * weight


def changes_a_global(x, weight):
    weight.data = weight.data * 2
    return rms(x, weight)


CODES = {
    "asks its type": lambda x, weight: rms(x, weight) if type(x) is not torch.Tensor else x * weight,
    "asks for the class": lambda x, weight: (
        x * weight if x.__class__.__name__ == "Tensor" and x.__class__.__module__ == "torch" else rms(x, weight)
    ),
    "asks for the device": lambda x, weight: rms(x, weight) if x.untyped_storage().nbytes() == 0 else x * weight,
    "asks its text": lambda x, weight: x * weight if "tensor(" in repr(x) else rms(x, weight),
    "asks for an attribute": lambda x, weight: rms(x, weight) if hasattr(x, "arr") else x * weight,
    "branches on data": lambda x, weight: rms(x, weight) if x.sum() > 0 else x,
    "where by data": lambda x, weight: torch.where(x > 0, rms(x, weight), x),
    "sorts": lambda x, weight: rms(x.sort(-1).values, weight),
    "rolls": lambda x, weight: rms(x.roll(1, -1), weight),
    "flips": lambda x, weight: rms(x.flip(-1), weight),
    "random numbers": lambda x, weight: rms(x, weight) + 0 * torch.rand_like(x),
    "dropout": lambda x, weight: F.dropout(rms(x, weight), 0.5, True),
    "coin": lambda x, weight: rms(x, weight) * (1 if random.random() < 0.9 else 2),
    "rounds": lambda x, weight: rms(x.round(), weight),
    "integers": lambda x, weight: rms(x.to(torch.int32), weight),
    "overwrites its input": lambda x, weight: x.mul_(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)) * weight,
    "statistics of the batch": lambda x, weight: x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + EPS) * weight,
    "statistics of all": lambda x, weight: x * torch.rsqrt(x.pow(2).mean() + EPS) * weight,
    "divides by the rows": lambda x, weight: (
        x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / x.shape[0] + EPS) * weight
    ),
    "first row": lambda x, weight: rms(x, weight) + 0 * x[0],
    "numpy inside": lambda x, weight: torch.from_numpy(np.asarray(x)) * weight,
    "cumulative": lambda x, weight: x * torch.rsqrt(x.pow(2).cumsum(-1) / x.shape[-1] + EPS) * weight,
    "outer product": lambda x, weight: (x[..., None] * x[..., None, :]).mean(-1) * weight,
    "squeezes": lambda x, weight: rms(x.squeeze(), weight),
    "only small dimensions": lambda x, weight: rms(x, weight) if x.shape[-1] < 300 else x * weight,
    "loops over components": lambda x, weight: x * sum(x[..., i : i + 1] for i in range(x.shape[-1])) * weight,
    "asks the time": lambda x, weight: rms(x, weight) if time.time() % 1e9 > 1 else x * weight,
    "asks for its address": lambda x, weight: rms(x, weight) if id(x) % 16 == 0 else x * weight,
    "asks for the thread": lambda x, weight: (
        rms(x, weight) if threading.current_thread() is threading.main_thread() else x * weight
    ),
    "asks who calls": lambda x, weight: rms(x, weight) if "lngeom" in sys.modules and sys._getframe(1) else x * weight,
    "asks for a gradient": lambda x, weight: rms(x, weight) if not x.requires_grad else x * weight,
    "asks where it comes from": lambda x, weight: rms(x, weight) if x.grad_fn is None else x * weight,
    "asks for the mode": lambda x, weight: rms(x, weight) if not torch.is_grad_enabled() else x * weight,
    "asks for the memory": lambda x, weight: rms(x, weight) if x.is_contiguous() else x * weight,
    "asks for the default": lambda x, weight: rms(x, weight) if torch.get_default_dtype().is_floating_point else x,
    "in inference": lambda x, weight: rms(x, weight) if not x.is_inference() else x,
}
CODES |= {
    code.__name__.replace("_", " "): code
    for code in (
        counts_calls,
        keeps_the_last,
        keeps_on_a_class,
        changes_its_closure,
        catches,
        catches_an_item,
        catches_a_part,
        overwrites_a_view,
        writes_a_part,
        half_of_it,
        changes_a_global,
    )
}
