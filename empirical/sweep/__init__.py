"""The sweep: one forward pass of a model over a corpus, every norm layer measured, no hidden state stored.

A tiny network on two texts, its page, and both texts as one:

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> from rich.console import Console
>>> from transformers import LlamaConfig
>>> from empirical.pages import write_report
>>> from empirical.sweep import Sweep, merge_runs, run_sweep
>>> tiny = LlamaConfig(vocab_size=16, hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
>>> with tempfile.TemporaryDirectory() as folder:
...     tiny.save_pretrained(f"{folder}/tiny")
...     for part in (9, 10):
...         np.save(f"{folder}/{part}.npy", np.arange(64) % part)
...         sweep = Sweep(f"{folder}/tiny", f"{folder}/{part}.npy", random_weights=True, tokens=64,
...                       sequence_length=16, output=f"{folder}/run-{part}")
...         run = run_sweep(sweep, console=Console(quiet=True), show=False)
...     page = write_report(run.path)  # once more, from what the run left
...     print(page.name, page.read_text().count("<svg"))
...     table = merge_runs([Path(folder, "run-9"), Path(folder, "run-10")], Path(folder, "both"))
report.html 4
>>> [(row["bucket"], row["tokens"], row["sequences"]) for row in table[:3]]
[('first', 8, 8), ('rest', 120, 8), ('all', 128, 8)]
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._live import is_live as is_live, load_live as load_live, measure
    from ._merge import merge_runs
    from ._options import (
        ALL as ALL,
        DEFAULT_DIRECTIONS as DEFAULT_DIRECTIONS,
        DEFAULT_LENGTH as DEFAULT_LENGTH,
        DEFAULT_TOKENS as DEFAULT_TOKENS,
        MeasureOptions,
        Sweep,
    )
    from ._published import holds_all, sweep_all, write_all
    from ._read import FinishedRun, compare_runs, read_finished
    from ._results import show_finished as show_finished, write_pages as write_pages, written_to as written_to
    from ._sweep import run_sweep
    from ._tokens import Drawing as Drawing, draw_tokens as draw_tokens
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "FinishedRun",
    "MeasureOptions",
    "Sweep",
    "compare_runs",
    "holds_all",
    "measure",
    "merge_runs",
    "read_finished",
    "run_sweep",
    "sweep_all",
    "write_all",
]
