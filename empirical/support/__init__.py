"""Errors, whole files, tables and progress, for every room."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .arrays import ArrayWriter as ArrayWriter, sha256_of_tensors as sha256_of_tensors
    from .errors import CorpusError as CorpusError, ModelError as ModelError, one_line as one_line
    from .hub import hub_silence as hub_silence
    from .tables import (
        Row as Row,
        Rows as Rows,
        StepTable as StepTable,
        read_records as read_records,
        read_table as read_table,
        write_records as write_records,
        write_table as write_table,
    )
    from .terminal import Advance as Advance, progress as progress, say as say
else:
    __getattr__ = lazy(__name__, __file__)
