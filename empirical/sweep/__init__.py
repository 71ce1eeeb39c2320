"""The sweep: one forward pass of a model over a corpus, every norm layer measured, no hidden state stored."""

from __future__ import annotations

from ._merge import merge_runs as merge_runs
from ._published import ALL as ALL, holds_all as holds_all, sweep_all as sweep_all, write_all as write_all
from ._results import write_pages as write_pages, written_to as written_to
from ._sweep import (
    DEFAULT_DIRECTIONS as DEFAULT_DIRECTIONS,
    DEFAULT_LENGTH as DEFAULT_LENGTH,
    DEFAULT_TOKENS as DEFAULT_TOKENS,
    Sweep as Sweep,
    run_sweep as run_sweep,
)
from ._tokens import draw_tokens as draw_tokens

__all__ = [
    "Sweep",
    "holds_all",
    "merge_runs",
    "run_sweep",
    "sweep_all",
    "write_all",
]
