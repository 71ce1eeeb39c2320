"""Errors of theorems: in how one is written, or found by its checks."""

from ..errors import LngeomError


class CheckError(LngeomError):
    """A theorem failed one of its checks, or a statement of a worked example is not certainly true."""


class BodyError(LngeomError, TypeError):
    """The body of a theorem does something that says nothing about every dimension, or that would be true unasked."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line
