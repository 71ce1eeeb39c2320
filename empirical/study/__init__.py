"""The controlled study: many small networks trained by one plan, gathered in one table.

Two tiny networks, one step each:

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> import torch
>>> from empirical.runs import ranks
>>> from empirical.study import Condition, gather, run_study, write_study_report
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
['depth.svg', 'gradients.csv', 'report.md', 'sizes.svg', 'steps.svg', 'study.csv', 'writers.csv']
"""

from __future__ import annotations

from ._interval import geometric_mean as geometric_mean, student_mean as student_mean
from ._plan import (
    Condition as Condition,
    conditions as conditions,
    controls as controls,
    plan as plan,
)
from ._study import gather as gather, run_study as run_study
from ._study_report import (
    study_report as study_report,
    verdict as verdict,
    write_study_report as write_study_report,
)
from ._summary import (
    chance_of_ranks as chance_of_ranks,
    first_step_below as first_step_below,
    paired_losses as paired_losses,
    summarize as summarize,
    summarize_writers as summarize_writers,
    writer_kind as writer_kind,
)

__all__ = [
    "Condition",
    "conditions",
    "controls",
    "gather",
    "plan",
    "run_study",
    "study_report",
    "write_study_report",
]
