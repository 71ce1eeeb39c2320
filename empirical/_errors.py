"""The exceptions of the measurements; all of them are :class:`lngeom.LngeomError`."""

from __future__ import annotations

from lngeom import LngeomError


class CorpusError(LngeomError, ValueError):
    """The text or the token ids cannot be read, or are too few."""


class ModelError(LngeomError, ValueError):
    """The model cannot be found, loaded or measured."""


class RunError(LngeomError, ValueError):
    """A run directory cannot be written, resumed or merged."""
