"""What is measured of a control network: the energy of its stream along 1, along u, and along random directions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2LMHeadModel

from ..capture import random_directions
from ._controls import projected_direction
from ._data import TokenData


class StreamMeasurement:
    """Measures d·E[cos²θ] of chosen directions where blocks and head read the stream, always on the same text.

    Takes the place of :class:`Measurement` where the norms are not those of a family that the sweep knows.

    Args:
        data: Its held-out part is measured.
        width, seed: d and the seed of the run, which name u.
        length, tokens, directions: Tokens per sequence, tokens to measure, and random directions to rank 1 and u among.

    >>> import numpy as np
    >>> from empirical.training import Shape, StreamMeasurement, TokenData, build_model
    >>> model = build_model(Shape(1, 8, 2, 1e-3, 10, 11, 4, 2, 0.1), "u", seed=0)
    >>> data = TokenData(np.arange(11), np.arange(9), 11, 0, source={}, tokenizer=None)
    >>> measure = StreamMeasurement(data, width=8, seed=0, length=4, tokens=8, directions=4)
    >>> [(row["site"], row["direction"]) for row in measure(model, step=0)["directions"]]
    [('h.0', '1'), ('h.0', 'u'), ('ln_f', '1'), ('ln_f', 'u')]
    """

    tables: ClassVar[dict[str, tuple[str, ...]]] = {
        "held_out": ("step", "tokens", "loss"),
        "directions": (
            "step",
            "site",
            "direction",
            "d_cos2",
            "random_d_cos2_median",
            "rank_among_random",
            "directions",
        ),
    }

    def __init__(self, data: TokenData, *, width: int, seed: int, length: int, tokens: int, directions: int) -> None:
        self._text = data.held_out_sequences(length, tokens)
        named = np.stack([np.full(width, width**-0.5), projected_direction(width, seed)])
        self._columns = torch.from_numpy(np.concatenate([named, random_directions(width, directions, seed=0)]).T)

    def __call__(self, model: GPT2LMHeadModel, step: int) -> dict[str, list[dict[str, Any]]]:
        """Rows of every table of ``tables``."""
        base = model.transformer
        sites = {**{f"h.{k}": block for k, block in enumerate(base.h)}, "ln_f": base.ln_f}
        energies: dict[str, Tensor] = {}

        def reading(site: str) -> Any:
            def read(_: Any, given: tuple[Tensor, ...]) -> None:
                x = given[0].double().cpu()
                cos2 = (x @ self._columns) ** 2 / (x * x).sum(-1, keepdim=True)
                energies[site] = x.shape[-1] * cos2.flatten(0, -2).mean(0)

            return read

        hooks = [module.register_forward_pre_hook(reading(site)) for site, module in sites.items()]
        model.eval()
        with torch.inference_mode():
            ids = self._text.to(model.lm_head.weight.device)
            logits = model(input_ids=ids[:, :-1]).logits
            loss = float(functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten()))
        model.train()
        for hook in hooks:
            hook.remove()
        rows = []
        for site, found in energies.items():
            random = found[2:]
            for direction, energy in zip(("1", "u"), found[:2], strict=True):
                rows.append(
                    {
                        "step": step,
                        "site": site,
                        "direction": direction,
                        "d_cos2": float(energy),
                        "random_d_cos2_median": float(random.median()),
                        "rank_among_random": int((random < energy).sum()),
                        "directions": len(random),
                    }
                )
        held_out = {"step": step, "tokens": self._text[:, 1:].numel(), "loss": loss}
        return {"held_out": [held_out], "directions": rows}
