"""The sweep: one forward pass of a model over a corpus, every norm layer measured, no hidden state stored."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .live import load_live
    from .options import ALL, DEFAULT_DIRECTIONS, DEFAULT_LENGTH, DEFAULT_TOKENS, corpus_of, is_live, source_of
    from .results import written_to
    from .tokens import Drawing, draw_tokens
if TYPE_CHECKING:
    from .live import measure
    from .options import MeasureOptions, Sweep
    from .published import sweep_all
    from .reading import FinishedRun, compare_runs, read_finished
    from .stages import run_sweep
else:
    __getattr__ = lazy(__name__, __file__)
