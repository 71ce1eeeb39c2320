"""The cost of changes of a network: losses of the same tokens before and after, passage by passage."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax
from transformers import PreTrainedModel

from ..support import CorpusError
from ..text import IGNORED, Passage, batches
from .changes import Change, applied
from .inputs import tensors


class Measurement:
    """Runs the changes on some passages; the unchanged network runs once for all of them.

    Args:
        network: In evaluation mode.
        passages: The passages.
        batch: Tokens at once.
    """

    def __init__(self, network: PreTrainedModel, passages: Sequence[Passage], batch: int) -> None:
        self._network, self._batches = network, list(batches(list(passages), batch))

    def _outputs(self, network: nn.Module) -> Iterator[Tensor]:
        with torch.inference_mode():
            for batch in self._batches:
                output = network(**tensors(self._network, batch))
                places = (len(batch), *batch[0].labels.shape)  # one for a picture, whose logits have no axis of tokens
                logits = output.logits[:, None] if output.logits.ndim == 2 else output.logits
                if logits.shape[:-1] != places:
                    msg = f"labels {places} for logits {tuple(logits.shape)}; give one label for each position"
                    raise CorpusError(msg)
                yield log_softmax(logits.float(), -1)

    @cached_property
    def _unchanged(self) -> list[Tensor]:
        return list(self._outputs(self._network))

    def __call__(self, change: Change, seed: int = 0) -> np.ndarray:
        """A row for each case: its document, its tokens, the sums of their losses, divergences and agreeing guesses.

        The loss of ``none`` is the network's own, else the difference to it.
        """
        base = zip(self._batches, self._unchanged, strict=True)
        if change.name == "none":
            return np.concatenate([self._row(batch, log_p, None) for batch, log_p in base])
        with applied(self._network, change, seed=seed) as network:
            pairs = zip(base, self._outputs(network), strict=True)
            return np.concatenate([self._row(batch, log_p, log_q) for (batch, log_p), log_q in pairs])

    @staticmethod
    def _row(batch: list[Passage], log_p: Tensor, log_q: Tensor | None) -> np.ndarray:
        labels = torch.from_numpy(np.stack([case.labels for case in batch])).to(log_p.device)
        mask = labels != IGNORED
        right = torch.where(mask, labels, 0)[..., None]

        def summed(values: Tensor) -> Tensor:
            return torch.where(mask, values.double(), 0.0).sum(-1)

        loss = -log_p.gather(-1, right)[..., 0].double()
        kl, same = torch.zeros_like(loss), torch.ones_like(loss)
        if log_q is not None:
            loss = -log_q.gather(-1, right)[..., 0].double() - loss
            kl = (log_p.exp() * (log_p - log_q)).sum(-1)
            same = (log_p.argmax(-1) == log_q.argmax(-1)).double()
        documents = torch.tensor([case.document for case in batch], dtype=torch.float64)
        columns = [documents, mask.sum(-1).double(), summed(loss), summed(kl), summed(same)]
        return torch.stack([c.cpu() for c in columns], -1).numpy()
