"""The writers of the residual stream, their part along the uniform vector, and a check that no gradient has one.

A writer is a parameter whose rows are added to the stream. In a network where every reader of the stream begins with
LayerNorm, the loss is unchanged when c·1 is added to the stream at any point, because LayerNorm(x + c1) = LayerNorm(x).
A writer w (an embedding row, a bias, a row of an output projection) enters the stream only as s·w with a scalar s that
does not depend on w, so the loss is unchanged under w → w + c1, and its gradient has no component along 1.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GPT2LMHeadModel

import lngeom
from empirical.models import RMSNorm
from empirical.support import Rows

from .networks import next_token_loss

_WRITER = re.compile(r"(?:^|\.)(?:w[tp]e\.weight|h\.\d+\.(?:attn|mlp)\.c_proj\.(?:weight|bias))$")


def writers(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Writers of a GPT-2 network by name: token and position embeddings, both output projections and their biases.

    In each of them the last axis is that of the residual stream (Hugging Face's ``Conv1D`` stores [in, out]), so a
    row is a vector that is added to the stream. The LM head reads the stream and is not a writer; gains and biases of
    the norms act behind the stream.
    """
    return ((name, parameter) for name, parameter in model.named_parameters() if _WRITER.search(name))


def uniform_energy(rows: Tensor) -> float:
    r"""Energy of vectors along 1, in units of an average direction's: d·Σ(x·1̂)²/Σ‖x‖², over all rows x.

    1 for rows without a preferred direction, 0 for rows orthogonal to 1, d for multiples of 1; NaN if all rows
    are zero. Of hidden states it is d·E[cos²θ] with each vector weighted by its squared norm. Computed in float64.
    """
    wide = rows.detach().double()
    along = lngeom.projection.mean_vector(wide)
    return float(wide.shape[-1] * (along * along).sum() / (wide * wide).sum())


def adam_step(parameter: nn.Parameter, optimizer: torch.optim.Optimizer | None) -> dict[str, float | None]:
    """The share along 1 of the step D∘p that AdamW took last for a writer; empty for another optimizer, or none.

    p is the mean gradient, and D = 1/(√v + ε) from the mean of its square. Of every row
    |1·(D∘p)| ≤ √d sd(D) ‖p‖ + mean(D) |1·p|, by Cauchy and Schwarz, and where D and p are unrelated the
    energy of the step along 1 is CV²/(1 + CV²), CV² = var(D)/mean(D)².

    - ``step_cv2``: CV² over the rows together, each with the weight ‖p‖²;
    - ``step_share``: energy of the step along 1, as :func:`uniform_energy`;
    - ``step_excess``: the largest |1·(D∘p)| as a multiple of its bound; more than 1 + d·2⁻⁵² would contradict it.
    """
    names = ("step_cv2", "step_share", "step_excess")
    if optimizer is None or "exp_avg_sq" not in (state := optimizer.state.get(parameter, {})):
        return dict.fromkeys(names)
    group = next(group for group in optimizer.param_groups if any(p is parameter for p in group["params"]))
    p, v = (state[name].detach().double().reshape(-1, parameter.shape[-1]) for name in ("exp_avg", "exp_avg_sq"))
    slope = 1 / (torch.sqrt(v / (1 - group["betas"][1] ** float(state["step"]))) + group["eps"])
    mean, variance = lngeom.moments(slope)
    weight, along = (p * p).sum(-1, keepdim=True), (slope * p).sum(-1, keepdim=True).abs()
    bound = torch.sqrt(p.shape[-1] * variance * weight) + mean * p.sum(-1, keepdim=True).abs()
    cv2 = float((weight * variance).sum() / (weight * mean * mean).sum())
    return dict(zip(names, (cv2, uniform_energy(slope * p), _largest(along, bound)), strict=True))


def _largest(along: Tensor, bound: Tensor) -> float:
    """The largest component along 1 as a multiple of its bound."""
    return float(torch.where(along == 0, 0.0, along / bound).max())


def _row_magnitude(module: nn.LayerNorm | RMSNorm, x: Tensor, outward: Tensor) -> Tensor:
    """M_t: sum over components of the absolute values of the terms whose total is 1ᵀr_t in exact arithmetic 0."""
    mean, variance = lngeom.moments(x)
    inverse = 1 / lngeom.norms.scale(variance, eps=module.eps)
    a = (module.weight.detach() * outward).abs()
    total, d = a.sum(-1, keepdim=True), x.shape[-1]
    slope = inverse**3 / d * (mean.abs() * total + (a * x.abs()).sum(-1, keepdim=True))
    return (2 * inverse * total + slope * (x.abs().sum(-1, keepdim=True) + d * mean.abs()))[..., 0]


def writer_gradients(model: GPT2LMHeadModel, tokens: Tensor) -> Rows:
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

    `model` is one of :func:`build_model`, float32 or float64; of `tokens`, int64 of shape (sequences, length + 1),
    each but the first of a sequence is predicted.

    Returns:
        A row for each writer: ``share``, :func:`uniform_energy` of the rows of its gradient, and ``excess``, the
        largest |1ᵀG_k| as a multiple of its bound: at most 1 where no row has more along 1 than rounding explains.
    """
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm | RMSNorm)]
    named, ids = dict(writers(model)), tokens[:, :-1]

    def see(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        seen[module] = (given[0], output)

    with ExitStack() as hooks:
        for module in (*norms, *(model.get_submodule(name.rpartition(".")[0]) for name in named)):
            hooks.enter_context(module.register_forward_hook(see))
        loss = next_token_loss(model, tokens)
    found = torch.autograd.grad(loss, [*named.values(), *(seen[norm][1] for norm in norms)], retain_graph=True)

    dtype, width, unit = loss.dtype, model.config.hidden_size, torch.finfo(loss.dtype).eps / 2
    stream = torch.zeros(ids.shape, dtype=dtype)  # Σ_l‖r_lt‖₁
    error = torch.zeros_like(stream)  # bound of |1ᵀδ_t|
    for norm, outward in zip(norms, found[len(named) :], strict=True):
        x, output = seen[norm]
        (inward,) = torch.autograd.grad(output, x, outward, retain_graph=True)
        size = inward.abs().sum(-1)
        stream += size
        error += (width + 10) * unit * _row_magnitude(norm, x.detach(), outward) + len(norms) * unit * size
    per_token = error + (ids.numel() + 1) * unit * stream

    compared = []
    for name, gradient in zip(named, found, strict=False):
        if "wte" in name:
            rows = torch.zeros(len(gradient), dtype=dtype).index_add_(0, ids.flatten(), per_token.flatten())
        elif "wpe" in name:
            rows = functional.pad(per_token.sum(0), (0, len(gradient) - per_token.shape[1]))
        elif name.endswith("bias"):
            gradient, rows = gradient[None], per_token.sum()[None]
        else:
            inputs = seen[model.get_submodule(name.rpartition(".")[0])][0].detach()
            rows = inputs.abs().flatten(0, 1).T @ per_token.flatten()
        bound = rows + width * unit * gradient.abs().sum(-1)
        excess = _largest(gradient.sum(-1).abs(), bound)
        compared.append({"writer": name, "share": uniform_energy(gradient), "excess": excess})
    return compared
