"""Proofs as files that other checkers read: the statement as the library computes it, and every step."""

from .export import read as read, write as write
from .files import reading as reading
from .replays import (
    RESULTS as RESULTS,
    audit as audit,
    build_checker as build_checker,
    last_step_proved as last_step_proved,
    replay as replay,
    replayed as replayed,
    verify as verify,
)

__all__ = ["last_step_proved", "read", "reading", "replayed", "write"]
