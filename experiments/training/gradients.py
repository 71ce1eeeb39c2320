"""The writers of the residual stream, their part along the uniform vector, and a check that no gradient has one.

A writer is a parameter whose rows are added to the stream. In a network where every reader of the stream begins with
LayerNorm, the loss is unchanged when c·1 is added to the stream at any point, because LayerNorm(x + c1) = LayerNorm(x).
A writer w (an embedding row, a bias, a row of an output projection) enters the stream only as s·w with a scalar s that
does not depend on w, so the loss is unchanged under w → w + c1, and its gradient has no component along 1.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2LMHeadModel

import lngeom
from empirical.models import RMSNorm
from lngeom.errors import InputError

from .networks import next_token_loss

_WRITER = re.compile(r"(?:^|\.)(?:wte\.weight|wpe\.weight|h\.\d+\.(?:attn|mlp)\.c_proj\.(?:weight|bias))$")

_Seen = tuple[Tensor, ...] | Tensor
"""Gradients as a hook is given them."""


def writers(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Writers of a GPT-2 network by name: token and position embeddings, both output projections and their biases.

    In each of them the last axis is that of the residual stream (Hugging Face's ``Conv1D`` stores [in, out]), so a
    row is a vector that is added to the stream. The LM head reads the stream and is not a writer; gains and biases of
    the norms act behind the stream.
    """
    for name, parameter in model.named_parameters():
        if _WRITER.search(name):
            yield name, parameter


def uniform_energy(rows: Tensor) -> float:
    r"""Energy of vectors along 1, in units of an average direction's: d·Σ(x·1̂)²/Σ‖x‖², over all rows x.

    1 for rows without a preferred direction, 0 for rows orthogonal to 1, d for multiples of 1; NaN if all rows
    are zero. Of hidden states it is d·E[cos²θ] with each vector weighted by its squared norm. Computed in float64.
    """
    wide = rows.detach().double()
    along = lngeom.projection.mean_vector(wide)
    return float(wide.shape[-1] * (along * along).sum() / (wide * wide).sum())


@dataclass(frozen=True)
class WriterGradient:
    """The part of one writer's gradient along 1.

    ``energy`` is :func:`uniform_energy` of its rows G_k, ``excess`` the largest absolute value of 1ᵀG_k as a multiple
    of its bound.
    """

    name: str
    energy: float
    excess: float

    @property
    def orthogonal(self) -> bool:
        """Whether no row has more along 1 than rounding explains."""
        return self.excess <= 1


@dataclass(frozen=True)
class AdamStep:
    """The share along 1 of AdamW's step D∘p, p the mean gradient and D = 1/(√v + ε) from the mean of its square.

    Of every row |1·(D∘p)| ≤ √d sd(D) ‖p‖ + mean(D) |1·p|, by Cauchy and Schwarz, and where D and p are unrelated the
    energy of the step along 1 is CV²/(1 + CV²), CV² = var(D)/mean(D)².

    Attributes:
        step_cv2: CV² over the rows together, each with the weight ‖p‖².
        step_share: Energy of the step along 1, as :func:`uniform_energy`.
        step_excess: The largest |1·(D∘p)| as a multiple of its bound; more than 1 + d·2⁻⁵² would contradict it.
    """

    step_cv2: float | None = None
    step_share: float | None = None
    step_excess: float | None = None


def adam_step(parameter: nn.Parameter, optimizer: torch.optim.Optimizer | None) -> AdamStep:
    """The step that AdamW took last for a writer; empty if it was another optimizer, or none."""
    if optimizer is None or "exp_avg_sq" not in (state := optimizer.state.get(parameter, {})):
        return AdamStep()
    group = next(group for group in optimizer.param_groups if any(p is parameter for p in group["params"]))
    p, v = (state[name].detach().double().reshape(-1, parameter.shape[-1]) for name in ("exp_avg", "exp_avg_sq"))
    slope = 1 / (torch.sqrt(v / (1 - group["betas"][1] ** float(state["step"]))) + group["eps"])
    mean, variance = lngeom.moments(slope)
    weight, along = (p * p).sum(-1, keepdim=True), (slope * p).sum(-1, keepdim=True).abs()
    bound = torch.sqrt(p.shape[-1] * variance * weight) + mean * p.sum(-1, keepdim=True).abs()
    return AdamStep(
        float((weight * variance).sum() / (weight * mean * mean).sum()),
        uniform_energy(slope * p),
        float(torch.where(along == 0, 0.0, along / bound).max()),
    )


def _row_magnitude(module: nn.LayerNorm | RMSNorm, x: Tensor, output_gradient: Tensor) -> Tensor:
    """M_t: sum over components of the absolute values of the terms whose total is 1ᵀr_t in exact arithmetic 0."""
    mean, variance = lngeom.moments(x)
    inverse = 1 / lngeom.norms.scale(variance, eps=module.eps)
    a = (module.weight * output_gradient).abs()
    total, d = a.sum(-1, keepdim=True), x.shape[-1]
    slope = inverse**3 / d * (mean.abs() * total + (a * x.abs()).sum(-1, keepdim=True))
    return (2 * inverse * total + slope * (x.abs().sum(-1, keepdim=True) + d * mean.abs()))[..., 0]


