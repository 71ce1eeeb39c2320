"""Run directories, where the sequences of a run come from, and the processes that share a run."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._directory import (
        RunDirectory as RunDirectory,
        Status as Status,
        first_difference as first_difference,
        identity_of as identity_of,
    )
    from ._environment import ENVIRONMENT as ENVIRONMENT, environment as environment
    from ._processes import Ranks as Ranks, leads as leads, ranks as ranks
    from ._sequences import Origin as Origin, read_origins as read_origins
else:
    __getattr__ = lazy(__name__, __file__)
