"""The controlled study: many small networks trained by one plan, gathered in one table.

Two tiny networks, one step each:

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> import torch
>>> from empirical.report import write_study_report
>>> from empirical.runs import ranks
>>> from empirical.study import Condition, gather, run_study
>>> from empirical.training import Execution, TokenData
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

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._controls import (
        MARGIN as MARGIN,
        equivalence as equivalence,
        loss_against_layer_norm as loss_against_layer_norm,
        summarize_controls as summarize_controls,
    )
    from ._plan import TINY as TINY, Condition, conditions, controls, plan
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
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = ["Condition", "conditions", "controls", "gather", "plan", "run_study"]
