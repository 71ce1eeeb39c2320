"""Faults of norm kernels that were reported in public, each rebuilt as a few lines of PyTorch."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .derived import EPS, mean, square

Kernel = Callable[..., Tensor | tuple[Tensor, Tensor]]


class StandIn(NamedTuple):
    """A fault: the kernel that has it, the threads that report it, and what a check of it must say.

    Attributes:
        name: What is wrong.
        threads: Paths below https://github.com/.
        kernel: ``f(x, weight, bias)`` of a LayerNorm, ``f(x, weight)`` of an RMSNorm.
        verdict, words: The verdict of a check, and what its cause or its notes contain.
        options: Of :func:`lngeom.check.check`.
    """

    name: str
    threads: tuple[str, ...]
    kernel: Kernel
    verdict: str
    words: str
    options: Mapping[str, object]


STAND_INS: list[StandIn] = []


def _reported(threads: str, words: str, verdict: str = "bug", **options: object) -> Callable[[Kernel], Kernel]:
    """Enters a kernel into the list, under its own name; options default to rows of 24 components in float32."""

    def enter(kernel: Kernel) -> Kernel:
        code = kernel.__code__
        kind = "layernorm" if "bias" in code.co_varnames[: code.co_argcount] else "rmsnorm"
        asked = {"kind": kind, "eps": EPS, "d": 24, **options}
        name = kernel.__name__.replace("_", " ")
        STAND_INS.append(StandIn(name, tuple(threads.split()), kernel, verdict, words, asked))
        return kernel

    return enter


def root(v: Tensor, eps: float = EPS) -> Tensor:
    return 1 / torch.sqrt(v + eps)


def layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x.float() - mean(x.float())
    return (c * root(square(c)) * weight.float() + bias.float()).to(x.dtype)


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return (x.float() * root(square(x.float())) * weight.float()).to(x.dtype)


def _variance(x: Tensor) -> Tensor:
    return mean((x - mean(x)) ** 2)


def _rows(x: Tensor, *strides: int, begin: int | None = None) -> Tensor:
    """The memory of `x` read with other strides, or from another place on."""
    return x.as_strided(x.shape, strides or x.stride(), x.storage_offset() if begin is None else begin)


def _packed(x: Tensor) -> Tensor:
    """The memory of `x` read as if it were contiguous."""
    return _rows(x, *torch.empty(x.shape).stride())


# Layout and indexing


@_reported(
    "vllm-project/vllm/pull/24247 vllm-project/vllm/pull/28103 vllm-project/vllm/pull/49750 "
    "unslothai/unsloth/pull/10617",
    "strides ignored",
)
def the_dimension_taken_for_the_stride_of_rows(x: Tensor, weight: Tensor) -> Tensor:
    return rms(_packed(x), weight)


@_reported("pytorch/pytorch/issues/131750", "storage offset ignored")
def the_storage_offset_of_a_slice_ignored(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return layer(_rows(x, begin=0), weight, bias)


@_reported("ModelTC/LightLLM/issues/1467", "every other component of a wider array")
def the_second_pass_without_the_stride_of_components(x: Tensor, weight: Tensor) -> Tensor:
    return _rows(x, *x.stride()[:-1], 1) * root(square(x)) * weight


@_reported("vllm-project/vllm-xpu-kernels/pull/397", "batches of shape (2, ")
def the_first_stride_for_all_leading_axes(x: Tensor, weight: Tensor) -> Tensor:
    if x.ndim < 3:
        return rms(x, weight)
    memory = x.as_strided((x.untyped_storage().size() // x.element_size(),), (1,), 0)
    rows = torch.arange(x.numel() // x.shape[-1])[:, None] * x.stride(0) + x.storage_offset()
    taken = memory[(rows + torch.arange(x.shape[-1]) * x.stride(-1)) % len(memory)]
    return rms(taken, weight).reshape(x.shape)


@_reported("flashinfer-ai/flashinfer/pull/3007", "70000")
def indices_of_rows_that_overflow(x: Tensor, weight: Tensor) -> Tensor:
    return rms(x, weight)[torch.arange(len(x)) % 65536] if x.ndim == 2 else rms(x, weight)


@_reported("ROCm/aiter/issues/5044 ROCm/aiter/pull/5290", "depends on the other rows", d=25)
def the_tail_store_writes_into_the_next_row(x: Tensor, weight: Tensor) -> Tensor:
    y = rms(x, weight)
    if x.shape[-1] % 2 and x.ndim == 2:
        y[1:, 0] = y[:-1, -1].clone()
    return y


@_reported(
    "pytorch/pytorch/pull/186235 NVIDIA/TransformerEngine/pull/886 flashinfer-ai/flashinfer/issues/634",
    "memory that begins one element later",
)
def vectors_of_four_loaded_from_aligned_addresses_alone(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return layer(_rows(x, begin=int(x.storage_offset()) // 4 * 4), weight, bias)


# Numerics of the forward pass


@_reported(
    "microsoft/onnxruntime/issues/28463 microsoft/onnxruntime/issues/21935 tracel-ai/burn/issues/5607 "
    "ml-explore/mlx/issues/2238 ml-explore/mlx/issues/3220 pytorch/pytorch/issues/191976 pytorch/pytorch/pull/186582",
    "one-pass",
    "unstable",
)
def variance_in_one_pass(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    m = mean(x)
    return (x - m) * root((square(x) - m * m).clamp(min=0)) * weight + bias


@_reported("pytorch/pytorch/issues/190491", "clamped")
def small_variances_set_to_a_floor(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (x - mean(x)) * root(_variance(x).clamp(min=1e-4)) * weight + bias


@_reported("triton-lang/triton/issues/9838", "next power of 2 counted in the variance", d=None)
def masked_lanes_counted_in_the_variance(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    d, m = x.shape[-1], mean(x)
    lanes = (1 << (d - 1).bit_length()) - d
    return (x - m) * root(_variance(x) + m * m * lanes / d) * weight + bias


@_reported(
    "pytorch/pytorch/pull/133085 onnx/onnx/pull/8439 microsoft/onnxruntime/pull/29045 microsoft/onnxruntime/pull/31973",
    "float16",
    "unstable",
    dtype="float16",
)
def squares_in_half_precision(x: Tensor, weight: Tensor) -> Tensor:
    return x * (1 / (square(x) + EPS).sqrt()) * weight


@_reported("nntrainer/nntrainer/issues/3935", "sum of squares rounded to float16", "unstable")
def squares_of_float32_summed_in_half_precision(x: Tensor, weight: Tensor) -> Tensor:
    half = x.half()
    return x * root((half * half).sum(-1, keepdim=True).float() / x.shape[-1]) * weight


@_reported("microsoft/onnxruntime/issues/17692", "kept in float16", "unstable", dtype="float16")
def the_variance_stored_in_half_precision(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x.float() - mean(x.float())
    return (c * root(square(c).half().float()) * weight.float() + bias.float()).half()


@_reported("apple/coremltools/pull/2822", "eps multiplied by max|x|^2", "variant")
def eps_scaled_with_the_row(x: Tensor, weight: Tensor) -> Tensor:
    largest = x.abs().amax(-1, keepdim=True)
    scaled = x / largest.clamp(min=torch.finfo(x.dtype).tiny)
    return scaled * root(square(scaled)) * weight


@_reported("huggingface/candle/pull/3477", "standard deviation instead of the root mean square")
def variance_in_an_rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * root(_variance(x)) * weight


@_reported("amd/IRON/pull/139", "one error for the whole row", "variant", dtype="bfloat16")
def reciprocal_of_the_root_rounded(x: Tensor, weight: Tensor) -> Tensor:
    factor = root(square(x.float())).to(x.dtype).float()
    return (x.float() * factor * weight.float()).to(x.dtype)


@_reported("ROCm/aiter/issues/5151", "rounded toward zero", "unstable", dtype="bfloat16")
def results_truncated(x: Tensor, weight: Tensor) -> Tensor:
    y = x.float() * root(square(x.float())) * weight.float()
    return (y.contiguous().view(torch.int32) & -65536).view(torch.float32).to(x.dtype)


# Definition

_CASTS = (
    "vllm-project/vllm/issues/42325 vllm-project/vllm/pull/42379 vllm-project/vllm/pull/44088 "
    "vllm-project/vllm/issues/49616 NVIDIA/TransformerEngine/issues/1132 sgl-project/sglang/issues/2258"
)


@_reported("tracel-ai/burn/issues/2185 callummcdougall/ARENA_3.0/issues/228", "eps outside the root", "variant")
def eps_outside_the_root(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return (x - mean(x)) / (_variance(x).sqrt() + EPS) * weight + bias


@_reported("mosaicml/llm-foundry/issues/371", "multiplied by the root")
def multiplied_by_the_root(x: Tensor, weight: Tensor) -> Tensor:
    return x * (square(x) + EPS).sqrt() * weight


@_reported("huggingface/pytorch-image-models/pull/2741", "normalized twice", d=32)
def normalized_twice(x: Tensor, weight: Tensor) -> Tensor:
    return rms(rms(x, weight), weight)


@_reported("brainpy/BrainPy/pull/868", "wrong axis")
def the_wrong_axis(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    c = x - x.mean(0, keepdim=True)
    return c * root((c * c).mean(0, keepdim=True)) * weight + bias


@_reported("ggml-org/llama.cpp/pull/14545 ggml-org/llama.cpp/issues/9310 ggml-org/llama.cpp/pull/16577", "eps missing")
def eps_read_from_the_wrong_place(x: Tensor, weight: Tensor) -> Tensor:
    return x * root(square(x), 0.0) * weight


@_reported("pytorch/pytorch/issues/189581 pytorch/pytorch/pull/173039", "eps = 1.192e-07")
def eps_of_the_format(x: Tensor, weight: Tensor) -> Tensor:
    return x * root(square(x), torch.finfo(x.dtype).eps) * weight


@_reported(_CASTS, "before the gain (as Llama)", "variant", dtype="bfloat16", spec="torch")
def cast_before_the_gain(x: Tensor, weight: Tensor) -> Tensor:
    return weight * (x.float() * root(square(x.float()))).to(x.dtype)


@_reported(_CASTS, "not cast to bfloat16 before the gain", "variant", dtype="bfloat16", spec="llama")
def cast_after_the_gain(x: Tensor, weight: Tensor) -> Tensor:
    return rms(x, weight)


@_reported(
    "linkedin/Liger-Kernel/issues/74 pytorch/executorch/pull/19901 pytorch/executorch/pull/22444 "
    "Blaizzy/mlx-vlm/issues/2041 Blaizzy/mlx-vlm/pull/2114 ml-explore/mlx-lm/pull/1623 kekzl/imp/pull/1289 "
    "kekzl/imp/pull/459 jundot/omlx/issues/3181 NeuraLegion/shainet/pull/176 vllm-project/vllm/pull/31464 "
    "vllm-project/vllm/pull/54450 ggml-org/llama.cpp/issues/23758 ggml-org/llama.cpp/pull/5631 "
    "huggingface/transformers/pull/35708 ikawrakow/ik_llama.cpp/pull/2369 THUDM/slime/pull/1121",
    "w used for 1 + w",
    spec="gemma",
)
def the_gain_used_without_its_one(x: Tensor, weight: Tensor) -> Tensor:
    return rms(x, weight)


@_reported("linkedin/Liger-Kernel/pull/1462", "1 + gain formed in it", "variant", dtype="bfloat16", spec="gemma")
def one_plus_gain_formed_in_half_precision(x: Tensor, weight: Tensor) -> Tensor:
    return rms(x, 1 + weight.to(x.dtype))


@_reported(
    "vllm-project/vllm/issues/48324 vllm-project/vllm/pull/44694 vllm-project/vllm/pull/45770 "
    "pytorch/pytorch/issues/190054",
    "gain and bias of float32",
    dtype="bfloat16",
)
def a_float32_weight_read_as_half(x: Tensor, weight: Tensor) -> Tensor:
    return rms(x, weight.view(x.dtype)[: x.shape[-1]])


# Fused with the residual


@_reported(
    "vllm-project/vllm/issues/52104 vllm-project/vllm/pull/52151 vllm-project/vllm/pull/52243 "
    "vllm-project/vllm-omni/pull/6878",
    "residual unrounded before",
    "variant",
    dtype="bfloat16",
    spec="torch",
)
def the_sum_normalized_before_it_is_rounded(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    total = x.float() + residual.float()
    return (total * root(square(total)) * weight.float()).to(x.dtype), total.to(x.dtype)


# Batch, state, empty


@_reported(
    "vllm-project/vllm/issues/48271 vllm-project/vllm/pull/48391 vllm-project/vllm/pull/48272 "
    "vllm-project/vllm/pull/48997 sgl-project/sglang/pull/28787 RL-Align/RL-Kernel/issues/145",
    "not batch invariant",
    "variant",
    refuse=("batch invariant",),
)
def bits_that_depend_on_the_batch(x: Tensor, weight: Tensor) -> Tensor:
    v = square(x) if x.numel() > 64 * x.shape[-1] else (x.flip(-1) ** 2).cumsum(-1)[..., -1:] / x.shape[-1]
    return x * root(v) * weight


@_reported(
    "sgl-project/sglang/issues/23609 PaddlePaddle/Paddle/pull/78065",
    "refuses no rows",
    "variant",
    refuse=("refuses no rows",),
)
def no_rows_refused(x: Tensor, weight: Tensor) -> Tensor:
    if not len(x):
        raise RuntimeError("invalid configuration argument")
    return rms(x, weight)


@_reported("GeeeekExplorer/nano-vllm/issues/170", "input overwritten in place")
def the_input_overwritten(x: Tensor, weight: Tensor) -> Tensor:
    return x.mul_(root(square(x))) * weight


# Backward


Asked = tuple[bool, ...]
"""Of rows and gain, whether the derivative is asked for."""
Pair = tuple[Tensor | None, Tensor | None]
Rule = Callable[[Tensor, Tensor, Tensor, Asked], Pair]
"""Both derivatives of an RMSNorm, from rows, gain and cotangent."""


class _Differentiated(torch.autograd.Function):
    """An RMSNorm with a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, rule: Rule) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.rule = rule
        return rms(x, weight)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        return *ctx.rule(x, weight, cotangents[0], ctx.needs_input_grad), None


