"""Run directories, where the sequences of a run come from, and the processes that share a run."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .directory import (
        RunDirectory as RunDirectory,
        Status as Status,
        first_difference as first_difference,
        identity_of as identity_of,
    )
    from .processes import Ranks as Ranks, leads as leads, ranks as ranks
    from .records import (
        ENVIRONMENT as ENVIRONMENT,
        Origin as Origin,
        environment as environment,
        read_origins as read_origins,
    )
else:
    __getattr__ = lazy(__name__, __file__)
