"""Run directories, and where the sequences of a run come from."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .directory import MEASURE_AGAIN, RunDirectory, Status, first_difference, identity_of
    from .records import ENVIRONMENT, Origin, environment, read_origins
if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
