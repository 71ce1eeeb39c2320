"""Which closed form came out instead of a derivative: its terms are fitted, and the one that is off is told.

With h = g∘ȳ, n the normalized row and r the reciprocal of the root, d/dx = r(a·h − b·mean h − c·n·mean(h∘n)) at
a = b = c = 1, without centring at b = 0. Of ordinary rows alone, within the bounds of a correct pass.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..sentences import Statement
from .definition import Definition
from .family import Sample

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


def summed(terms: np.ndarray, got: np.ndarray, bound: np.ndarray) -> Statement | None:
    """What was summed instead of all rows of `terms`, shape (n, d), where `got` is off by more than `bound`."""
    total, n = terms.sum(0), len(terms)
    wrong = abs(got - total) > bound

    def held(values: np.ndarray) -> bool:
        return bool((abs(got - values) <= bound)[wrong].all())

    def at(how: Statement) -> Statement:
        return how if wrong.all() else Statement("of places", places(wrong), how)

    if held(0 * total):
        return at(Statement("is zero"))
    if held(total / n):
        return at(Statement("mean of rows"))
    for text, ordered in (("first", terms), ("last", terms[::-1])):
        sums = ordered.cumsum(0)
        k = next((k for k in range(1, n) if held(sums[k - 1])), None)
        if k is not None:
            return at(Statement("rows alone", text, k, n))
    orders = [(Statement("shifted", k), np.roll(total, k)) for k in range(1, len(total))]
    orders += [(Statement("reversed"), total[::-1]), (Statement("first for all"), total[:1] + 0 * total)]
    known = next((text for text, values in orders if (abs(got - values) <= bound.max()).all()), None)
    if known or (abs(np.sort(got) - np.sort(total)) <= bound.max()).all():
        return known or Statement("in another order")
    factor = np.median((got / np.where(total == 0, 1, total))[wrong])
    return at(Statement("times 6", factor)) if held(factor * total) and f"{factor:.6g}" != "1" else None


def places(wrong: np.ndarray, noun: str = "component") -> Statement:
    """Positions of components or rows, a mask of shape (d,): a range, a range of each block, or how many."""
    d, at = len(wrong), np.flatnonzero(wrong)
    if not len(at) or len(at) == d:
        return Statement("all" if len(at) else "none", noun)
    first, last = int(at[0]), int(at[-1])
    if len(at) == last - first + 1:
        one = Statement("last", noun) if last == d - 1 else Statement("at", noun, first)
        return one if first == last else Statement("range", noun, first, last)
    for period in range(2, d // 2 + 1):
        block = wrong[:period]
        if (np.resize(block, d) == wrong).all() and block.any():
            return Statement("period", places(block, noun), period)
    ends = np.flatnonzero(np.diff(at) > 1)
    if len(ends) > 3:
        return Statement("count", len(at), d, noun, first)
    parts = np.split(at, ends + 1)
    runs = " and ".join(f"{a[0]} to {a[-1]}" if len(a) > 1 else f"{a[0]}" for a in parts)
    return Statement("runs", noun, runs)
