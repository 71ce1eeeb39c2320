"""Folding: mean subtraction removed from a network, exactly."""

from __future__ import annotations

from ._certificate import (
    compare as compare,
    load_folded as load_folded,
    verify_fold as verify_fold,
    write_fold as write_fold,
)
from ._fold import Fold as Fold, Map as Map, centered as centered, fold as fold, own as own, put as put
from ._inputs import sample_inputs as sample_inputs
from ._streams import find_streams as find_streams
from ._trace import find_norms as find_norms, trace as trace

__all__ = ["Fold", "Map", "fold", "load_folded", "verify_fold", "write_fold"]
