"""Statistics: states that merge, how hidden states are reduced to them, and the table computed from them."""

from __future__ import annotations

from ._growth import Growth as Growth, growth as growth, stream as stream, write_csv as write_growth
from ._inference import CONFIDENCE as CONFIDENCE, ratio_interval as ratio_interval
from ._reduction import (
    input_features as input_features,
    output_features as output_features,
    reduce as reduce,
)
from ._sketch import Sketch as Sketch, sketch as sketch
from ._state import (
    BUCKETS as BUCKETS,
    FEATURES as FEATURES,
    SIDES as SIDES,
    Side as Side,
    SiteState as SiteState,
    States as States,
    merge as merge,
    merge_sites as merge_sites,
)
from ._storage import load as load, save as save
from ._table import (
    COLUMNS as COLUMNS,
    compute as compute,
    read_csv as read_csv,
    rows as rows,
    write_csv as write_csv,
)

__all__ = [
    "BUCKETS",
    "COLUMNS",
    "CONFIDENCE",
    "FEATURES",
    "SIDES",
    "Growth",
    "Side",
    "SiteState",
    "Sketch",
    "States",
    "compute",
    "growth",
    "input_features",
    "load",
    "merge",
    "merge_sites",
    "output_features",
    "ratio_interval",
    "read_csv",
    "reduce",
    "rows",
    "save",
    "sketch",
    "stream",
    "write_csv",
    "write_growth",
]
