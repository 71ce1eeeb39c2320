"""The controlled study: many small networks trained by one plan, gathered in one table."""

from __future__ import annotations

from ._interval import geometric_mean as geometric_mean, student_mean as student_mean
from ._plan import Condition as Condition, conditions as conditions, plan as plan
from ._study import gather as gather, run_study as run_study
from ._study_report import (
    study_report as study_report,
    verdict as verdict,
    write_study_report as write_study_report,
)
from ._summary import (
    chance_of_ranks as chance_of_ranks,
    first_step_below as first_step_below,
    loss_differences as loss_differences,
    summarize as summarize,
    summarize_writers as summarize_writers,
    writer_kind as writer_kind,
)

__all__ = [
    "Condition",
    "conditions",
    "gather",
    "plan",
    "run_study",
    "study_report",
    "write_study_report",
]
