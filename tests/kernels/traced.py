"""Hand-written kernels and their verdicts; half of them look right and are wrong."""

import numpy as np
import torch
from torch.nn import functional as F

from .derived import mean, square


def _in_place(x, weight, eps=1e-6):
    y = x.clone()
    y.mul_(torch.rsqrt(square(x) + eps))
    return y.mul_(weight)


def _branch(x, weight, eps=1e-6):
    if x.shape[-1] > 1024:
        return x * torch.rsqrt(square(x) + eps) * weight
    return weight * (x / torch.sqrt(x.pow(2).sum(-1, keepdim=True) / x.size(-1) + eps))


def _halves(combine):
    def kernel(x, weight, bias, eps=1e-5):
        half = x.shape[-1] // 2
        parts = x[..., :half], x[..., half:]
        center = combine([part.sum(-1, keepdim=True) for part in parts], x.shape[-1], half)
        spread = sum((part - center).square().sum(-1, keepdim=True) for part in parts) / x.shape[-1]
        return torch.cat([(part - center) * torch.rsqrt(spread + eps) for part in parts], dim=-1) * weight + bias

    return kernel


def _strided(steps, first=0):
    def kernel(x, weight, eps=1e-6):
        total = sum(x[..., k::4].square().sum(-1, keepdim=True) for k in range(steps))
        head, tail = x[..., :64], x[..., 64 + first :]
        whole = head.square().sum(-1, keepdim=True) + tail.square().sum(-1, keepdim=True)
        return x * torch.rsqrt((total + whole) / (2 * x.shape[-1]) + eps) * weight

    return kernel


def _shifted(x, weight, bias, eps=1e-5):
    shifted = x - x[..., :1]
    offset = x[..., 0].unsqueeze(-1) + mean(shifted)
    return (x - offset) * torch.rsqrt(square(shifted) - mean(shifted) ** 2 + eps) * weight + bias


def _flat(x, weight, bias, eps=1e-5):
    return F.layer_norm(x.reshape(-1, x.shape[-1]), (x.shape[-1],), weight, bias, eps).view(x.shape)


def _moments(x, weight, bias, eps=1e-5):
    variance, average = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)
    return (x - average) * torch.rsqrt(variance + eps) * weight + bias


def _scaled(scale):
    return lambda x, weight, eps=1e-6: x * scale(x, eps) * weight


def _divided(root):
    return lambda x, weight, bias, eps=1e-5: (x - mean(x)) / root(x, eps) * weight + bias


def _pieces(split, count=8):
    def kernel(x, weight, eps=1e-6):
        parts, gains = split(x), split(weight)
        scale = torch.rsqrt(sum(part.square().sum(-1, keepdim=True) for part in parts[:count]) / x.shape[-1] + eps)
        return torch.cat([part * scale * gain for part, gain in zip(parts, gains, strict=True)], dim=-1)

    return kernel


def _by_largest(factor):
    def scale(x, eps):
        largest = x.abs().amax(-1, keepdim=True).clamp(min=0.5)
        return torch.rsqrt(square(x / largest) + factor * eps / largest**2) / largest

    return _scaled(scale)


