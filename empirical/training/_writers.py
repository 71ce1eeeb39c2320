"""The writers: parameters whose rows are added to the residual stream, and their part along the uniform vector.

In a network where every reader of the stream begins with LayerNorm, the loss is unchanged when c·1 is added to the
stream at any point, because LayerNorm(x + c1) = LayerNorm(x). A writer w (an embedding row, a bias, a row of an
output projection) enters the stream only as s·w with a scalar s that does not depend on w, so the loss is unchanged
under w → w + c1, and its gradient has no component along 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch import Tensor, nn

import lngeom

_WRITER = re.compile(r"(?:^|\.)(?:wte\.weight|wpe\.weight|h\.\d+\.(?:attn|mlp)\.c_proj\.(?:weight|bias))$")


def writers(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Writers of a GPT-2 network by name: token and position embeddings, both output projections and their biases.

    In each of them the last axis is that of the residual stream (Hugging Face's ``Conv1D`` stores [in, out]), so a
    row is a vector that is added to the stream. The LM head reads the stream and is not a writer; gains and biases of
    the norms act behind the stream.

    >>> import torch
    >>> from empirical.training import SHAPES, build_model, writers
    >>> with torch.device("meta"):
    ...     names = [name for name, _ in writers(build_model(SHAPES["tiny"], "layer", seed=0))]
    >>> len(names), names[2]
    (18, 'transformer.h.0.attn.c_proj.weight')
    """
    for name, parameter in model.named_parameters():
        if _WRITER.search(name):
            yield name, parameter


def uniform_energy(rows: Tensor) -> float:
    r"""Energy of vectors along 1, in units of an average direction's: d·Σ(x·1̂)²/Σ‖x‖², over all rows x.

    1 for rows without a preferred direction, 0 for rows orthogonal to 1, d for multiples of 1; NaN if all rows
    are zero. Of hidden states it is d·E[cos²θ] with each vector weighted by its squared norm.

    Args:
        rows: Tensor, shape (..., d). Computed in float64.

    >>> import torch
    >>> from empirical.training import uniform_energy
    >>> uniform_energy(torch.tensor([[1.0, -1.0], [1.0, 1.0]]))
    1.0
    """
    wide = rows.detach().double()
    along, whole = lngeom.mean_vector(wide), wide
    return float(wide.shape[-1] * (along * along).sum() / (whole * whole).sum())
