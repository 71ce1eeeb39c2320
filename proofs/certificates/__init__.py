"""Proofs as files that other checkers read: the statement as the library computes it, and every step."""

from .export import read, write
from .files import reading
from .replays import RESULTS, audit, build_checker, last_step_proved, replay, replayed, verify

__all__ = ["last_step_proved", "read", "reading", "replayed", "write"]
