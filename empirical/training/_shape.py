"""The sizes that are trained: the four of the controlled study of the literature, and one for a laptop."""

from __future__ import annotations

from dataclasses import dataclass

from lngeom import InputError


@dataclass(frozen=True)
class Shape:
    """Size of a GPT-2 network, and the learning rate it is trained with.

    Args:
        layers, width, heads: Blocks, d, and attention heads; `heads` divides `width`.
        learning_rate: Peak learning rate of AdamW.
        steps: Length of a full run.
        vocabulary, positions: Tokens of the vocabulary and longest sequence.
        sequences: Sequences per step (over all ranks and accumulated micro-batches).
        first_checkpoint: Fraction of the run at the first of the checkpoints, see :func:`checkpoint_steps`.

    >>> from empirical.training import Shape
    >>> shape = Shape(layers=1, width=8, heads=2, learning_rate=1e-3, steps=10, vocabulary=11, positions=4, sequences=2,
    ...               first_checkpoint=0.1)
    >>> shape.parameters  # 2·11·8 + 4·8 + (12·64 + 13·8) + 2·8
    1096
    """

    layers: int
    width: int
    heads: int
    learning_rate: float
    steps: int
    vocabulary: int
    positions: int
    sequences: int
    first_checkpoint: float

    def __post_init__(self) -> None:
        if min(self.layers, self.width, self.heads) < 1 or self.width % self.heads:
            msg = (
                f"the shape has {self.layers} layers, width {self.width} and {self.heads} heads: all must be at "
                "least 1, and the heads must divide the width; choose another --heads"
            )
            raise InputError(msg)

    @property
    def parameters(self) -> int:
        """Number of parameters of the LayerNorm network, embeddings not tied; it is 2Vd + Pd + L(12d² + 13d) + 2d."""
        d = self.width
        block = 12 * d * d + 13 * d
        return (2 * self.vocabulary + self.positions) * d + self.layers * block + 2 * d


SHAPES: dict[str, Shape] = {
    "tiny": Shape(4, 128, 4, 2e-3, 1_500, 2_048, 128, 16, 0.01),
    "70m": Shape(6, 512, 8, 10e-4, 100_000, 50_257, 1_024, 64, 0.01),
    "160m": Shape(12, 768, 12, 6e-4, 100_000, 50_257, 1_024, 64, 0.01),
    "410m": Shape(24, 1_024, 16, 3e-4, 50_000, 50_257, 1_024, 64, 0.02),
    "1b": Shape(16, 2_048, 8, 3e-4, 50_000, 50_257, 1_024, 64, 0.02),
}
"""By name; all but ``tiny`` are Table 2 and appendix A.2 of Gupta et al., arXiv:2409.12951."""


def checkpoint_steps(steps: int, first: float) -> tuple[int, ...]:
    r"""Steps after which the network is saved and measured: 0, then ten small strides, then large ones.

    The schedule of Gupta et al., arXiv:2409.12951, appendix A.2, as fractions of the run: f, 2f, ..., 10f,
    20f, 30f, ... up to 1, with f = 0.01 for 1K, 2K, ..., 10K, 20K, ..., 100K and f = 0.02 for the runs of 50K.
    The untrained network (step 0) is added: without it no change can be seen.

    Returns:
        tuple of int: Increasing, without repetitions, from 0 to `steps`.

    >>> from empirical.training import checkpoint_steps
    >>> checkpoint_steps(100_000, 0.01)[:4], len(checkpoint_steps(100_000, 0.01))
    ((0, 1000, 2000, 3000), 20)
    >>> checkpoint_steps(5, 0.01)
    (0, 1, 2, 3, 4, 5)
    """
    small = [first * k for k in range(1, 11)]
    large = [10 * first * k for k in range(2, round(1 / (10 * first)) + 1)]
    rounded = {max(1, round(fraction * steps)) for fraction in [*small, *large, 1.0] if fraction <= 1}
    return (0, *sorted(rounded))
