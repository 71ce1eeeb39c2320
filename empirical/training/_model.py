"""GPT-2 with LayerNorm or with RMSNorm, all else equal: same sizes, same initial values, same code."""

from __future__ import annotations

from typing import Literal

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from lngeom import InputError

from ..models import GPT2RMSConfig, GPT2RMSLMHeadModel, RMSNorm as RMSNorm
from ._controls import CONTROLS, make_control
from ._shape import Shape

Norm = Literal["layer", "rms", "u", "post", "none"]
"""Which normalization the network uses: LayerNorm, RMSNorm, or that of a control arm."""


def build_model(shape: Shape, norm: Norm, *, seed: int, eps: float = 1e-5, end_of_text: int = 0) -> GPT2LMHeadModel:
    """GPT-2 network in float32 with untied embeddings and no dropout, initialized from `seed`.

    The initial values are drawn in the same order for both norms, and neither norm draws any: networks of one
    seed start from equal weights and differ in the norm alone. Dropout is off because a mask after a writer would
    undo the orthogonality that the study is about, and because the studied text does not mention it.

    Args:
        shape: Shape. Sizes of the network.
        norm: {"layer", "rms", "u", "post", "none"}. LayerNorm (gain and bias), RMSNorm (gain), or a control arm.
        seed: Seed of the initial values; the global generator of PyTorch is left as it was.
        eps: ε of every norm layer.
        end_of_text: Token id that separates documents, recorded in the configuration.

    Returns:
        GPT2LMHeadModel: In training mode; on the meta device if called under ``torch.device("meta")``.

    References:
        Gupta et al., arXiv:2409.12951, section 3.3 and Table 2. The sizes in its names are those of untied embeddings:
        70.9, 163.0, 406.3 and 1013.7 million parameters with GPT-2's 50,257 tokens and 1,024 positions (matrices and
        embeddings alone 70.9, 162.9, 406.0 and 1013.3); tied ones would make 45.2, 124.4, 354.8 and 910.8 million.

    >>> import torch
    >>> from empirical.training import SHAPES, build_model
    >>> with torch.device("meta"):
    ...     model = build_model(SHAPES["70m"], "layer", seed=0)
    >>> f"{model.num_parameters():,}"
    '70,902,784'
    """
    classes = {"layer": (GPT2Config, GPT2LMHeadModel), "rms": (GPT2RMSConfig, GPT2RMSLMHeadModel)}
    classes |= dict.fromkeys(CONTROLS, classes["layer"])
    if norm not in classes:
        msg = f"norm is {norm!r}: it must be 'layer' (LayerNorm), 'rms' (RMSNorm), or a control: {', '.join(CONTROLS)}"
        raise InputError(msg)
    config_class, model_class = classes[norm]
    config = config_class(
        vocab_size=shape.vocabulary,
        n_positions=shape.positions,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        layer_norm_epsilon=eps,
        # GPT-2's own activation; this name selects the fused implementation of the same formula.
        activation_function="gelu_pytorch_tanh",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        use_cache=False,
        bos_token_id=end_of_text,
        eos_token_id=end_of_text,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(config).train()
    return make_control(model, norm, seed) if norm in CONTROLS else model
