"""Capture: statistics of hidden states, taken by hooks during the forward pass.

Statistics: states that merge, how hidden states are reduced to them, and the table computed from them.

From a layer to its table, and from parts of a text to the whole:

>>> import tempfile, torch
>>> from pathlib import Path
>>> from empirical.observe import Observer
>>> from empirical.models import NormSite
>>> from empirical.observe import compute, load_states, merge, rows, save_states
>>> layer, site = torch.nn.Sequential(torch.nn.LayerNorm(2)), NormSite("0", None, "final", "layernorm", 1e-5, 2)
>>> def measured(vectors):
...     with Observer(layer, [site]) as observer:
...         _ = layer(torch.tensor([vectors]))
...     return observer.states
>>> both = merge(measured([[3.0, 4.0], [6.0, 8.0]]), measured([[0.0, 5.0], [9.0, 12.0], [0.0, 0.0]]))
>>> compute(both["0", "input"], "input")["all"]["norm_mean"]  # of lengths 5, 10, 5, 15
8.75
>>> with tempfile.TemporaryDirectory() as folder:
...     save_states(Path(folder, "state.safetensors"), both, {"text": "two lines"})
...     states, about = load_states(Path(folder, "state.safetensors"))
>>> about, [(row["bucket"], row["tokens"], row["zero"]) for row in rows(states, [site]) if row["side"] == "input"]
({'text': 'two lines'}, [('first', 2, 0), ('rest', 2, 1), ('all', 4, 1)])
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._directions import random_directions
    from ._growth import GROWTH_COLUMNS as GROWTH_COLUMNS, LAWS as LAWS, Growth, growth, stream
    from ._inference import CONFIDENCE, ratio_interval, student as student
    from ._monitor import Monitor, NormCallback
    from ._observer import Observer
    from ._reduction import features, input_features, output_features, reduce
    from ._sketch import Sketch, Sketches, sketch
    from ._state import BUCKETS, FEATURES, SIDES, Side, SiteState, States, merge, merge_sites
    from ._storage import load_states, save_states
    from ._table import COLUMNS, TABLE as TABLE, column as column, compute, read_sites, rows
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "BUCKETS",
    "COLUMNS",
    "CONFIDENCE",
    "FEATURES",
    "SIDES",
    "Growth",
    "Monitor",
    "NormCallback",
    "Observer",
    "Side",
    "SiteState",
    "Sketch",
    "Sketches",
    "States",
    "compute",
    "features",
    "growth",
    "input_features",
    "load_states",
    "merge",
    "merge_sites",
    "output_features",
    "random_directions",
    "ratio_interval",
    "read_sites",
    "reduce",
    "rows",
    "save_states",
    "sketch",
    "stream",
]
