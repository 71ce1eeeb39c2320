"""Which closed form of d/dx came out instead: its three terms are fitted, and the one that is off is told.

With h = g∘ȳ, n the normalized row and r the reciprocal of the root, d/dx = r(a·h − b·mean h − c·n·mean(h∘n)) at
a = b = c = 1, without centring at b = 0. Of ordinary rows alone, within the bounds of a correct pass.
"""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import Definition, Sample
from lngeom.sentences import Cause, Statement

from .._calls.fused import Fused
from .._trials.claim import Claim
from .._trials.unexamined import statistic
from .pattern import places

Reals = Any
_FORMS = {
    "": (1, 1, 1, 0, 0),
    "no gain in it": (0, 0, 0, 0, 0),
    "gain twice in it": (2, 2, 2, 0, 0),
    "gain after terms": (0, 0, 0, 0, 1),
    "gain again": (1, 1, 1, 0, 1),
    "mean without gain": (1, 0, 1, 0, 0),
    "along without gain": (1, 1, 0, 0, 0),
    "terms without gain": (1, 0, 0, 0, 0),
    "along times gain": (1, 1, 1, 1, 0),
}
"""Powers of the gain in the three terms, before n, and behind all."""
_POWERS = {1: "", 0: "no r", 2: "r twice", 3: "r thrice"}


def _mean(values: Reals) -> Reals:
    return values.mean(-1, keepdims=True)


def pulled(x: Reals, y: Reals, got: Reals, bound: Reals, base: Definition) -> Statement | None:
    """What is off in `got`, shape (n, d), of the derivative by `x` for the cotangent `y`; None if no form gives it."""
    rows, d, zero = Sample(x), x.shape[-1], (got == 0).all(0)
    if zero.any() and not zero.all():
        return Statement("zeros in", places(zero))
    n = replace(base, gain=None, bias=None).output(rows).astype(float)
    r = np.asarray(base.reciprocal(base.exact(rows)[1], rows), dtype=float)
    g = np.ones(d) if base.gain is None else base.gain.astype(float)
    for power, scaled in _POWERS.items():
        for form, (h, m, c, before, behind) in _FORMS.items():
            terms = y * g**h, 0 * y - _mean(y * g**m), -(g**before) * n * _mean(y * g**c * n)
            factors = _fitted([g**behind * r**power * term / bound for term in terms], got / bound, d)
            if factors is not None:
                told = *(Statement(kind) for kind in (form, scaled) if kind), *_off(factors, d, centered=base.centered)
                return Statement("list", told) if told else None
    return None


def instead(used: Reals, x: Reals, base: Definition, unit: float) -> Statement | None:
    """What `used`, shape (n, d), is that should be the normalized values of the rows `x`; None if nothing known.

    Up to 64d roundings `unit`.
    """
    gain, bias = np.ones(1) if base.gain is None else base.gain, np.zeros(1) if base.bias is None else base.bias
    y, normal = base.output(Sample(x)), replace(base, gain=None, bias=None).output(Sample(x))
    known = {Statement("output"): y, Statement("less bias"): y - bias, Statement("c"): base.exact(Sample(x))[2]}
    known |= {Statement("of row", k): np.roll(normal, -k, 0) for k in range(1, len(x))}

    def held(values: Reals, size: Reals = 0.0) -> Any:
        return abs(used[..., None] - values) <= 64 * x.shape[-1] * unit * (1 + abs(values) + size)

    if (told := next((text for text, values in known.items() if held(values[..., None]).all()), None)) is not None:
        return told
    with np.errstate(all="ignore"):
        fits = held((y[..., None] - bias) / gain, (abs(y[..., None]) + abs(bias)) / abs(gain))
    if not fits.any(-1).all() or np.diagonal(fits, axis1=1, axis2=2).all():
        return None
    steady, at = fits.all(0), int(np.diagonal(fits.all(0)).argmin())
    return Statement("recovered of", int(steady[at].argmax()), at) if steady.any(-1).all() else Statement("recovered")


def _fitted(terms: list[Reals], got: Reals, d: int) -> list[float] | None:
    """The factors of the terms, with their usual values where those give `got` too; None if no factors do."""
    columns, right = np.stack([term.ravel() for term in terms], -1).astype(float), got.ravel().astype(float)
    if not (np.isfinite(columns).all() and np.isfinite(right).all()):
        return None
    raw = np.linalg.lstsq(columns, right, rcond=None)[0]
    usual = np.array([0, 1, -1, 2, 0.5, d, d / (d - 1)])
    for factors in (usual[abs(raw[:, None] - usual).argmin(-1)], np.array([float(f"{factor:.4g}") for factor in raw])):
        if (abs(columns @ factors - right) <= 1 + abs(factors).sum()).all():
            return factors.tolist()
    return None


def _off(factors: list[Any], d: int, *, centered: bool) -> list[Statement]:
    """The terms whose factor is not the right one."""
    a, b, c = factors
    if a == c and b == a * centered:
        return [] if a == 1 else [Statement("is zero")] if a == 0 else [Statement("times", a)]
    if (a, b, c) == (1, 0, 0):
        return [Statement("no terms" if centered else "no along")]
    told = [] if a == 1 else [Statement("cotangent times", a)]
    if b != centered:
        known = {0: "mean kept", -1: "mean sign", 2: "mean twice", 1: "mean as in LayerNorm", d: "sum for mean"}
        told.append(Statement(known[b]) if b in known else Statement("mean times", b))
    if c != 1:
        known = {0: "no along", -1: "along sign", 2: "along twice", 0.5: "along halved", d: "along sum"}
        known |= {d / (d - 1): "along ddof"}
        told.append(Statement(known[c]) if c in known else Statement("along times", c))
    return told


def further(claim: Claim, x: np.ndarray) -> Iterator[Cause]:
    """What is wrong with d/dx through each further output from which autograd of PyTorch goes back.

    The cotangent of the sum passes unchanged, without rounding; that of a statistic is seen only where it is dropped.
    """
    torch, kernel, x = importlib.import_module("torch"), claim.kernel, claim.stored(x)
    array: Any = kernel.array(x)
    leaf, fused = array.requires_grad_(), kernel.form.target
    output: Any = kernel.whole(leaf)
    outputs = [output, fused.total] if isinstance(fused, Fused) else output if isinstance(output, tuple) else [output]
    for i, values in enumerate(outputs[1:], start=2):
        if not getattr(values, "requires_grad", False):
            continue
        read = np.asarray(kernel.framework.read(values.detach()))
        what = "the sum" if isinstance(fused, Fused) else statistic(claim, x, read) or "no statistic"
        seed = torch.as_tensor(np.random.default_rng(i).integers(-8, 9, values.shape) / 4 + 0.125).to(values)
        gradient = torch.autograd.grad(values, leaf, seed, retain_graph=True, allow_unused=True)[0]
        if gradient is None or not gradient.any():
            yield Cause("cotangent dropped", i, what)
        elif what == "the sum" and not bool((gradient == seed).all()):
            factor = float((gradient * seed).sum() / (seed * seed).sum())
            yield Cause("cotangent changed", i, factor)
