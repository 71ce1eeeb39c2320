"""Carriers: what the formulas of the library run on, from arrays to numbers that know their error."""

from .carrier import (
    Array as Array,
    C as C,
    Carrier as Carrier,
    anchored as anchored,
    beside as beside,
    check_eps as check_eps,
    check_gain as check_gain,
    check_parameter as check_parameter,
    check_vectors as check_vectors,
    detached as detached,
    dtype_name as dtype_name,
    finfo as finfo,
    in_range as in_range,
    mean_in_range as mean_in_range,
    namespace as namespace,
    narrow as narrow,
    widen as widen,
)
from .dual import Dual as Dual, derivative as derivative
from .enclosure import Enclosure as Enclosure
from .entry import door as door, float64 as float64
from .interval import (
    SQRT_BITS as SQRT_BITS,
    Interval as Interval,
    UndecidedError as UndecidedError,
    ends as ends,
    stands as stands,
)
from .rounded import Rounded as Rounded

__all__ = ["Enclosure", "Interval", "Rounded", "UndecidedError", "namespace"]
