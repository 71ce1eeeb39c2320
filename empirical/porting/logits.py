"""Logits of two networks in float64: how far apart they are, and how far rounding takes them."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast
from unittest import mock

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map
from transformers import PreTrainedModel

from ..models import WIDE, passing, text_config, text_inputs, watching
from .weights import folded

_CHANCE = 1e-12
"""That a bound on sums of independent roundings is exceeded by a port that is the same."""


@contextmanager
def in_float64() -> Iterator[None]:
    """Steps done in float32 whatever the model's format (norms, softmax, rotary angles) are done in float64."""
    before, patch = torch.get_default_dtype(), mock.patch.object
    torch.set_default_dtype(torch.float64)
    try:
        wide = patch(torch, "float32", torch.float64), patch(torch, "float", torch.float64)
        with wide[0], wide[1], patch(Tensor, "float", Tensor.double), torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(before)


def widened(network: nn.Module, numbers: Mapping[str, Any] | None = None) -> nn.Module:
    """A copy in float64, also the buffers that a class of transformers computes from its configuration.

    The configuration gets other `numbers`, as of a port that stores them in fewer bits.
    """
    if not isinstance(network, PreTrainedModel):
        return copy.deepcopy(network).double().eval()
    config = copy.deepcopy(network.config)
    text_config(config).update(numbers or {})
    made = type(network)._from_config(config, dtype=torch.float64, **WIDE).double().eval()
    made.load_state_dict({name: weight.double() for name, weight in network.state_dict().items()})
    return made


def outputs(network: nn.Module, ids: Tensor) -> Tensor:
    """The logits at the token ids, the last hidden states of a network without a head."""
    with passing(network, "lngeom check examines its norms by themselves"):
        got = network(**text_inputs(network, ids)) if isinstance(network, PreTrainedModel) else network(ids)
    logits = getattr(got, "logits", None)
    return cast(Tensor, got if isinstance(got, Tensor) else got.last_hidden_state if logits is None else logits)


def distance(a: object, b: object) -> float:
    """Largest difference of two outputs, infinite where one is no number or has another shape."""
    mine, theirs = ([leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)] for value in (a, b))
    if [leaf.shape for leaf in mine] != [leaf.shape for leaf in theirs]:
        return math.inf
    off = (torch.where(x == y, 0.0, (x.double() - y.double()).abs()) for x, y in zip(mine, theirs, strict=True))
    return max((float(torch.nan_to_num(each, nan=math.inf).max()) for each in off if each.numel()), default=0.0)


def shaken(module: nn.Module, call: Callable[[nn.Module, Any], Any], given: Any, unit: float) -> float:
    """How far the outputs move where every weight and number of the input is off by one unit, up or down at random."""
    generator, twin = torch.Generator().manual_seed(0), copy.deepcopy(module)

    def drawn(value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        return value * (1 + unit * torch.randint(0, 2, value.shape, generator=generator).mul(2).sub(1).to(value.dtype))

    for value in (*twin.parameters(), *twin.buffers()):
        value.data = drawn(value.data)
    return distance(call(twin, tree_map(drawn, given)), call(module, given))


def rounding(module: nn.Module, call: Callable[[nn.Module, Any], Any], given: Any) -> float:
    """A bound on how far two programs in float64 for one function are apart.

    A sum of n terms, in any order, errs by at most λ sqrt(n) roundings with probability 1 - 2 exp(-λ²/2) (Higham and
    Mary 2019), λ = 8. One rounding is shown by :func:`shaken`, or is the largest output's; two programs err twice.
    """
    unit = 2.0**-52
    tensors = [leaf for leaf in tree_leaves(call(module, given)) if isinstance(leaf, Tensor)]
    size = max((float(t[t.isfinite()].abs().max()) for t in tensors if t.isfinite().any()), default=0.0)
    terms = max((n for value in (*module.parameters(), *tensors) for n in value.shape), default=1)
    return 2 * 8 * terms**0.5 * max(shaken(module, call, given, unit), unit * size)


def explained(port: nn.Module, ids: Tensor, gap: Tensor, moved: Mapping[str, Tensor | None], unit: float) -> bool:
    """Whether one rounding of each number of the `moved` weights accounts for the logits that differ most.

    Independent roundings w(1 + δ), |δ| <= unit/2, move a logit by the sum of its gradient times w δ. By Hoeffding's
    inequality this exceeds c = sqrt(2 log(2 m/p)) times its largest length in one of m logits with probability p. In a
    weight only numbers that a fold put there count. A weight that moved by less than c roundings of its length may have
    been changed on purpose, and so may single numbers of a matrix: that is no equivalence.
    """
    factor, chosen, put = (2 * math.log(2 * gap.numel() / _CHANCE)) ** 0.5 * unit / 2, list[Tensor](), list[Tensor]()
    for name, weight in port.named_parameters():
        if name not in moved:
            continue
        old = moved[name]
        if old is not None and old.shape == weight.shape:
            where = folded(weight != old, old)
            apart = float((weight - old)[where].norm()), float(weight[where].norm())
            if not where.any() or (weight != old)[~where].any() or apart[0] <= factor * apart[1]:
                return False
            put.append(where)
        else:
            put.append(torch.ones_like(weight, dtype=torch.bool))
        chosen.append(weight.requires_grad_(True))
    with torch.enable_grad():
        logits = outputs(port, ids).flatten()
        for at in gap.flatten().topk(min(4, gap.numel())).indices if chosen else ():
            found = torch.autograd.grad(logits[at], chosen, retain_graph=True, allow_unused=True)
            terms = ((g * w.detach())[where] for g, w, where in zip(found, chosen, put, strict=True) if g is not None)
            if not float(gap.flatten()[at]) <= factor * sum(float((each**2).sum()) for each in terms) ** 0.5:
                return False
    return bool(chosen)


def first_layer(source: nn.Module, port: nn.Module, ids: Tensor) -> tuple[str, str] | None:
    """The first module, in the order in which they end, whose output differs given the source's own input; and how."""
    calls: list[tuple[str, Any, Any]] = []

    def note(path: str, _: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        copied = tree_map(lambda value: value.clone() if isinstance(value, Tensor) else value, ((args, kwargs), output))
        calls.append((path, *copied))

    def call(module: nn.Module, given: Any) -> Any:
        return module(*given[0], **given[1])

    with watching(source, [path for path, _ in source.named_modules() if path], note):
        outputs(source, ids)
    modules = dict(port.named_modules())
    for path, given, wanted in calls:
        if path not in modules:
            return path, "which the port does not have"
        try:
            off = distance(call(modules[path], given), wanted)
        except Exception as error:  # another signature may raise anything
            return path, f"which cannot be called as in the source ({type(error).__name__}: {str(error)[:80]})"
        if off > 0 and not off <= rounding(source.get_submodule(path), call, given):
            return path, f"whose output is {f'off by up to {off:.3g}' if off < math.inf else 'NaN or of another shape'}"
    return None
