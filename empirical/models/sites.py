"""A site: one norm layer of a model, with all that measuring it needs."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["pre_attn", "pre_mlp", "pre_both", "final", "post_attn", "post_mlp", "embedding", "norm", "stream"]
Kind = Literal["layernorm", "rmsnorm", "none"]


@dataclass(frozen=True)
class NormSite:
    """One norm layer of a model.

    Attributes:
        path: Module path in the base model (``AutoModel``), as Hugging Face users know it:
            ``layers.3.input_layernorm``.
        layer: Index of the block, or None outside the blocks (the final norm, the norm of the embeddings).
        role: The reader of the output: ``pre_attn`` the attention, ``pre_mlp`` the MLP, ``pre_both`` both at once
            (GPT-J), ``final`` the head. Where a norm follows a branch: ``post_attn``, ``post_mlp``; ``embedding``
            after the embeddings; ``norm`` if it is not known. ``stream`` is no norm but a block, for the residual
            stream that enters and leaves it.
        kind: ``layernorm`` or ``rmsnorm``; ``none`` of the stream.
        eps: The ε of the module, inside the square root.
        d: Dimension of the vectors.
        same_input_as: Path of another site that reads the very same vector (the second norm of a parallel GPT-NeoX
            block), so that averages over sites do not count one vector twice.
        gain_offset: 1 where the stored weight is gain - 1 (Gemma), else 0.
        axis: Along which the vectors lie: the last, or 1 where channels come first.
        gain, bias: Names of the module's parameters; None for a gain of 1 and for no bias.
    """

    path: str
    layer: int | None
    role: Role
    kind: Kind
    eps: float
    d: int
    same_input_as: str | None = None
    gain_offset: float = 0.0
    axis: int = -1
    gain: str | None = "weight"
    bias: str | None = "bias"
