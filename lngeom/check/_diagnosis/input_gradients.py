"""Which closed form of d/dx came out instead: its three terms are fitted, and the one that is off is told.

With h = g∘ȳ, n the normalized row and r the reciprocal of the root, d/dx = r(a·h − b·mean h − c·n·mean(h∘n)) at
a = b = c = 1, without centring at b = 0. Of ordinary rows alone, within the bounds of a correct pass.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.rounding import Definition, Sample

from .pattern import places

Reals = Any
_FORMS = {
    "": (1, 1, 1, 0, 0),
    "gain missing": (0, 0, 0, 0, 0),
    "gain applied twice": (2, 2, 2, 0, 0),
    "gain applied after the correction terms, not before": (0, 0, 0, 0, 1),
    "gain applied again after the correction terms": (1, 1, 1, 0, 1),
    "mean of the cotangent taken without the gain": (1, 0, 1, 0, 0),
    "term along the output taken without the gain": (1, 1, 0, 0, 0),
    "both correction terms taken without the gain": (1, 0, 0, 0, 0),
    "term along the output multiplied by the gain": (1, 1, 1, 1, 0),
}
"""Powers of the gain in the three terms, before n, and behind all."""
_POWERS = {1: "", 0: "not divided by the root", 2: "divided by the root twice", 3: "divided by the root three times"}


def _mean(values: Reals) -> Reals:
    return values.mean(-1, keepdims=True)


def pulled(x: Reals, y: Reals, got: Reals, bound: Reals, base: Definition) -> str | None:
    """What is off in `got`, shape (n, d), of the derivative by `x` for the cotangent `y`; None if no form gives it."""
    rows, d, zero = Sample(x), x.shape[-1], (got == 0).all(0)
    if zero.any() and not zero.all():
        return f"{places(zero)} zero"
    n = replace(base, gain=None, bias=None).output(rows).astype(float)
    r = np.asarray(base.reciprocal(base.exact(rows)[1], rows), dtype=float)
    g = np.ones(d) if base.gain is None else base.gain.astype(float)
    for power, scaled in _POWERS.items():
        for text, (h, m, c, before, behind) in _FORMS.items():
            terms = y * g**h, 0 * y - _mean(y * g**m), -(g**before) * n * _mean(y * g**c * n)
            factors = _fitted([g**behind * r**power * term / bound for term in terms], got / bound, d)
            if factors is not None:
                return ", ".join(filter(None, (text, scaled, _off(factors, d, centered=base.centered)))) or None
    return None


def instead(used: Reals, x: Reals, base: Definition, unit: float) -> str | None:
    """What `used`, shape (n, d), is that should be the normalized values of the rows `x`; None if nothing known.

    Up to 64d roundings `unit`.
    """
    gain, bias = np.ones(1) if base.gain is None else base.gain, np.zeros(1) if base.bias is None else base.bias
    y, normal = base.output(Sample(x)), replace(base, gain=None, bias=None).output(Sample(x))
    known = {"the output": y, "the output less the bias": y - bias, "the deviation": base.exact(Sample(x))[2]}
    known |= {f"that of row i + {k} for row i": np.roll(normal, -k, 0) for k in range(1, len(x))}

    def held(values: Reals, size: Reals = 0.0) -> Any:
        return abs(used[..., None] - values) <= 64 * x.shape[-1] * unit * (1 + abs(values) + size)

    if (told := next((text for text, values in known.items() if held(values[..., None]).all()), None)) is not None:
        return told
    with np.errstate(all="ignore"):
        fits = held((y[..., None] - bias) / gain, (abs(y[..., None]) + abs(bias)) / abs(gain))
    if not fits.any(-1).all() or np.diagonal(fits, axis1=1, axis2=2).all():
        return None
    steady, at = fits.all(0), int(np.diagonal(fits.all(0)).argmin())
    which = f" (of {int(steady[at].argmax())} for {at})" if steady.any(-1).all() else ", which depend on the row"
    return f"the output recovered with the gain and bias of other components{which}"


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


def _off(factors: list[Any], d: int, *, centered: bool) -> str:
    """The terms whose factor is not the right one, in words."""
    a, b, c = factors
    if a == c and b == a * centered:
        return "" if a == 1 else "zero" if a == 0 else f"multiplied by {a:.4g}"
    if (a, b, c) == (1, 0, 0):
        return "both correction terms missing" if centered else "term along the output missing"
    mean, along = "mean of the cotangent", "term along the output"
    told = [] if a == 1 else [f"cotangent itself multiplied by {a:.4g}"]
    if b != centered:
        words: dict[float, str] = {
            0: f"{mean} not subtracted",
            -1: f"sign of the {mean} wrong",
            2: f"{mean} subtracted twice",
        }
        words |= {1: f"{mean} subtracted as in LayerNorm", d: "sum of the cotangent subtracted, not its mean"}
        told.append(words.get(b, f"{mean} multiplied by {b:.4g}"))
    if c != 1:
        words: dict[float, str] = {
            0: f"{along} missing",
            -1: f"sign of the {along} wrong",
            2: f"{along} doubled",
            0.5: f"{along} halved",
        }
        words |= {d: "sum along the output subtracted, not its mean", d / (d - 1): f"{along} divided by d - 1"}
        told.append(words.get(c, f"{along} multiplied by {c:.4g}"))
    return ", ".join(told)
