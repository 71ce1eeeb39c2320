"""The writers of the residual stream, and their part and that of their gradients along the uniform vector.

A writer is a parameter whose rows are added to the stream. In a network where every reader of the stream begins with
LayerNorm, the loss is unchanged when c·1 is added to the stream at any point, because LayerNorm(x + c1) = LayerNorm(x).
A writer w (an embedding row, a bias, a row of an output projection) enters the stream only as s·w with a scalar s that
does not depend on w, so the loss is unchanged under w → w + c1, and its gradient has no component along 1.
"""

import re
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

import lngeom
from lngeom.empirical.support import Rows

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


def writer_gradients(model: GPT2LMHeadModel, tokens: Tensor) -> Rows:
    """Of every writer ``share``, the energy along 1 of the gradient of the next-token loss on `tokens`.

    `tokens`, int64 of shape (sequences, length + 1): each but the first of a sequence is predicted. Behind LayerNorm a
    share is 0 in exact arithmetic, and the square of a rounding error in floats.
    """
    named = dict(writers(model))
    gradients = torch.autograd.grad(next_token_loss(model, tokens), [*named.values()])
    return [{"writer": name, "share": uniform_energy(each)} for name, each in zip(named, gradients, strict=True)]
