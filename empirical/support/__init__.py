"""Errors, whole files, tables and progress, for every room."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .arrays import sha256_of_tensors
    from .errors import CorpusError, ModelError, one_line
    from .tables import Row, Rows, read_records, read_table, write_records, write_table
    from .terminal import Advance, progress, say
if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, __file__)
