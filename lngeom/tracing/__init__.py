"""Code of others run on the carriers of this library: what it computes for every dimension, as terms.

An array is one arbitrary row (:class:`Arr`); its axes have labels and no sizes. Whatever lacks a single meaning for all
rows of every dimension is refused, with the line of the program.
"""

from ._arrays import Arr as Arr, filled as filled, given as given
from ._grounds import (
    DualGround as DualGround,
    FloatGround as FloatGround,
    Ground as Ground,
    RecordedGround as RecordedGround,
)
from ._numpy import NumpyArray as NumpyArray, applied as applied
from ._sizes import FEATURE as FEATURE, Dim as Dim, Num as Num
from ._trace import Literals as Literals, Refusal as Refusal, Trace as Trace, runs as runs

__all__ = ["Arr", "Num", "Refusal", "Trace"]
