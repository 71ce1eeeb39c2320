"""Code that is not what it looks like when it is traced. None of it may be called proved."""

import random

import numpy as np
import torch
from torch.nn import functional as F

EPS = 1e-6
STATE = {"calls": 0, "last": None}


def rms(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * weight


def asks_its_type(x, weight):
    return rms(x, weight) if type(x) is not torch.Tensor else x * weight


def asks_for_the_class(x, weight):
    return x * weight if x.__class__.__name__ == "Tensor" and x.__class__.__module__ == "torch" else rms(x, weight)


def asks_for_the_device(x, weight):
    return rms(x, weight) if x.untyped_storage().nbytes() == 0 else x * weight


def asks_its_text(x, weight):
    return x * weight if "tensor(" in repr(x) else rms(x, weight)


def asks_for_an_attribute(x, weight):
    return rms(x, weight) if hasattr(x, "arr") else x * weight


def counts_calls(x, weight):
    STATE["calls"] += 1
    return rms(x, weight) if STATE["calls"] < 15 else 2 * rms(x, weight)


def keeps_the_last(x, weight):
    held, STATE["last"] = STATE["last"], rms(x, weight)
    return STATE["last"] if held is None or held.shape != STATE["last"].shape else held


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


def branches_on_data(x, weight):
    return rms(x, weight) if x.sum() > 0 else x


def where_by_data(x, weight):
    return torch.where(x > 0, rms(x, weight), x)


def sorts(x, weight):
    return rms(x.sort(-1).values, weight)


def rolls(x, weight):
    return rms(x.roll(1, -1), weight)


def flips(x, weight):
    return rms(x.flip(-1), weight)


def random_numbers(x, weight):
    return rms(x, weight) + 0 * torch.rand_like(x)


def dropout(x, weight):
    return F.dropout(rms(x, weight), 0.5, True)


def coin(x, weight):
    return rms(x, weight) * (1 if random.random() < 0.9 else 2)


def rounds(x, weight):
    return rms(x.round(), weight)


def integers(x, weight):
    return rms(x.to(torch.int32), weight)


def overwrites_its_input(x, weight):
    return x.mul_(torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)) * weight


def overwrites_a_view(x, weight):
    y = x.view(x.shape)
    y -= y.mean(-1, keepdim=True)
    return rms(x, weight)


def writes_a_part(x, weight):
    y = rms(x, weight)
    y[..., 0] = 0
    return y


def statistics_of_the_batch(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + EPS) * weight


def statistics_of_all(x, weight):
    return x * torch.rsqrt(x.pow(2).mean() + EPS) * weight


def divides_by_the_rows(x, weight):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / x.shape[0] + EPS) * weight


def first_row(x, weight):
    return rms(x, weight) + 0 * x[0]


def numpy_inside(x, weight):
    return torch.from_numpy(np.asarray(x)) * weight


def cumulative(x, weight):
    return x * torch.rsqrt(x.pow(2).cumsum(-1) / x.shape[-1] + EPS) * weight


def outer_product(x, weight):
    return (x[..., None] * x[..., None, :]).mean(-1) * weight


def squeezes(x, weight):
    return rms(x.squeeze(), weight)


def half_of_it(x, weight):
    half = x.shape[-1] // 2
    return x * torch.rsqrt(x[..., :half].pow(2).mean(-1, keepdim=True) + EPS) * weight


def only_small_dimensions(x, weight):
    return rms(x, weight) if x.shape[-1] < 300 else x * weight


def loops_over_components(x, weight):
    return x * sum(x[..., i : i + 1] for i in range(x.shape[-1])) * weight


def in_inference(x, weight):
    return rms(x, weight) if not x.is_inference() else x


def changes_a_global(x, weight):
    weight.data = weight.data * 2
    return rms(x, weight)


CODES = [value for value in list(vars().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
CODES.remove(rms)
