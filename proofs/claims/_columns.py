"""The result files that claims about trained networks are answered by."""

from __future__ import annotations

from ._claim import Column


def sites(*names: str) -> tuple[Column, ...]:
    """Columns of the sweep's table: one row per norm layer, side and position bucket."""
    return tuple(Column("sites.csv", name) for name in names)


def predictions(*names: str) -> tuple[Column, ...]:
    """Columns of the verdicts of a sweep: one row per prediction and norm layer, or for the whole model."""
    return tuple(Column("predictions.csv", name) for name in names)


def study(*names: str) -> tuple[Column, ...]:
    """Columns of the training study: one row per network, checkpoint and norm layer."""
    return tuple(Column("study.csv", name) for name in names)


def summary(*names: str) -> tuple[Column, ...]:
    """Entries of the summary of a training run."""
    return tuple(Column("summary.json", name) for name in names)


def losses(*names: str) -> tuple[Column, ...]:
    """Columns of a training run: one row per step."""
    return tuple(Column("losses.csv", name) for name in names)
