r"""How far rounding can take one output of a network, to first order: one backward pass, with a bound at every call.

Let y be an output, v_k what call k makes, and |δ_k| ≤ β_k the rounding of that call alone. To first order in the unit
roundoff u the computed y differs from the exact one by Σ ⟨∂y/∂v_k, δ_k⟩, hence by at most Σ |∂y/∂v_k|·β_k, where one
backward pass gives every derivative. The local bounds are those of the standard model (Higham, Accuracy and Stability
of Numerical Algorithms, 2nd ed., sections 2.2, 3.1 and 3.5), for sums in any order, with γ_n = nu/(1 − nu):

    products of matrices, sums   γ_{n+2} of the same call on absolute values, n terms in each sum
    softmax p of x               u p (|x − max x| + Σ p|x − max x| + n + 8)
    attention                    the same, on scores with the error of their products, and a rescaling per key
    LayerNorm                    below, in the manner of lngeom.rounding.error_bound
    moved and selected           0; a cast, u of the new dtype
    everything else              8u(|v| + |x|), x the argument of a function of one argument

The bound adds the worst cases, which roundings do not all meet. If they are independent from call to call and from
output to output (those of a row that is normalized as a whole are not), with mean zero, Hoeffding's inequality bounds
their sum by λ √(Σ (|∂y/∂v|·β)²) with probability 1 − 2 exp(−λ²/2) (Higham and Mary, SIAM J. Sci. Comput. 41, 2019):
less where many roundings count, as in a network of real size.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ._trace import mapped

Options = dict[str, Any]
Bound = Callable[[float], Tensor]
"""Of the error of each entry, by the unit roundoff."""

_MOVED = frozenset(
    {
        "contiguous", "cat", "reshape", "view", "expand", "transpose", "permute", "__getitem__", "clone", "where",
        "masked_fill", "flatten", "unsqueeze", "squeeze", "chunk", "split", "unbind", "dropout", "repeat", "embedding",
        "repeat_interleave", "stack", "detach", "__get__", "requires_grad_", "__setitem__",
    }
)  # fmt: skip
_PRODUCTS = {"linear": 0, "addmm": 1, "matmul": 0, "__matmul__": 0, "bmm": 0, "baddbmm": 1, "mean": -1, "sum": -1}
_BY_ROW = ("softmax", "scaled_dot_product_attention", "layer_norm")
"""Calls whose outputs share the roundings of a row."""

_LAMBDA = math.sqrt(2 * math.log(2e12))
"""For a probability of 1 − 10⁻¹²."""

_CASTS = ("to", "type", "float", "double", "type_as")


def _layer_norm(x: Tensor, gain: Tensor | None, bias: Tensor | None, eps: float, u: float) -> Tensor:
    """First-order bound for PyTorch's LayerNorm, which merges partial moments.

    A sum passes through at most h additions: 16 in a chunk, log₂ d in the cascade, 16 across vector lanes.
    """
    d = x.shape[-1]
    h = 32 + math.ceil(math.log2(d)) if d > 1 else 32
    mean, var = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    scale = torch.sqrt(var + eps)
    alpha = 8 * h * u * x.abs().amax(-1, keepdim=True)
    levels = math.ceil(math.log2(max(d, 2))) / 2
    change = 4 * alpha * torch.sqrt(levels * var) + 4 * alpha**2 * levels + (2 * h + 8) * u * var
    relative = change / (2 * scale**2) + 6 * u
    centered = (x - mean).abs()
    error = (alpha + u * (3 * mean.abs() + centered + 2 * x.abs())) / scale + centered / scale * relative
    size = centered / scale
    if gain is not None:
        error, size = gain.abs() * error, gain.abs() * size
    return error + u * (3 * size + (0 if bias is None else 2 * bias.abs()))


def _attention(q: Tensor, k: Tensor, v: Tensor, given: Options) -> Bound:
    """Bound for softmax(q kᵀ s + mask) v in one call, whatever blocks it works in."""
    k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) if t.shape[-3] != q.shape[-3] else t for t in (k, v))
    scale = given.get("scale") or 1 / math.sqrt(q.shape[-1])
    scores, mask = q @ k.mT * scale, given.get("attn_mask")
    if mask is None and given.get("is_causal"):
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    p, n, products = scores.softmax(-1), scores.shape[-1], q.abs() @ k.abs().mT
    sizes = (scores - scores.amax(-1, keepdim=True)).abs_().add_(scores.abs())
    gone, values = ~(p > 0), v.abs()
    weighted = p @ values

    def bound(u: float) -> Tensor:  # in place: fresh memory for so many scores would cost as much as the arithmetic
        below = ((_gamma(q.shape[-1], u) + 3 * u) * products).mul_(scale)
        below.add_(u * sizes).masked_fill_(gone, 0.0)
        below.add_((p * below).sum(-1, keepdim=True)).add_((2 * n + 8) * u).mul_(p)
        return below @ values + _gamma(n, u) * weighted

    return bound


def _gamma(n: float, u: float) -> float:
    return (n + 2) * u / (1 - (n + 2) * u)


class _Bounds(TorchFunctionMode):
    def __init__(self, roundoffs: list[float]) -> None:
        super().__init__()
        self.roundoffs = roundoffs
        self.totals, self.squares = [0.0] * len(roundoffs), [0.0] * len(roundoffs)

    def __torch_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: Options | None = None
    ) -> object:
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        if not torch.is_grad_enabled():
            return func(*args, **kwargs)
        entering = args[0] if args and isinstance(args[0], Tensor) else None
        source = entering.dtype if entering is not None else None
        result = func(*args, **kwargs)
        tracked = mapped(result, lambda t: t if t.requires_grad or not t.is_floating_point() else _leaf(t))
        with torch.no_grad():
            for tensor in [tracked] if isinstance(tracked, Tensor) else tracked if type(tracked) is tuple else []:
                if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
                    continue
                local = self._local(name, func, args, kwargs, tensor.detach(), source)
                if local is not None:
                    bounds = [local(max(u, torch.finfo(tensor.dtype).eps / 2)) for u in self.roundoffs]
                    tensor.register_hook(lambda gradient, bounds=bounds: self.count(gradient, bounds, name in _BY_ROW))
        return tracked

    def count(self, gradient: Tensor, bounds: list[Tensor], by_row: bool = False) -> None:
        """Add the effect of the roundings of one call, or of a stored parameter, in each format."""
        size = gradient.double().abs()
        for k, bound in enumerate(bounds):
            # A masked score is -inf, and its derivative exactly 0.
            effect = (size * bound.double()).nan_to_num_(0.0, math.inf)
            self.totals[k] += float(effect.sum())
            self.squares[k] += float((effect.sum(-1) if by_row else effect).square().sum())

    def _local(
        self,
        name: str,
        func: Callable[..., Tensor],
        args: tuple[Any, ...],
        kwargs: Any,
        out: Tensor,
        source: torch.dtype | None,
    ) -> Bound | None:
        if name in _MOVED:
            return None
        size = out.abs()
        if name in _CASTS:
            return None if out.dtype == source else lambda u: u * size
        if name in _PRODUCTS or name.startswith("conv"):
            first = _PRODUCTS.get(name, 0)
            left = args[max(first, 0)] if len(args) > max(first, 0) else kwargs["batch1"]
            n = args[1][0].numel() if name.startswith("conv") else left.shape[-1]
            n = args[0].numel() / max(out.numel(), 1) if first < 0 else n
            absolute = lambda t: t.detach().abs() if t.is_floating_point() else t  # noqa: E731
            sums = func(*mapped(args, absolute), **mapped(kwargs, absolute))
            # Narrow formats are summed in float32 and rounded once.
            return lambda u: _gamma(n, min(u, 2.0**-24)) * sums + u * size
        if name == "softmax":
            x, dim = args[0].detach().to(out.dtype), kwargs.get("dim", args[1] if len(args) > 1 else -1)
            below = torch.where(out > 0, (x - x.amax(dim, keepdim=True)).abs(), 0.0)
            terms = below + (out * below).sum(dim, keepdim=True) + x.shape[dim] + 8
            return lambda u: u * out * terms
        if name == "scaled_dot_product_attention":
            q, k, v = (t.detach() for t in (*args, kwargs.get("query"), kwargs.get("key"), kwargs.get("value"))[:3])
            return _attention(q, k, v, kwargs)
        if name == "layer_norm":
            given = dict(zip(("input", "shape", "weight", "bias", "eps"), args, strict=False)) | kwargs
            return lambda u: _layer_norm(args[0].detach(), given.get("weight"), given.get("bias"), given["eps"], u)
        tensors = [value for value in args if isinstance(value, Tensor)]
        if len(tensors) == 1 and tensors[0] is args[0] and args[0].shape == out.shape:
            size = size + args[0].detach().abs()
        return lambda u: 8 * u * size


def _leaf(t: Tensor) -> Tensor:
    return t.detach().requires_grad_().clone()


def first_order_bound(
    model: nn.Module,
    inputs: Mapping[str, Tensor],
    index: tuple[int, ...],
    dtypes: Sequence[torch.dtype],
    stored: Mapping[str, Tensor],
) -> list[tuple[float, float]]:
    """Bound of the rounding error of one output of a float64 network whose calls round to a dtype; and the probable.

    Args:
        model: In float64.
        index: Of the entry of its logits.
        dtypes: Those that the two are for, each by itself: one pass serves them all.
        stored: Bounds of the errors of stored parameters, by name.
    """
    for name, parameter in model.named_parameters(remove_duplicate=False):
        parameter.requires_grad_(name in stored)
        parameter.grad = None
    bounds = _Bounds([torch.finfo(dtype).eps / 2 for dtype in dtypes])
    with torch.enable_grad(), bounds:
        y = logits(model(**inputs))[index]
    y.backward()
    named = dict(model.named_parameters(remove_duplicate=False))
    for name, error in stored.items():
        if (gradient := named[name].grad) is not None:
            bounds.count(gradient, [error] * len(dtypes))
    likely = (_LAMBDA * math.sqrt(squares) for squares in bounds.squares)
    return [(total, min(total, probable)) for total, probable in zip(bounds.totals, likely, strict=True)]


def logits(outputs: Mapping[str, Tensor]) -> Tensor:
    """The logits of a network with a head, the last hidden state of one without."""
    return outputs["logits" if "logits" in outputs else "last_hidden_state"]
