"""Gradients of each block's last linear map at initialization, Pre-LN and Post-LN: ``initialization.py OUTPUT.csv``.

PyTorch's encoder layers (d = 64, 4 heads, feed-forward width 256, no dropout), weights by Xavier's normal rule with
bias 0, embeddings N(0, 1/d) scaled by √d, and a final LayerNorm for Pre-LN, as in Xiong et al. (arXiv:2002.04745); the
loss is the cross entropy of random labels over 256 tokens, at random inputs. One row for each network, block and seed.
Under a minute on one core.
"""

import csv
import sys

import torch
from torch import nn

WIDTH, TOKENS, BATCH, LENGTH = 64, 256, 8, 32


def gradients(depth: int, *, pre: bool, seed: int) -> list[float]:
    """Frobenius norm of the gradient of the second feed-forward matrix, block by block."""
    torch.manual_seed(seed)
    block = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, batch_first=True, norm_first=pre)
    final = nn.LayerNorm(WIDTH) if pre else None
    stack = nn.TransformerEncoder(block, depth, norm=final, enable_nested_tensor=False)
    embed, head = nn.Embedding(TOKENS, WIDTH), nn.Linear(WIDTH, TOKENS)
    for parameter in (*stack.parameters(), *head.parameters()):
        if parameter.ndim == 2:
            nn.init.xavier_normal_(parameter)
    nn.init.normal_(embed.weight, std=WIDTH**-0.5)
    ids, labels = torch.randint(TOKENS, (2, BATCH, LENGTH))
    nn.functional.cross_entropy(head(stack(embed(ids) * WIDTH**0.5)).flatten(0, 1), labels.flatten()).backward()
    return [float(layer.linear2.weight.grad.norm()) for layer in stack.layers]


def main(output: str) -> None:
    """Write the table."""
    with open(output, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(("norm", "blocks", "seed", "block", "gradient"))
        for pre in (True, False):
            for depth in (2, 4, 6, 8, 12, 16, 24):
                for seed in range(5):
                    for block, size in enumerate(gradients(depth, pre=pre, seed=seed), 1):
                        table.writerow(("Pre-LN" if pre else "Post-LN", depth, seed, block, f"{size:.5g}"))


if __name__ == "__main__":
    main(sys.argv[1])
