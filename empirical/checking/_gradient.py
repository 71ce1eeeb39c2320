"""Derivatives of a norm kernel against the exact transposed Jacobian."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy

from lngeom import InputError, jacobian_transpose_product
from lngeom.rounding import REAL, Sample, Spread

if TYPE_CHECKING:
    from ._check import Judge, Trial

_GROUPS = ("ordinary rows", "rows of small variance", "rows with a massive entry", "ordered rows")


def check_gradient(judge: Judge, groups: list[tuple[str, numpy.ndarray]]) -> tuple[str, str | None, list[Trial]]:
    """Verdict, cause and trials of the derivatives by x, gain and bias, with cotangents of order 1."""
    from ._check import Trial

    trials = []
    for label, rows in groups:
        if label not in _GROUPS:
            continue
        x = judge.stored(rows)
        base = judge.base(x.shape[-1])
        cotangent = judge.stored(numpy.random.default_rng(7).normal(size=x.shape))
        computed = _computed(judge, x, cotangent)
        for name, (value, bound) in _exact(judge, x, cotangent).items():
            if computed.get(name) is None:
                continue
            got = numpy.atleast_2d(computed[name])
            with numpy.errstate(all="ignore"):
                ratio = numpy.where(got == value, 0, abs(got - value) / bound)
            ratio = numpy.where(numpy.isfinite(bound), ratio, 0)
            ratio = numpy.where(numpy.isfinite(got) | ~numpy.isfinite(bound), ratio, numpy.inf).astype(float)
            inputs = x if name == "x" else numpy.broadcast_to(x[:1], value.shape)
            trials.append(Trial(f"d/d{name} at {label}", inputs, got, base, ratio))
    wrong = sorted({trial.label.split(" at ")[0] for trial in trials if trial.wrong.any()})
    return ("bug", f"backward pass wrong: {', '.join(wrong)}", trials) if wrong else ("rounding", None, trials)


def _computed(judge: Judge, x: numpy.ndarray, cotangent: numpy.ndarray) -> dict[str, numpy.ndarray]:
    kernel, d = judge.kernel, x.shape[-1]
    read = kernel.framework.read
    parameters = kernel.parameters(d)
    own = kernel.holds(d)
    names = ["x", *(n for n, p in zip(("gain", "bias"), parameters, strict=True) if p is not None and not own)]
    values = [x, *(p for p in parameters if p is not None and not own)]
    arrays = [kernel.array(value) for value in values]

    def forward(*given: Any) -> Any:
        by_name = dict(zip(names, given, strict=True))
        return kernel.call(by_name["x"], (by_name.get("gain"), by_name.get("bias")), d)

    if kernel.framework.name == "torch":
        torch = importlib.import_module("torch")
        leaves = [array.requires_grad_() for array in arrays]
        output = forward(*leaves)
        found = torch.autograd.grad(output, leaves, kernel.array(cotangent).to(output.dtype), allow_unused=True)
        return {n: read(g) for n, g in zip(names, found, strict=True) if g is not None}
    if kernel.framework.name == "jax":
        jax = importlib.import_module("jax")
        output, pull = jax.vjp(forward, *arrays)
        return {n: read(g) for n, g in zip(names, pull(kernel.array(cotangent).astype(output.dtype)), strict=True)}
    msg = f"{kernel.name} is a {kernel.framework.name} kernel: --backward needs PyTorch or JAX to differentiate it"
    raise InputError(msg)


def _exact(judge: Judge, x: numpy.ndarray, cotangent: numpy.ndarray) -> dict[str, tuple[numpy.ndarray, numpy.ndarray]]:
    """Derivative and bound of its error for x, gain and bias.

    x̄ = p(h − A − Bĉ). A and B are sums of d terms, hence within γ_{2d+16} of their absolute sums in any order; ĉ and p
    carry the errors α and θ of the forward pass; automatic differentiation of a composite formula rounds each of the
    three terms fewer than 16 times, and adds what −Σ of its parts leaves of the mean, another such sum.
    """
    base, sample = judge.base(x.shape[-1]), Sample(x)
    u, storage = float(judge.arithmetic.work.roundoff), float(judge.arithmetic.storage.roundoff)
    spread = Spread.of(sample, judge.arithmetic, centered=base.centered)
    _, square, numerator = base.exact(sample)
    with numpy.errstate(all="ignore"):
        p = base.reciprocal(square, sample)
        theta = numpy.maximum(spread.high - square, square - spread.low) / (square + base.eps)
        # Kernels may keep mean and scale for the backward pass in the format of x.
        kept = 2 * storage * (storage > u)
        theta = theta + 2 * kept
        normal, shift = numerator * p, (spread.alpha + kept * abs(sample.mean) * base.centered) * p
        gain = numpy.ones(x.shape[-1], dtype=REAL) if base.gain is None else base.gain
        h = cotangent * gain
        size = numpy.mean(abs(h), axis=-1, keepdims=True)
        product = numpy.mean(abs(h * normal), axis=-1, keepdims=True) + size * shift
        k = (4 * x.shape[-1] + 32) * u
        rough = abs(h) + size + (abs(normal) + shift) * product
        bound = p * (rough * (k + 2 * theta + 4 * storage) + 2 * shift * (size * abs(normal) + product))
        exact = jacobian_transpose_product(
            sample.x, cotangent.astype(REAL), base.gain, eps=base.eps, centered=base.centered
        )
        terms = abs(cotangent * normal).sum(axis=0)
        moved = (abs(cotangent) * (shift + (theta + (x.shape[0] + 16) * u) * abs(normal))).sum(axis=0)
        return {
            "x": (exact, bound + float(judge.arithmetic.storage.tiny)),
            "gain": ((cotangent * normal).sum(axis=0)[None], (moved + 4 * storage * len(x) * terms)[None] + 1e-37),
            "bias": (cotangent.sum(axis=0)[None], (2 * len(x) * storage * abs(cotangent).sum(axis=0))[None] + 1e-37),
        }
