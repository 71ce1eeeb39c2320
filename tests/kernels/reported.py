"""Faults of norm kernels that were reported in public, each rebuilt as a few lines of PyTorch."""

from typing import Any

import torch

from .derived import derivatives, differentiated, layer, mean, rms, square, terms
from .rows import EPS, Row, named

Rows = Any


def root(v: Rows, eps: float = EPS) -> Rows:
    return 1 / torch.sqrt(v + eps)


def variance(x: Rows) -> Rows:
    return mean((x - mean(x)) ** 2)


def memory(x: Rows, *strides: int, begin: int | None = None) -> Rows:
    """The memory of `x` read with other strides, or from another place on."""
    return x.as_strided(x.shape, strides or x.stride(), x.storage_offset() if begin is None else begin)


def packed(x: Rows) -> Rows:
    return memory(x, *torch.empty(x.shape).stride())


def first_stride(x: Rows, weight: Rows) -> Rows:
    if x.ndim < 3:
        return rms(x, weight)
    whole = x.as_strided((x.untyped_storage().size() // x.element_size(),), (1,), 0)
    rows = torch.arange(x.numel() // x.shape[-1])[:, None] * x.stride(0) + x.storage_offset()
    taken = whole[(rows + torch.arange(x.shape[-1]) * x.stride(-1)) % len(whole)]
    return rms(taken, weight).reshape(x.shape)


def tail_store(x: Rows, weight: Rows) -> Rows:
    y = rms(x, weight)
    if x.shape[-1] % 2 and x.ndim == 2:
        y[1:, 0] = y[:-1, -1].clone()
    return y


def one_pass(x: Rows, weight: Rows, bias: Rows) -> Rows:
    m = mean(x)
    return (x - m) * root((square(x) - m * m).clamp(min=0)) * weight + bias


def masked_lanes(x: Rows, weight: Rows, bias: Rows) -> Rows:
    d, m = x.shape[-1], mean(x)
    lanes = (1 << (d - 1).bit_length()) - d
    return (x - m) * root(variance(x) + m * m * lanes / d) * weight + bias


def half_variance(x: Rows, weight: Rows, bias: Rows) -> Rows:
    c = x.float() - mean(x.float())
    return (c * root(square(c).half().float()) * weight.float() + bias.float()).half()


def scaled_row(x: Rows, weight: Rows) -> Rows:
    largest = x.abs().amax(-1, keepdim=True)
    scaled = x / largest.clamp(min=torch.finfo(x.dtype).tiny)
    return scaled * root(square(scaled)) * weight


def truncated(x: Rows, weight: Rows) -> Rows:
    y = x.float() * root(square(x.float())) * weight.float()
    return (y.contiguous().view(torch.int32) & -65536).view(torch.float32).to(x.dtype)


def wrong_axis(x: Rows, weight: Rows, bias: Rows) -> Rows:
    c = x - x.mean(0, keepdim=True)
    return c * root((c * c).mean(0, keepdim=True)) * weight + bias


def unrounded_sum(x: Rows, residual: Rows, weight: Rows) -> tuple[Rows, Rows]:
    total = x.float() + residual.float()
    return (total * root(square(total)) * weight.float()).to(x.dtype), total.to(x.dtype)


def batch_variant(x: Rows, weight: Rows) -> Rows:
    v = square(x) if x.numel() > 64 * x.shape[-1] else (x.flip(-1) ** 2).cumsum(-1)[..., -1:] / x.shape[-1]
    return x * root(v) * weight


def refuses_no_rows(x: Rows, weight: Rows) -> Rows:
    if not len(x):
        raise RuntimeError("invalid configuration argument")
    return rms(x, weight)


def half_sum(size: int) -> Any:
    """The derivative by the gain is added up in its own format, block by block of so many rows."""

    def rule(x: Rows, weight: Rows, g: Rows, _: Any) -> tuple[Rows, Rows]:
        by_x, by_gain = derivatives(x, weight, g)[0], torch.zeros_like(weight)
        for block in terms(x, weight, g)[1].split(size):
            by_gain += block.sum(0).to(weight.dtype)
        return by_x, by_gain

    return differentiated(rule)


def overwritten_cotangent(x: Rows, weight: Rows, g: Rows, _: Any) -> tuple[Rows, Rows]:
    pair = derivatives(x, weight, g)
    g.copy_(pair[0])
    return pair


def shared_cotangent(x: Rows, weight: Rows, g: Rows, _: Any) -> tuple[Rows, Rows]:
    v, by_gain = square(x), derivatives(x, weight, g)[1]
    g.copy_(x * -mean(x * g * weight) / (v + EPS))
    return (g + g) * root(v), by_gain


def frozen_input(x: Rows, weight: Rows, g: Rows, asked: tuple[bool, ...]) -> tuple[Rows | None, Rows]:
    by_x, by_gain = derivatives(x, weight, g)
    return (by_x, by_gain) if asked[0] else (None, g.reshape(-1, x.shape[-1]).sum(0))


def uninitialized(x: Rows, weight: Rows, g: Rows, _: Any) -> tuple[Rows, Rows]:
    by_x, by_gain = derivatives(x, weight, g)
    return by_x, by_gain + (1.0 if x.numel() % (8 * x.shape[-1]) else 0.0)


HALF: dict[str, Any] = {"dtype": "bfloat16"}
BACKWARD = {"backward": True}
_CASTS = (
    "vllm-project/vllm/issues/42325 vllm-project/vllm/pull/42379 vllm-project/vllm/pull/44088 "
    "vllm-project/vllm/issues/49616 NVIDIA/TransformerEngine/issues/1132 sgl-project/sglang/issues/2258"
)
STAND_INS: dict[str, Row] = {
    # Layout and indexing.
    "the dimension taken for the stride of rows": Row(
        lambda x, weight: rms(packed(x), weight), named("strides ignored"), threads=
        "vllm-project/vllm/pull/24247 vllm-project/vllm/pull/28103 vllm-project/vllm/pull/49750 "
        "unslothai/unsloth/pull/10617"),
    "the storage offset of a slice ignored": Row(lambda x, weight, bias: layer(memory(x, begin=0), weight, bias),
        named("storage offset ignored"), threads="pytorch/pytorch/issues/131750"),
    "the second pass without the stride of components": Row(
        lambda x, weight: memory(x, *x.stride()[:-1], 1) * root(square(x)) * weight,
        named("every other component of a wider array"), threads="ModelTC/LightLLM/issues/1467"),
    "the first stride for all leading axes": Row(
        first_stride, named("axes, as (2, "), threads="vllm-project/vllm-xpu-kernels/pull/397"),
    "indices of rows that overflow": Row(
        lambda x, weight: rms(x, weight)[torch.arange(len(x)) % 65536] if x.ndim == 2 else rms(x, weight),
        named("70000"), threads="flashinfer-ai/flashinfer/pull/3007"),
    "the tail store writes into the next row": Row(
        tail_store, named("depends on the other rows"), {"d": 25}, "ROCm/aiter/issues/5044 ROCm/aiter/pull/5290"),
    "vectors of four loaded from aligned addresses alone": Row(
        lambda x, weight, bias: layer(memory(x, begin=int(x.storage_offset()) // 4 * 4), weight, bias),
        named("memory that begins one element later"), threads=
        "pytorch/pytorch/pull/186235 NVIDIA/TransformerEngine/pull/886 flashinfer-ai/flashinfer/issues/634"),
    # Numerics of the forward pass.
    "variance in one pass": Row(one_pass, named("one-pass", "unstable"),
        threads="microsoft/onnxruntime/issues/28463 microsoft/onnxruntime/issues/21935 tracel-ai/burn/issues/5607 "
        "ml-explore/mlx/issues/2238 ml-explore/mlx/issues/3220 pytorch/pytorch/issues/191976 "
        "pytorch/pytorch/pull/186582"),
    "small variances set to a floor": Row(
        lambda x, weight, bias: (x - mean(x)) * root(variance(x).clamp(min=1e-4)) * weight + bias, named("clamped"),
        threads="pytorch/pytorch/issues/190491"),
    "masked lanes counted in the variance": Row(
        masked_lanes, named("next power of 2 counted in the variance"), {"d": None}, "triton-lang/triton/issues/9838"),
    "squares in half precision": Row(lambda x, weight: x * (1 / (square(x) + EPS).sqrt()) * weight,
        named("float16", "unstable"), {"dtype": "float16"},
        "pytorch/pytorch/pull/133085 onnx/onnx/pull/8439 microsoft/onnxruntime/pull/29045 "
        "microsoft/onnxruntime/pull/31973"),
    "squares of float32 summed in half precision": Row(
        lambda x, weight: x * root((x.half() * x.half()).sum(-1, keepdim=True).float() / x.shape[-1]) * weight,
        named("sum of squares rounded to float16", "unstable"), threads="nntrainer/nntrainer/issues/3935"),
    "the variance stored in half precision": Row(half_variance, named("kept in float16", "unstable"),
        {"dtype": "float16"}, "microsoft/onnxruntime/issues/17692"),
    "eps scaled with the row": Row(
        scaled_row, named("eps multiplied by max|x|^2", "variant"), threads="apple/coremltools/pull/2822"),
    "variance in an rms norm": Row(lambda x, weight: x * root(variance(x)) * weight,
        named("standard deviation instead of the root mean square"), threads="huggingface/candle/pull/3477"),
    "reciprocal of the root rounded": Row(
        lambda x, weight: (x.float() * root(square(x.float())).to(x.dtype).float() * weight.float()).to(x.dtype),
        named("one error for the whole row", "variant"), HALF, "amd/IRON/pull/139"),
    "results truncated": Row(truncated, named("rounded toward zero", "unstable"), HALF, "ROCm/aiter/issues/5151"),
    # Definition.
    "eps outside the root": Row(lambda x, weight, bias: (x - mean(x)) / (variance(x).sqrt() + EPS) * weight + bias,
        named("eps outside the root", "variant"),
        threads="tracel-ai/burn/issues/2185 callummcdougall/ARENA_3.0/issues/228"),
    "multiplied by the root": Row(lambda x, weight: x * (square(x) + EPS).sqrt() * weight,
        named("multiplied by the root"), threads="mosaicml/llm-foundry/issues/371"),
    "normalized twice": Row(lambda x, weight: rms(rms(x, weight), weight), named("normalized twice"), {"d": 32},
        "huggingface/pytorch-image-models/pull/2741"),
    "the wrong axis": Row(wrong_axis, named("wrong axis"), threads="brainpy/BrainPy/pull/868"),
    "eps read from the wrong place": Row(lambda x, weight: x * root(square(x), 0.0) * weight, named("eps missing"),
        threads="ggml-org/llama.cpp/pull/14545 ggml-org/llama.cpp/issues/9310 ggml-org/llama.cpp/pull/16577"),
    "eps of the format": Row(lambda x, weight: x * root(square(x), torch.finfo(x.dtype).eps) * weight,
        named("eps = 1.192e-07"), threads="pytorch/pytorch/issues/189581 pytorch/pytorch/pull/173039"),
    "cast before the gain": Row(lambda x, weight: weight * (x.float() * root(square(x.float()))).to(x.dtype),
        named("before the gain (as Llama)", "variant"), HALF | {"spec": "torch"}, _CASTS),
    "cast after the gain": Row(lambda x, weight: rms(x, weight),
        named("not cast to bfloat16 before the gain", "variant"), HALF | {"spec": "llama"}, _CASTS),
    "the gain used without its one": Row(lambda x, weight: rms(x, weight), named("w used for 1 + w"), {"spec": "gemma"},
        "linkedin/Liger-Kernel/issues/74 pytorch/executorch/pull/19901 pytorch/executorch/pull/22444 "
        "Blaizzy/mlx-vlm/issues/2041 Blaizzy/mlx-vlm/pull/2114 ml-explore/mlx-lm/pull/1623 kekzl/imp/pull/1289 "
        "kekzl/imp/pull/459 jundot/omlx/issues/3181 NeuraLegion/shainet/pull/176 vllm-project/vllm/pull/31464 "
        "vllm-project/vllm/pull/54450 ggml-org/llama.cpp/issues/23758 ggml-org/llama.cpp/pull/5631 "
        "huggingface/transformers/pull/35708 ikawrakow/ik_llama.cpp/pull/2369 THUDM/slime/pull/1121"),
    "one plus gain formed in half precision": Row(lambda x, weight: rms(x, 1 + weight.to(x.dtype)),
        named("1 + gain formed in it", "variant"), HALF | {"spec": "gemma"}, "linkedin/Liger-Kernel/pull/1462"),
    "a float32 weight read as half": Row(
        lambda x, weight: rms(x, weight.view(x.dtype)[: x.shape[-1]]), named("gain and bias of float32"), HALF,
        "vllm-project/vllm/issues/48324 vllm-project/vllm/pull/44694 vllm-project/vllm/pull/45770 "
        "pytorch/pytorch/issues/190054"),
    # Fused with the residual.
    "the sum normalized before it is rounded": Row(
        unrounded_sum, named("residual unrounded before", "variant"), HALF | {"spec": "torch"},
        "vllm-project/vllm/issues/52104 vllm-project/vllm/pull/52151 vllm-project/vllm/pull/52243 "
        "vllm-project/vllm-omni/pull/6878"),
    # Batch, state, empty.
    "bits that depend on the batch": Row(
        batch_variant, named("not batch invariant", "variant"), {"require": ("batch-invariant",)},
        "vllm-project/vllm/issues/48271 vllm-project/vllm/pull/48391 vllm-project/vllm/pull/48272 "
        "vllm-project/vllm/pull/48997 sgl-project/sglang/pull/28787 RL-Align/RL-Kernel/issues/145"),
    "no rows refused": Row(refuses_no_rows, named("refuses no rows", "variant"), {"refuse": ("refuses no rows",)},
        "sgl-project/sglang/issues/23609 PaddlePaddle/Paddle/pull/78065"),
    "the input overwritten": Row(lambda x, weight: x.mul_(root(square(x))) * weight,
        named("input overwritten in place"), threads="GeeeekExplorer/nano-vllm/issues/170"),
    # Backward.
    "the root saved in half precision": Row(
        differentiated(lambda x, w, g, _: derivatives(x, w, g, root(square(x.float())).to(x.dtype))),
        named("statistics kept in bfloat16", "variant"), BACKWARD | HALF | {"refuse": ("kept in bfloat16",)},
        "pytorch/helion/pull/2273"),
    "strides of the cotangent ignored": Row(
        differentiated(lambda x, w, g, _: derivatives(x, w, g if 0 in g.stride() else packed(g))),
        named("only for a transposed cotangent"), BACKWARD,
        "flagos-ai/FlagGems/issues/1068 flagos-ai/FlagGems/pull/1082"),
    "the gradient of the gain summed in half precision": Row(half_sum(4),
        named("as if summed over the rows in 16 bits"), BACKWARD | HALF | {"d": 4}, "linkedin/Liger-Kernel/pull/950"),
    "the cotangent overwritten": Row(differentiated(overwritten_cotangent), named("cotangent is overwritten in place"),
        BACKWARD, "linkedin/Liger-Kernel/pull/1305 unslothai/unsloth/pull/4550"),
    "the derivative written where the cotangent is read": Row(differentiated(shared_cotangent),
        named("cotangent is overwritten in place"), BACKWARD, "ggml-org/ggml/pull/1519 ggml-org/ggml/issues/1491"),
    "the mean square kept where its root is read": Row(
        differentiated(lambda x, w, g, _: derivatives(x, w, g, square(x))), named("d/dx, d/dgain"), BACKWARD,
        "flagos-ai/FlagGems/pull/5771"),
    "a term of the derivative missing": Row(
        differentiated(lambda x, w, g, _: (g * w * root(square(x)), derivatives(x, w, g)[1])),
        named("term along the output missing"), BACKWARD, "flagos-ai/FlagGems/pull/59"),
    "the gain missing in the derivative": Row(differentiated(lambda x, w, g, _: derivatives(x, torch.ones_like(w), g)),
        named("d/dx: gain missing"), BACKWARD, "karpathy/llm.c/pull/763"),
    "one plus gain in the derivative alone": Row(differentiated(lambda x, w, g, _: derivatives(x, 1 + w, g)),
        named("d/dx"), BACKWARD, "NVIDIA/TransformerEngine/pull/67"),
    "the gradient of the gain wrong where the input is frozen": Row(differentiated(frozen_input), named("gain alone"),
        BACKWARD, "pytorch/pytorch/issues/183825 pytorch/pytorch/issues/190828"),
    "partial sums that are not initialized": Row(
        differentiated(uninitialized), named("d/dgain"), BACKWARD, "Dao-AILab/flash-attention/issues/781"),
}  # fmt: skip
