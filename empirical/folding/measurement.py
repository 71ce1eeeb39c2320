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

    def _inputs(self, batch: list[Passage], encoded: Tensor | None) -> dict[str, Tensor | tuple[Tensor]]:
        inputs: dict[str, Tensor | tuple[Tensor]] = dict(tensors(self._network, batch))
        if encoded is not None:
            inputs = {name: value for name, value in inputs.items() if name.startswith("decoder_")}
            inputs["encoder_outputs"] = (encoded,)
        return inputs

    def _outputs(
        self, network: nn.Module, encodings: Sequence[Tensor | None]
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """Log-probabilities of every batch, and the output of the encoder."""
        with torch.inference_mode():
            for batch, encoded in zip(self._batches, encodings, strict=True):
                output = network(**self._inputs(batch, encoded))
                places = (len(batch), *batch[0].labels.shape)  # one for a picture, whose logits have no axis of tokens
                logits = output.logits[:, None] if output.logits.ndim == 2 else output.logits
                if logits.shape[:-1] != places:
                    msg = f"labels {places} for logits {tuple(logits.shape)}; give one label for each position"
                    raise CorpusError(msg)
                yield log_softmax(logits.float(), -1), getattr(output, "encoder_last_hidden_state", None)

    @cached_property
    def _unchanged(self) -> list[tuple[Tensor, Tensor | None]]:
        return list(self._outputs(self._network, [None] * len(self._batches)))

    def __call__(self, change: Change, seed: int = 0) -> np.ndarray:
        """A row for each case: its document, its tokens, the sums of their losses, divergences and agreeing guesses.

        The loss of ``none`` is the network's own, else the difference to it.
        """
        base, config = self._unchanged, self._network.config
        if change.name == "none":
            pairs = zip(self._batches, base, strict=True)
            return np.concatenate([self._row(batch, log_p, None) for batch, (log_p, _) in pairs])
        encoder = getattr(self._network, "get_encoder", None) if config.is_encoder_decoder else None
        prefix = next((n for n, m in self._network.named_modules() if encoder and m is encoder()), None)
        decoder_only = (
            prefix is not None and change.norms and not any(norm.path.startswith(f"{prefix}.") for norm in change.norms)
        )
        with applied(self._network, change, seed=seed) as network:
            changed = self._outputs(network, [e if decoder_only else None for _, e in base])
            triples = zip(self._batches, base, changed, strict=True)
            return np.concatenate([self._row(batch, log_p, log_q) for batch, (log_p, _), (log_q, _) in triples])

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
