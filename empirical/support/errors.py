"""The exceptions of the measurements; all of them are :class:`lngeom.errors.LngeomError`."""

from lngeom.errors import LngeomError


class CorpusError(LngeomError, ValueError):
    """The text or the token ids cannot be read, or are too few."""


class ModelError(LngeomError, ValueError):
    """The model cannot be found, loaded or measured."""


def one_line(error: LngeomError | OSError) -> str:
    """The line for a user: errors of this project as they are, errors of the file system with the file and advice."""
    if isinstance(error, LngeomError):
        return str(error)
    return f"{error.filename or 'a file'}: {error.strerror or error}; free space or choose another --output"
