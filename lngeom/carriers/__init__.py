"""Carriers: what the formulas of the library run on, from arrays to numbers that know their error."""

from .carrier import (
    Array,
    C,
    Carrier,
    anchored,
    beside,
    check_eps,
    check_gain,
    check_parameter,
    check_vectors,
    detached,
    dtype_name,
    finfo,
    in_range,
    mean_in_range,
    namespace,
    narrow,
    widen,
)
from .dual import Dual, derivative
from .enclosure import Enclosure
from .entry import door, float64
from .interval import SQRT_BITS, Interval, UndecidedError, ends, stands
from .rounded import Rounded

__all__ = ["Enclosure", "Interval", "Rounded", "UndecidedError", "namespace"]
