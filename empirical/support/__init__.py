"""Errors, whole files, tables and progress, for every room."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._arrays import ArrayWriter as ArrayWriter, sha256_of_tensors as sha256_of_tensors
    from ._errors import (
        CorpusError as CorpusError,
        ModelError as ModelError,
        RunError as RunError,
        one_line as one_line,
    )
    from ._files import (
        Json as Json,
        lock as lock,
        lock_beside as lock_beside,
        read_json as read_json,
        read_sealed as read_sealed,
        replacing as replacing,
        sha256_of as sha256_of,
        sync as sync,
        write_folder as write_folder,
        write_json as write_json,
        write_sealed as write_sealed,
        write_text as write_text,
    )
    from ._hub import hub_silence as hub_silence
    from ._memory import memory as memory
    from ._progress import Advance as Advance, progress as progress, say as say
    from ._tables import (
        Row as Row,
        Rows as Rows,
        StepTable as StepTable,
        read_records as read_records,
        read_table as read_table,
        write_records as write_records,
        write_table as write_table,
    )
else:
    __getattr__ = lazy(__name__, __file__)
