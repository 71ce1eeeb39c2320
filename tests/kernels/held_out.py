"""Twenty reported faults that were chosen before any of them was tried: the check was not made with them in mind.

The choice, with what must be named, is ``docs/results/norm_bug_zoo_held_out.csv``; it was committed first.
"""

import functools

import torch
from torch import Tensor

from .reported import EPS, Asked, Pair, StandIn, derivatives, entered, layer, mean, root, with_backward

HELD_OUT: list[StandIn] = []
_chosen = functools.partial(entered, HELD_OUT)
_chosen_backward = functools.partial(with_backward, HELD_OUT)


@_chosen("tile-ai/tilelang/pull/1243", "eps outside the root", "variant")
def eps_outside_the_root_of_an_rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x / (mean(x * x).sqrt() + EPS) * weight


@_chosen("paiml/aprender/pull/1606", "the eps that is given is ignored", eps=1e-6)
def eps_of_another_model(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x * root(mean(x * x), 1e-5) * weight


@_chosen("VeriSilicon/TIM-VX/pull/589", "eps missing")
def eps_never_set(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (x - mean(x)) * root(mean((x - mean(x)) ** 2), 0.0) * weight + bias


@_chosen("deepspeedai/DeepSpeed/issues/581", "", "bug or unstable", dtype="float16", eps=1e-12)
def the_variance_with_eps_stored_in_half_precision(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x.float() - mean(x.float())
    held = (mean(c * c) + 1e-12).half().float()
    return (c / held.sqrt() * weight.float() + bias.float()).half()


@_chosen("pytorch/pytorch/issues/41527", "", dtype="float16", eps=1e-12)
def eps_that_half_precision_does_not_hold(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x.float() - mean(x.float())
    small = float(torch.tensor(1e-12).half())
    return (c * torch.rsqrt(mean(c * c) + small) * weight.float() + bias.float()).half()


@_chosen("pytorch/pytorch/issues/66707", "kept in float16", "unstable", dtype="float16")
def a_layer_norm_in_half_precision(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x - mean(x)
    return c / torch.sqrt(mean(c * c) + EPS) * weight + bias


@_chosen("linkedin/Liger-Kernel/pull/519", "counted in the variance", d=None)
def masked_lanes_after_the_mean(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    d, m = x.shape[-1], mean(x)
    lanes = torch.nn.functional.pad(x, (0, (1 << (d - 1).bit_length()) - d)) - m
    return (x - m) * root((lanes * lanes).sum(-1, keepdim=True) / d) * weight + bias


@_chosen("torch-spyre/torch-spyre/issues/1980", "")
def one_constant_for_all_components(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.zeros_like(x) + mean(layer(x, torch.ones_like(weight), torch.zeros_like(bias)))


@_chosen("LBANN/lbann/pull/2024", "d - 1", "variant")
def unbiased_variance(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (x - mean(x)) * root(x.var(-1, keepdim=True)) * weight + bias


@_chosen("harvardnlp/annotated-transformer/pull/119", "eps outside the root", "variant")
def unbiased_deviation_and_eps_outside(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return weight * (x - mean(x)) / (x.std(-1, keepdim=True) + EPS) + bias


@_chosen("pytorch/pytorch/issues/184826", "", d=25)
def rows_beyond_2_to_the_23(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    y, rows = layer(x, weight, bias), x.reshape(-1, x.shape[-1])
    if len(rows) > 1 << 23 and x.shape[-1] % 4:
        y.reshape(rows.shape)[1 << 23 :] = 0
    return y


@_chosen_backward("flagos-ai/FlagGems/issues/5392", "batches of shape (2")
def a_backward_pass_for_two_axes(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    flat = x.reshape(len(x), -1)
    wide = weight.repeat(flat.shape[-1] // len(weight))
    by_x, by_gain = derivatives(flat, wide, g.reshape(flat.shape))
    return by_x.reshape(x.shape), by_gain[: len(weight)]


@_chosen_backward("NVIDIA/Megatron-LM/pull/6859", "d/dx")
def the_gain_twice_in_one_term(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    r = root(mean(x * x))
    by_x = g * weight * r - weight * r**3 * x * mean(g * x * weight)
    return by_x, derivatives(x, weight, g)[1]


@_chosen_backward("paiml/trueno/pull/178", "d/dgain")
def the_gradient_of_the_gain_never_written(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return derivatives(x, weight, g)[0], torch.zeros_like(weight)


@_chosen_backward("ooples/AiDotNet/pull/695", "term along the output missing")
def the_root_taken_for_a_constant(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return g * weight * root(mean(x * x)), derivatives(x, weight, g)[1]


@_chosen("tenstorrent/tt-mlir/pull/8798", "factor sqrt(d) missing")
def the_sum_of_squares_for_their_mean(x: Tensor, weight: Tensor) -> Tensor:
    return x * root((x * x).sum(-1, keepdim=True)) * weight


@_chosen("allenai/OLMo/issues/281", "eps outside the root", "variant")
def eps_added_to_the_root_mean_square(x: Tensor, weight: Tensor) -> Tensor:
    size = x.norm(2, dim=-1, keepdim=True) * x.shape[-1] ** -0.5
    return weight * x / (size + EPS)


@_chosen("kyegomez/zeta/issues/180", "axis")
def normalized_over_the_rows(x: Tensor, weight: Tensor) -> Tensor:
    dim = -2 if x.ndim > 1 else -1
    return torch.nn.functional.normalize(x, dim=dim) * x.shape[-1] ** -0.5 * weight


@_chosen("xlite-dev/LeetCUDA/issues/309", "eps")
def eps_added_to_the_dimension(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x - mean(x)
    return c * torch.rsqrt((c * c).sum(-1, keepdim=True) / (x.shape[-1] + EPS)) * weight + bias


class _Partial:
    """State that the last call has left behind."""

    sums: Tensor | None = None


@_chosen("beehive-lab/GPULlama3.java/pull/132", "earlier calls")
def partial_sums_of_the_call_before(x: Tensor, weight: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    second = (x[..., half:] ** 2).sum(-1, keepdim=True)
    stale = _Partial.sums if _Partial.sums is not None and _Partial.sums.shape == second.shape else second
    _Partial.sums = second
    return x * root(((x[..., :half] ** 2).sum(-1, keepdim=True) + stale) / x.shape[-1]) * weight