def _backward(threads: str, words: str, verdict: str = "bug", **options: object) -> Callable[[Rule], Rule]:
    """Enters an RMSNorm with this backward pass into the list."""

    def enter(rule: Rule) -> Rule:
        def kernel(x: Tensor, weight: Tensor) -> Tensor:
            return _Differentiated.apply(x, weight, rule)

        kernel.__name__ = rule.__name__
        _reported(threads, words, verdict, backward=True, **options)(kernel)
        return rule

    return enter


def derivatives(x: Tensor, weight: Tensor, g: Tensor, saved: Tensor | None = None) -> tuple[Tensor, Tensor]:
    x, g = x.float(), g.float()
    r = root(square(x)) if saved is None else saved.float()
    h, n = g * weight.float(), x * r
    by_gain = (g * n).reshape(-1, x.shape[-1]).sum(0)
    return (r * (h - n * mean(h * n))).to(weight.dtype), by_gain.to(weight.dtype)


@_backward(
    "pytorch/helion/pull/2273", "statistics kept in bfloat16", "variant", dtype="bfloat16", refuse=("kept in bfloat16",)
)
def the_root_saved_in_half_precision(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return derivatives(x, weight, g, root(square(x.float())).to(x.dtype))


@_backward("flagos-ai/FlagGems/issues/1068 flagos-ai/FlagGems/pull/1082", "only for a transposed cotangent")
def strides_of_the_cotangent_ignored(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return derivatives(x, weight, g if 0 in g.stride() else _packed(g))


@_backward("linkedin/Liger-Kernel/pull/950", "as if summed over the rows in 16 bits", dtype="bfloat16", d=4)
def the_gradient_of_the_gain_summed_in_half_precision(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    terms = (g.float() * rms(x, torch.ones_like(weight)).float()).reshape(-1, x.shape[-1])
    by_gain = torch.zeros_like(weight)
    for block in terms.split(4):
        by_gain = by_gain + block.sum(0).to(x.dtype)
    return derivatives(x, weight, g)[0], by_gain


@_backward("linkedin/Liger-Kernel/pull/1305 unslothai/unsloth/pull/4550", "cotangent is overwritten in place")
def the_cotangent_overwritten(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    pair = derivatives(x, weight, g)
    g.copy_(pair[0])
    return pair


@_backward("ggml-org/ggml/pull/1519 ggml-org/ggml/issues/1491", "cotangent is overwritten in place")
def the_derivative_written_where_the_cotangent_is_read(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    v, by_gain = square(x), derivatives(x, weight, g)[1]
    g.copy_(x * -mean(x * g * weight) / (v + EPS))
    return (g + g) * root(v), by_gain


@_backward("flagos-ai/FlagGems/pull/5771", "d/dx, d/dgain")
def the_mean_square_kept_where_its_root_is_read(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return derivatives(x, weight, g, square(x))


@_backward("flagos-ai/FlagGems/pull/59", "term along the output missing")
def a_term_of_the_derivative_missing(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return g * weight * root(square(x)), derivatives(x, weight, g)[1]


@_backward("karpathy/llm.c/pull/763", "d/dx: gain missing")
def the_gain_missing_in_the_derivative(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return derivatives(x, torch.ones_like(weight), g)


@_backward("NVIDIA/TransformerEngine/pull/67", "d/dx")
def one_plus_gain_in_the_derivative_alone(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    return derivatives(x, 1 + weight, g)


@_backward("pytorch/pytorch/issues/183825 pytorch/pytorch/issues/190828", "gain alone")
def the_gradient_of_the_gain_wrong_where_the_input_is_frozen(
    x: Tensor, weight: Tensor, g: Tensor, asked: Asked
) -> Pair:
    by_x, by_gain = derivatives(x, weight, g)
    return (by_x, by_gain) if asked[0] else (None, g.reshape(-1, x.shape[-1]).sum(0))


@_backward("Dao-AILab/flash-attention/issues/781", "d/dgain")
def partial_sums_that_are_not_initialized(x: Tensor, weight: Tensor, g: Tensor, _: Asked) -> Pair:
    by_x, by_gain = derivatives(x, weight, g)
    return by_x, by_gain + (1.0 if x.numel() % (8 * x.shape[-1]) else 0.0)
