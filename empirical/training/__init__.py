"""The controlled study: GPT-2 trained with LayerNorm and with RMSNorm, all else equal, and measured on the way.

A tiny network learns to count:

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> import torch
>>> from empirical.report import draw_runs, load_drawn, write_run_report
>>> from empirical.training import Execution, Recipe, Shape, TokenData, ranks, train
>>> shape = Shape(2, 8, 2, 1e-3, 4, 11, 4, 2, first_checkpoint=0.5)
>>> recipe = Recipe(shape, "layer", "adamw", 1e-3, steps=4, sequences=2, sequence_length=4)
>>> text = np.arange(110) % 11
>>> data = TokenData(text, text[:22], 11, 0, source={"corpus": "counting"}, tokenizer=None)
>>> small = Execution(held_out_tokens=20, directions=4)
>>> with tempfile.TemporaryDirectory() as folder, ranks(torch.device("cpu")) as alone:
...     out = Path(folder, "run")
...     complete = train(recipe, data, out, processes=alone, execution=small)
...     drawn = load_drawn(out)
...     write_run_report(out)
...     print(complete, drawn.title, [row["step"] for row in drawn.held_out], draw_runs([drawn], Path(folder)))
True LayerNorm [0, 2, 4] ['losses.svg', 'angles.svg', 'energy.svg']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ..models import RMSNorm
    from ..runs import Ranks, ranks
    from ._data import Batches, TokenData, open_data, prepare, train_tokenizer
    from ._gradients import WriterGradient, uniform_energy, writer_gradients, writers
    from ._measure import Measurement, StreamMeasurement
    from ._model import CONTROLS, UNorm, build_model, flops_per_token
    from ._recipe import SHAPES, Norm, Optimizer, Recipe, Shape, checkpoint_steps, learning_rate
    from ._run import Execution
    from ._trainer import Report, train
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "CONTROLS",
    "SHAPES",
    "Batches",
    "Execution",
    "Measurement",
    "Norm",
    "Optimizer",
    "RMSNorm",
    "Ranks",
    "Recipe",
    "Report",
    "Shape",
    "StreamMeasurement",
    "TokenData",
    "UNorm",
    "WriterGradient",
    "build_model",
    "checkpoint_steps",
    "flops_per_token",
    "learning_rate",
    "open_data",
    "prepare",
    "ranks",
    "train",
    "train_tokenizer",
    "uniform_energy",
    "writer_gradients",
    "writers",
]
