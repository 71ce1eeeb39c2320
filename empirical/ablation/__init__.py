"""Ablation: what it costs to drop or to add mean subtraction, in nats per token."""

from __future__ import annotations

from ._ablate import Ablation as Ablation, run_ablation as run_ablation
from ._changes import Change as Change, applied as applied, plan_changes as plan_changes
from ._measure import Measurement as Measurement

__all__ = ["Ablation", "Change", "Measurement", "applied", "plan_changes", "run_ablation"]
