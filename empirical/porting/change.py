"""How an array of weights became another one, where that has a name."""

from collections.abc import Iterable

import torch
from torch import Tensor


def change(old: Tensor, new: Tensor, unit: float, others: Iterable[tuple[str, Tensor]] = ()) -> str:
    """The name of the change from `old` to `new`, else where they differ and by how much.

    Args:
        old, new: float64, not equal.
        unit: Twice the unit roundoff of the coarser format: a name holds if each number is off by two of these at most.
        others: Weights of the source that may stand in this one's place.
    """
    if old.shape != new.shape:
        turned = old.ndim > 1 and old.mT.shape == new.shape and torch.equal(old.mT, new)
        return "transposed" if turned else f"shape {tuple(new.shape)} for {tuple(old.shape)}"
    if not new.isfinite().all():
        return "off by nan of its length"
    if not new.any():
        return "all zero"
    if not old.any():
        return f"0 in the source, up to {float(new.abs().max()):.3g} in the port"

    def near(that: Tensor, least: float = 0.0) -> bool:
        return bool(((new - that).abs() <= 2 * unit * torch.maximum(new.abs(), that.abs()).clamp(min=least)).all())

    if known := _rounded_to(old, new, unit):
        return f"rounded to {known}"
    if near(-old):
        return "negated"
    if old.ndim == 1 and (near(old + 1, 1.0) or near(old - 1, 1.0)):  # of which the 1 leaves a rounding
        return "1 + w for w" if float((new - old).sum()) > 0 else "w for 1 + w"
    if old.ndim > 1 and old.shape[-2] == old.shape[-1] and near(old.mT):
        return "transposed"
    if other := next((name for name, that in others if that.shape == new.shape and near(that.double())), None):
        return f"that of {other}"
    return _pattern(old, new, unit)


def _rounded_to(old: Tensor, new: Tensor, unit: float) -> str:
    """The format that the numbers were rounded to, whatever they are stored in; of int8 each row has a scale."""
    for kind in (torch.float16, torch.bfloat16):
        if torch.equal(old.to(kind).double(), new):
            return str(kind).removeprefix("torch.")
    slack = 4 * 127 * unit
    if old.ndim != 2 or 4 * slack > 1:  # too coarse to tell 255 levels apart
        return ""
    for scale in (new.abs().amax(dims, keepdim=True) / 127 for dims in ((1,), (0,), (0, 1))):
        levels = new / scale.clamp(min=torch.finfo(new.dtype).tiny)
        whole = ((levels - levels.round()).abs() <= slack).all()
        if whole and ((old - new).abs() <= scale * (0.5 + slack)).all():
            return "int8"
    return ""


def _pattern(old: Tensor, new: Tensor, unit: float) -> str:
    """Permuted, multiplied, wrong in some places, or how far off."""
    off, size = (old - new).abs(), torch.maximum(old.abs(), new.abs())
    wrong = off > unit / 2 * size
    factor, rest = projected(old, new)
    many = 10 * off.count_nonzero() > off.numel()  # a fault of few numbers is told by its place
    if many and abs(factor - 1) < unit / 4 and (off <= 2 * unit * size).all():
        return f"off by a rounding or two, by up to {float(off.max()):.3g}"
    ordered = [values[wrong].sort().values for values in (old, new)]
    if wrong.any() and torch.allclose(*ordered, rtol=unit, atol=0):
        return "permuted"
    if ((new - factor * old).abs() <= unit * new.abs()).all():
        return f"multiplied by {factor:.8g}"
    at, most = wrong.nonzero().tolist(), [int(i) for i in torch.unravel_index(off.argmax(), off.shape)]
    if 0 < len(at) < old.numel() / 2:
        return f"off in {len(at)} of {old.numel()} numbers, first at {at[0]}, by up to {float(off.max()):.3g} at {most}"
    length = (factor**2 + rest**2) ** 0.5
    if rest < 0.5 * length and not chance(factor, rest, old.numel()):
        text = f"multiplied by {factor:.3g}, the rest off by {rest:.2g} of its length"
        return f"negated: {text}" if factor < 0 else text
    if abs(factor) <= length * min(0.1, 8 / old.numel() ** 0.5):  # as far from 0 as chance takes it
        return f"unrelated to the source's (correlation {factor / length:.2g})"
    return f"off by {float(off.norm() / old.norm()):.2g} of its length"


def projected(old: Tensor, new: Tensor) -> tuple[float, float]:
    """The factor that brings `old` nearest to `new`, and the remainder in lengths of `old`."""
    size = float(old.norm())
    factor = float((old * new).sum()) / size**2
    return factor, float((new - factor * old).norm()) / size


def chance(factor: float, rest: float, count: int) -> bool:
    """Whether quantization accounts for a factor, where the rest is r of the length of n numbers.

    Levels that are means of their values take the factor to 1 - r^2, and chance to 1 ± r/sqrt(n): eight of those.
    """
    return abs(factor - 1) <= rest**2 + 8 * rest / count**0.5 + 2**-23
