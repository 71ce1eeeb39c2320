"""The controlled study: GPT-2 trained with LayerNorm and with RMSNorm, all else equal, and measured on the way.

A tiny network learns to count:

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> import torch
>>> from empirical.pages import draw_runs, load_drawn, write_run_report
>>> from empirical.runs import ranks
>>> from empirical.train import Execution, Recipe, Shape, TokenData, train
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


The controlled study: many small networks trained by one plan, gathered in one table.

Two tiny networks, one step each:

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> import torch
>>> from empirical.pages import write_study_report
>>> from empirical.runs import ranks
>>> from empirical.train import Condition, gather, run_study
>>> from empirical.train import Execution, TokenData
>>> runs = [(Condition(norm, "adamw", 0.0, layers=4, width=128), 0) for norm in ("layer", "rms")]
>>> text = np.arange(110) % 11
>>> data = TokenData(text, text[:22], 11, 0, source={"corpus": "counting"}, tokenizer=None)
>>> small = Execution(held_out_tokens=16, directions=4, keep_networks=False, check_gradients=True)
>>> with tempfile.TemporaryDirectory() as folder, ranks(torch.device("cpu")) as alone:
...     run_study(data, Path(folder), runs=runs, steps=1, sequences=1, sequence_length=8, execution=small,
...               processes=alone, report=lambda tokens: None)
...     gather(Path(folder), runs)  # as run_study does at its end
...     write_study_report(Path(folder))
...     sorted(path.name for path in Path(folder).iterdir() if path.is_file())
['depth.svg', 'gradients.csv', 'report.html', 'report.md', 'sizes.svg', 'steps.svg', 'study.csv', 'writers.csv']
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._controls import (
        MARGIN as MARGIN,
        equivalence as equivalence,
        loss_against_layer_norm as loss_against_layer_norm,
        summarize_controls as summarize_controls,
    )
    from ._data import Sequences, TokenData, open_data, prepare, train_tokenizer
    from ._execution import Execution
    from ._gradients import WriterGradient, uniform_energy, writer_gradients, writers
    from ._measure import Measurement, StreamMeasurement
    from ._model import CONTROLS, UNorm, build_model, flops_per_token
    from ._plan import TINY as TINY, Condition, conditions, controls, plan
    from ._recipe import SHAPES, Norm, Optimizer, Recipe, Shape, checkpoint_steps, learning_rate
    from ._study import gather, run_study
    from ._summary import (
        CellSummary as CellSummary,
        Rows as Rows,
        SeedMean as SeedMean,
        along_depth as along_depth,
        cell_of as cell_of,
        chance_of_ranks as chance_of_ranks,
        first_step_below as first_step_below,
        geometric_mean as geometric_mean,
        paired_losses as paired_losses,
        student_mean as student_mean,
        summarize as summarize,
        summarize_writers as summarize_writers,
        writer_kind as writer_kind,
    )
    from ._trainer import Report, train
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "CONTROLS",
    "SHAPES",
    "Condition",
    "Execution",
    "Measurement",
    "Norm",
    "Optimizer",
    "Recipe",
    "Report",
    "Sequences",
    "Shape",
    "StreamMeasurement",
    "TokenData",
    "UNorm",
    "WriterGradient",
    "build_model",
    "checkpoint_steps",
    "conditions",
    "controls",
    "flops_per_token",
    "gather",
    "learning_rate",
    "open_data",
    "plan",
    "prepare",
    "run_study",
    "train",
    "train_tokenizer",
    "uniform_energy",
    "writer_gradients",
    "writers",
]
