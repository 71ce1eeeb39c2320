"""The sweep: one forward pass of a model over a corpus, every norm layer measured, no hidden state stored."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .live import load_live as load_live, measure
    from .options import (
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
    from .published import holds_all, sweep_all, write_all
    from .reading import FinishedRun, compare_runs, read_finished
    from .results import show_finished as show_finished, write_pages as write_pages, written_to as written_to
    from .stages import run_sweep
    from .tokens import Drawing as Drawing, draw_tokens as draw_tokens
else:
    __getattr__ = lazy(__name__, __file__)
