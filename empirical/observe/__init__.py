"""Hooks that reduce hidden states to sums as they pass, sums that merge, and the table computed from them."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .directions import random_directions, sign_directions as sign_directions
    from .gauge import (
        Gauge as Gauge,
        gauge_dependent as gauge_dependent,
        moved_columns as moved_columns,
        norm_table as norm_table,
        random_gauge as random_gauge,
        random_rotation as random_rotation,
        reflection as reflection,
    )
    from .inference import CONFIDENCE, centred_interval, false_alarms, paired_reach, ratio_interval, student
    from .monitor import Monitor, NormCallback
    from .observer import Observer
    from .reduction import features, input_features, output_features, reduce
    from .sketches import Sketch, Sketches, sketch
    from .state import BUCKETS, FEATURES, SIDES, Side, SiteState, States, merge, merge_sites
    from .storage import load_states, save_states
    from .table import COLUMNS, TABLE as TABLE, Column as Column, compute, read_sites, rows
else:
    __getattr__ = lazy(__name__, __file__)
