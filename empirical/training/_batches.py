"""The sequences of every step, by number: where a run is in its text is known from its step alone."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..runs import CorpusError


class Batches:
    """The sequences of each step, a pure function of the seed and the step: nothing needs to be remembered.

    The training text is cut into sequences anew in each pass, at an offset of its own, and visited in an order of
    its own. Sequence number n of the run is sequence n mod N of pass n div N, N sequences to a pass.

    `sequences` of `length` predicted tokens make a step; one token more is read, which is predicted alone.

    >>> import numpy as np
    >>> from empirical.training import Batches
    >>> sequences = Batches(np.arange(9), length=2, sequences=2, seed=0).step(5)
    >>> sequences.shape, sequences.diff().unique().tolist()  # each is a stretch of the text
    (torch.Size([2, 3]), [1])
    """

    def __init__(self, tokens: np.ndarray, *, length: int, sequences: int, seed: int) -> None:
        self._tokens, self._length, self._sequences, self._seed = tokens, length, sequences, seed
        # One sequence is set aside for the offset, which is at most length - 1.
        self.per_pass = (len(tokens) - 1) // length - 1
        if self.per_pass < 1:
            msg = (
                f"the training text has {len(tokens):,} tokens, fewer than two sequences of {length} tokens: "
                "use a longer corpus or a smaller --sequence-length"
            )
            raise CorpusError(msg)
        self._current: tuple[int, int, np.ndarray] | None = None

    def _pass(self, number: int) -> tuple[int, np.ndarray]:
        if self._current is None or self._current[0] != number:
            generator = np.random.default_rng([self._seed, number])
            offset = int(generator.integers(self._length))
            self._current = (number, offset, generator.permutation(self.per_pass))
        return self._current[1:]

    def step(self, step: int, *, rank: int = 0, ranks: int = 1) -> Tensor:
        """Sequences of a step for one of `ranks` processes, shape (sequences/ranks, length + 1), int64.

        The processes take consecutive parts, as consecutive micro-batches of one process would be.
        """
        rows = []
        count = self._sequences // ranks
        first = step * self._sequences + rank * count
        for n in range(first, first + count):
            offset, order = self._pass(n // self.per_pass)
            start = offset + int(order[n % self.per_pass]) * self._length
            rows.append(np.asarray(self._tokens[start : start + self._length + 1], dtype=np.int64))
        return torch.from_numpy(np.stack(rows))
