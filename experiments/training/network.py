"""Recipes, and a decoder of bytes in which LayerNorm, RMSNorm or nothing stands before or behind a branch."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .text import BYTES


class Size(NamedTuple):
    """Of networks and their training: bytes of a piece, pieces of a step, and peaks of the learning rate."""

    layers: int
    width: int
    heads: int
    length: int
    batch: int
    steps: int
    rates: tuple[float, ...]


SIZES = {
    "small": Size(3, 64, 2, 64, 8, 500, (2e-3, 6e-3, 1.8e-2)),
    "70m": Size(6, 512, 8, 1_024, 64, 2_000, (3e-4, 1e-3, 3e-3)),
    "160m": Size(12, 768, 12, 1_024, 64, 2_000, (2e-4, 6e-4, 2e-3)),
}
"""All but ``small`` have the blocks of Pythia, with bytes in place of its vocabulary."""


@dataclass(frozen=True)
class Recipe:
    """All that determines a run: the size by its name, and the identity of the text."""

    size: str
    norm: Literal["LayerNorm", "RMSNorm", "none"]
    place: Literal["pre", "post"]
    embeddings: Literal["tied", "untied"]
    rate: float
    seed: int
    steps: int
    text: str


def _norm(recipe: Recipe) -> nn.Module:
    """Both norms have a gain and no bias, so that they differ in the subtraction of the mean alone."""
    width = SIZES[recipe.size].width
    if recipe.norm == "none":
        return nn.Identity()
    return nn.LayerNorm(width, 1e-5, bias=False) if recipe.norm == "LayerNorm" else nn.RMSNorm(width, 1e-5)


def _turned(x: Tensor, turn: Tensor) -> Tensor:
    """Rotary positions: the pair of the components i and i + half turns by an angle of its own."""
    first, second = x.chunk(2, -1)
    return x * turn[0] + torch.cat([-second, first], -1) * turn[1]


class Block(nn.Module):
    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        (_, width, self.heads, *_), self.place = SIZES[recipe.size], recipe.place
        self.attention_norm, self.mlp_norm = _norm(recipe), _norm(recipe)
        self.read, self.attention_write = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.mlp_write = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x: Tensor, turn: Tensor) -> Tensor:
        q, k, v = self.read(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(_turned(q, turn), _turned(k, turn), v, is_causal=True)
        return self.attention_write(mixed.transpose(1, 2).flatten(-2))

    def mlp(self, x: Tensor) -> Tensor:
        return self.mlp_write(functional.gelu(self.widen(x), approximate="tanh"))

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        if self.place == "post":
            x = self.attention_norm(x + self.attention(x, turn))
            return self.mlp_norm(x + self.mlp(x))
        x = x + self.attention(self.attention_norm(x), turn)
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    """Logits of the next byte. Networks of one seed start from equal weights, whatever their norms.

    They are those of GPT-2 small: normal with deviation 0.02 at width 768, at others times √(768/d), and in what writes
    to the stream divided by √(2 blocks).
    """

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        layers, width, heads, length, *_ = SIZES[recipe.size]
        self.embedding, self.head = nn.Embedding(BYTES, width), nn.Linear(width, BYTES, bias=False)
        self.blocks = nn.ModuleList(Block(recipe) for _ in range(layers))
        self.final_norm = _norm(recipe) if recipe.place == "pre" else nn.Identity()
        draws = torch.Generator().manual_seed(recipe.seed)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                std = 0.02 * (768 / width) ** 0.5 / ((2 * layers) ** 0.5 if "write" in name else 1)
                nn.init.normal_(parameter, std=std, generator=draws)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        if recipe.embeddings == "tied":
            self.head.weight = self.embedding.weight
        pairs = width // heads // 2
        angles = torch.outer(torch.arange(length), 10_000.0 ** (-torch.arange(pairs) / pairs)).repeat(1, 2)
        self.register_buffer("turn", torch.stack([angles.cos(), angles.sin()]), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, self.turn)
        return self.head(self.final_norm(x))

    def loss(self, pieces: Tensor, reduction: str = "mean") -> Tensor:
        """Loss in nats of predicting each byte of the pieces but the first."""
        logits = self(pieces[:, :-1])
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten(), reduction=reduction)
