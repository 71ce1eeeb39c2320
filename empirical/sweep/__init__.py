"""The sweep: one forward pass of a model over a corpus, every norm layer measured, no hidden state stored."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._live import load_live as load_live, measure
    from ._options import (
        ALL as ALL,
        DEFAULT_DIRECTIONS as DEFAULT_DIRECTIONS,
        DEFAULT_LENGTH as DEFAULT_LENGTH,
        DEFAULT_TOKENS as DEFAULT_TOKENS,
        MeasureOptions,
        Sweep,
        corpus_of as corpus_of,
        is_live as is_live,
        source_of as source_of,
    )
    from ._published import holds_all, sweep_all, write_all
    from ._read import FinishedRun, compare_runs, read_finished
    from ._results import show_finished as show_finished, write_pages as write_pages, written_to as written_to
    from ._sweep import run_sweep
    from ._tokens import Drawing as Drawing, draw_tokens as draw_tokens
else:
    __getattr__ = lazy(__name__, __file__)
