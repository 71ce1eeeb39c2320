"""Hooks that reduce hidden states to sums as they pass, sums that merge, and the table computed from them."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .directions import sign_directions
    from .gauge import random_rotation, reflection
    from .table import TABLE, Column
if TYPE_CHECKING:
    from .directions import random_directions
    from .inference import CONFIDENCE, centred_interval, false_alarms, paired_reach, ratio_interval, student
    from .monitor import Monitor, NormCallback
    from .observer import Observer
    from .reduction import features, input_features, output_features, reduce
    from .sketches import Sketch, Sketches, sketch
    from .state import BUCKETS, FEATURES, SIDES, Side, SiteState, States, merge, merge_sites
    from .storage import load_states, save_states
    from .table import COLUMNS, compute, read_sites, rows
else:
    __getattr__ = lazy(__name__, __file__)
