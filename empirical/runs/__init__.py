"""Run directories, where the sequences of a run come from, and the processes that share a run."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .directory import RunDirectory, Status, first_difference, identity_of
    from .processes import Ranks, leads, ranks
    from .records import ENVIRONMENT, Origin, environment, read_origins
if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
