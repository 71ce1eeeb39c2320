"""Run directories: whole files, locks, manifests, the processes that share a run, and their progress."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._directory import RunDirectory as RunDirectory, Status as Status
    from ._manifest import (
        ENVIRONMENT as ENVIRONMENT,
        environment as environment,
        first_difference as first_difference,
        measured_by as measured_by,
    )
    from ._processes import Ranks as Ranks, leads as leads, ranks as ranks
    from ._sequences import Sequence as Sequence, read_sequences as read_sequences, write_sequences as write_sequences
else:
    __getattr__ = lazy(__name__, __file__)
