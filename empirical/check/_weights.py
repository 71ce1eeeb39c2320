"""Two forms of one model beside their norms: the weights of the same name, and the logits."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ._doctor import Tokens


class Compared(NamedTuple):
    """A comparison of two forms of one model.

    Attributes:
        weights: How many tensors of the same name and shape both have.
        different: Name of each that differs by more than the rounding of the coarser format, and how.
        logits: Largest difference of a logit, and mean divergence of the predictions in nats; None without logits.
    """

    weights: int
    different: tuple[tuple[str, str], ...]
    logits: tuple[float, float] | None


def compare_weights(source: nn.Module, port: nn.Module, ids: Tokens, *, quantized: bool = False) -> Compared:
    """The weights that both have, and the logits at the token ids.

    Of a `quantized` form only a common factor tells, and a difference of half the length of a weight.
    """
    mine, theirs = dict(source.named_parameters()), dict(port.named_parameters())
    shared = [name for name, weight in mine.items() if name in theirs and theirs[name].shape == weight.shape]
    texts = ((name, _difference(mine[name], theirs[name], 0.5 if quantized else 0.0)) for name in shared)
    different = tuple((name, text) for name, text in texts if text is not None)
    return Compared(len(shared), different, _logits(source, port, torch.as_tensor(ids)))


def _difference(mine: Tensor, other: Tensor, allowed: float) -> str | None:
    """How a weight differs, None if by no more than one rounding to the coarser of both formats.

    Beyond a factor s it may be off by `allowed` of its length. Where the rest is r of that length, quantization alone
    takes s to 1 - r^2 (each level the mean of its values), and chance to 1 ± r/sqrt(n).
    """
    unit, tiny = (max(getattr(torch.finfo(w.dtype), name) for w in (mine, other)) for name in ("eps", "tiny"))
    a, b = mine.detach().double(), other.detach().double()
    if ((a - b).abs() <= unit * torch.maximum(a.abs(), b.abs()) + tiny).all():
        return None
    size = float(a.norm())
    if not size:
        return "was 0"
    factor = float((a * b).sum()) / size**2
    rest = float((b - factor * a).norm()) / size
    if factor > 0 and rest < 0.5 and abs(factor - 1) > rest**2 + 4 * rest / a.numel() ** 0.5 + unit:
        return f"multiplied by {factor:.6g}" + (f", the rest off by {rest:.2g} of its length" if rest > unit else "")
    return None if rest <= allowed else f"off by {rest:.2g} of its length"  # of a NaN, too


def _logits(source: nn.Module, port: nn.Module, ids: Tensor) -> tuple[float, float] | None:
    with torch.inference_mode():
        mine, other = (getattr(model(ids), "logits", None) for model in (source, port))
    if mine is None or other is None or mine.shape != other.shape:
        return None
    p, q = (values.double().log_softmax(-1) for values in (mine, other))
    return float((mine.double() - other.double()).abs().max()), float((p.exp() * (p - q)).sum(-1).mean())


def described(compared: Compared) -> Iterator[str]:
    """Sentences that say what was compared and what differs."""
    names = [f"  {name}: {text}" for name, text in compared.different]
    if not compared.weights:
        yield "no weights of the same name and shape: not compared"
    elif not names:
        yield f"all {compared.weights} weights are the same, within rounding"
    else:
        yield f"{len(names)} of {compared.weights} weights differ:"
        yield from names[:10]
        yield from [f"  and {len(names) - 10} more"] if len(names) > 10 else []
    if compared.logits is None:
        yield "no logits: not compared"
    else:
        largest, nats = compared.logits
        yield f"logits differ by up to {largest:.3g}, predictions by {nats:.3g} nats a token"