PROVED = {
    "split in two": _pieces(lambda x: x.split([x.shape[-1] // 3, x.shape[-1] - x.shape[-1] // 3], -1)),
    "a component alone": lambda x, weight, bias, eps=1e-5: (
        x - x + bias if x.shape[-1] == 1 else _moments(x, weight, bias, eps)
    ),
    "hypotenuse": _scaled(lambda x, eps: 1 / torch.hypot(square(x).sqrt(), x.new_full((), eps).sqrt())),
    "linear": _scaled(lambda x, eps: torch.rsqrt(F.linear(x * x, x.new_ones(1, x.shape[-1]) / x.shape[-1]) + eps)),
    "a choice that is known": _scaled(lambda x, eps: torch.where(square(x) + eps > 0, (square(x) + eps) ** -0.5, x)),
    "a choice that changes nothing": lambda x, weight, eps=1e-6: (
        torch.where(x != 0, x * torch.rsqrt(square(x) + eps), 0 * x) * weight
    ),
    "by logarithms": _scaled(lambda x, eps: torch.exp(torch.log(square(x) + eps) / -2)),
    "scaled by the largest": _by_largest(1),
    "by its length": _scaled(lambda x, eps: torch.rsqrt(torch.norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps)),
    "a gain with new axes": lambda x, weight, eps=1e-6: x * torch.rsqrt(square(x) + eps) * weight[None, :],
    "into memory": lambda x, weight, eps=1e-6: torch.mul(x * (square(x) + eps) ** -0.5, weight, out=0 * x),
    "halves": _halves(lambda sums, d, half: (sums[0] + sums[1]) / d),
    "every fourth": _strided(4),
    "shifted by its first component": _shifted,
    "one pass": _divided(lambda x, eps: (square(x) - mean(x) ** 2 + eps).sqrt()),
    "one pass, clamped": _divided(lambda x, eps: torch.sqrt((square(x) - mean(x) ** 2).clamp_min(0) + eps)),
    "fused rms": lambda x, weight, eps=1e-6: F.rms_norm(x, (x.shape[-1],), weight, eps),
    "in place": _in_place,
    "einsum": _scaled(lambda x, eps: (torch.einsum("bld,bld->bl", x, x)[..., None] / x.shape[-1] + eps).rsqrt()),
    "einsum of three": lambda x, weight, eps=1e-6: torch.einsum(
        "...d,...,d->...d", x, (torch.einsum("...d,...d->...", x, x) / x.shape[-1] + eps).rsqrt(), weight
    ),
    "a power": _scaled(lambda x, eps: torch.pow(square(x) + eps, -0.5)),
    "branch on the size": _branch,
    "rows flattened": _flat,
    "no gain": lambda x, eps=1e-6: x * (square(x) + eps).rsqrt(),
    "residual": lambda x, residual, weight, eps=1e-6: (x + residual) * (square(x + residual) + eps).rsqrt() * weight,
    "residual, centred": lambda x, residual, weight, bias, eps=1e-5: F.layer_norm(
        x + residual, x.shape[-1:], weight, bias, eps
    ),
}
VARIANT = {
    "outside": lambda x, weight, eps=1e-6: weight * x / (square(x).sqrt() + eps),
    "1 + weight": lambda x, weight, eps=1e-6: (1 + weight) * (x * (square(x) + eps).rsqrt()),
    "d - 1": _divided(lambda x, eps: x.std(-1, keepdim=True) + eps),
    "gated": lambda x, gate, weight, eps=1e-6: weight * (x * F.silu(gate)) * (square(x * F.silu(gate)) + eps).rsqrt(),
    "gain inside": lambda x, weight, eps=1e-6: (weight * x) * (square(weight * x) + eps).rsqrt(),
    "one size": _scaled(lambda x, eps: (x.pow(2).sum(-1, keepdim=True) / 64 + eps).rsqrt()),
    "at least eps": lambda x, weight, eps=1e-6: (
        x / (torch.norm(x, dim=-1, keepdim=True) * x.shape[-1] ** -0.5).clamp(min=eps) * weight
    ),
    "length": lambda x, weight: F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * weight,
}
REFUTED = {
    "scaled by the largest with half of eps": _by_largest(0.5),
    "by logarithms without half": _scaled(lambda x, eps: torch.exp(-torch.log(square(x) + eps))),
    "a component that is its gain": lambda x, weight: torch.where(x == weight, x, _in_place(x, weight)),
    "a chunk left out": _pieces(lambda x: x.chunk(2, -1), 1),
    "mean of the halves' means": _halves(lambda sums, d, half: sums[0] / (2 * half) + sums[1] / (2 * (d - half))),
    "without the 65th": _strided(4, 1),
    "eps on the sum": _scaled(lambda x, eps: (mean(x * x + eps) + eps).rsqrt()),
    "mean after": lambda x, w, b, eps=1e-5: (lambda y: (y - mean(y)) * w + b)(x * (square(x) + eps).rsqrt()),
}
NOT_TRACED = {
    "a choice by data": _scaled(lambda x, eps: torch.where(x > 0, x, (square(x) + eps) ** -0.5)),
    "a mask that is multiplied": _scaled(lambda x, eps: (square(x) + eps) ** -0.5 * (x != 0)),
    "a product of matrices": lambda x, weight, eps=1e-6: (x @ x.mT) @ x * weight * eps,
}


def _average(x):
    return np.mean(x, axis=-1, keepdims=True)


def _out(x, g, eps=1e-6):
    y = np.empty_like(x)
    np.multiply(x, 1 / np.sqrt(_average(x * x) + eps), out=y)
    y *= g
    return y


class _Kept:
    def __init__(self, eps):
        self.eps, self.last = eps, None

    def __call__(self, x, g):
        self.last = x / np.hypot(np.sqrt(_average(x * x)), np.sqrt(self.eps))
        return self.last * g


NUMPY = {
    "an object of the call": lambda x, g, eps=1e-6: _Kept(eps)(x, g),
    "layer": lambda x, gamma, beta, eps=1e-5: (
        gamma * (x - _average(x)) / np.sqrt(np.var(x, axis=-1, keepdims=True) + eps) + beta
    ),
    "out": _out,
    "clipped": lambda x, g, b, eps=1e-5: (
        (x - _average(x)) / np.sqrt(np.maximum(_average(x * x) - np.square(_average(x)), 0) + eps) * g + b
    ),
    "variant d - 1": lambda x, g, b, eps=1e-5: (x - _average(x)) / (x.std(-1, ddof=1, keepdims=True) + eps) * g + b,
}
KERNELS = [("proved", PROVED), ("variant", VARIANT), ("refuted", REFUTED), ("not traced", NOT_TRACED)]