def _compare(
    model: GPT2LMHeadModel,
    tokens: Tensor,
    norms: dict[str, nn.LayerNorm | RMSNorm],
    inputs: dict[str, Tensor],
    gradients: dict[str, tuple[Tensor, Tensor]],
) -> list[WriterGradient]:
    """Each writer's gradient against its rounding bound, from what the hooks of one pass have seen."""
    dtype, width, count = model.lm_head.weight.dtype, model.config.hidden_size, tokens[:, 1:].numel()
    unit = torch.finfo(dtype).eps / 2
    stream = torch.zeros(tokens[:, 1:].shape, dtype=dtype)  # Σ_l‖r_lt‖₁
    error = torch.zeros_like(stream)  # bound of |1ᵀδ_t|
    for name, module in norms.items():
        outward, inward = gradients[name]
        size = inward.abs().sum(-1)
        stream += size
        error += (width + 10) * unit * _row_magnitude(module, inputs[name], outward) + len(norms) * unit * size
    per_token = error + (count + 1) * unit * stream

    compared = []
    for name, parameter in writers(model):
        gradient = parameter.grad
        if gradient is None:
            raise InputError(f"{name} has no gradient: unfreeze it (requires_grad) to check it")
        owner, _, kind = name.rpartition(".")
        if owner.endswith("wte"):
            rows = torch.zeros(len(gradient), dtype=stream.dtype)
            rows.index_add_(0, tokens[:, :-1].flatten(), per_token.flatten())
        elif owner.endswith("wpe"):
            rows = functional.pad(per_token.sum(0), (0, len(gradient) - per_token.shape[1]))
        elif kind == "bias":
            gradient, rows = gradient[None], per_token.sum()[None]
        else:
            rows = inputs[owner].abs().flatten(0, 1).T @ per_token.flatten()
        bound = rows + width * unit * gradient.abs().sum(-1)
        along = gradient.sum(-1).abs()
        ratio = torch.where(along == 0, torch.zeros_like(along), along / bound)
        compared.append(WriterGradient(name, uniform_energy(gradient), float(ratio.max())))
    return compared


def writer_gradients(model: GPT2LMHeadModel, tokens: Tensor) -> list[WriterGradient]:
    r"""Gradients of the next-token loss on `tokens` with respect to every writer, against the theorem 1ᵀG = 0.

    The theorem holds for a LayerNorm network: the gradient r of a norm's input is J ᵀa with J1 = 0. In floating
    point a row G_k = Σ_t h_tk δ_t, with δ_t = Σ_l r_lt over the norms l that read the stream behind the writer and
    h_tk its coefficient for token t, deviates for four reasons, to first order in the unit roundoff u:

    - the backward pass of a norm computes r = ρ(a − Σa/d) + β(x − μ), with a the output's gradient times the gain,
      ρ = 1/√(σ² + ε) and β = ρ³(μΣa − Σax)/d; its terms cancel in the sum over components up to
      (d + 10)u·M, with M = 2ρ‖a‖₁ + |β|(‖x‖₁ + d|μ|) and |β| ≤ ρ³(|μ|‖a‖₁ + Σ|ax|)/d. What a itself is, and so
      every error made further back, plays no part;
    - the at most 2L + 1 additions along the stream: (2L + 1)u Σ_l‖r_lt‖₁;
    - the sum over the N tokens: (N + 1)u Σ_t |h_tk| Σ_l‖r_lt‖₁;
    - the sum 1ᵀG_k itself: du‖G_k‖₁.

    `model` is one of :func:`build_model`, float32 or float64, whose gradients are cleared; of `tokens`, int64 of shape
    (sequences, length + 1), each but the first of a sequence is predicted.
    """
    norms = {name: module for name, module in model.named_modules() if isinstance(module, nn.LayerNorm | RMSNorm)}
    projections = {name: module for name, module in model.named_modules() if name.endswith("c_proj")}
    inputs: dict[str, Tensor] = {}
    gradients: dict[str, tuple[Tensor, Tensor]] = {}
    with ExitStack() as hooks:
        for name, module in {**norms, **projections}.items():

            def before(_: nn.Module, args: tuple[Tensor, ...], name: str = name) -> None:
                inputs[name] = args[0].detach()

            hooks.callback(module.register_forward_pre_hook(before).remove)
        for name, module in norms.items():

            def behind(_: nn.Module, inward: _Seen, outward: _Seen, name: str = name) -> None:
                gradients[name] = (outward[0], inward[0])

            hooks.callback(module.register_full_backward_hook(behind).remove)
        model.zero_grad(set_to_none=True)
        next_token_loss(model, tokens).backward()

    with torch.no_grad():
        compared = _compare(model, tokens, norms, inputs, gradients)
    model.zero_grad(set_to_none=True)
    return compared
