"""Hooks that reduce hidden states to sums as they pass, sums that merge, and the table computed from them."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._directions import SIGNS as SIGNS, random_directions, sign_directions as sign_directions
    from ._gauge import (
        Gauge as Gauge,
        gauge_dependent as gauge_dependent,
        moved_columns as moved_columns,
        norm_table as norm_table,
        random_gauge as random_gauge,
        random_rotation as random_rotation,
        reflection as reflection,
    )
    from ._inference import CONFIDENCE, ratio_interval, student as student
    from ._monitor import Monitor, NormCallback
    from ._observer import Observer
    from ._reduction import features, input_features, output_features, reduce
    from ._sketch import Sketch, Sketches, sketch
    from ._state import BUCKETS, FEATURES, SIDES, Side, SiteState, States, merge, merge_sites
    from ._storage import load_states, save_states
    from ._table import COLUMNS, TABLE as TABLE, Column as Column, compute, read_sites, rows
else:
    __getattr__ = lazy(__name__, __file__)
