"""Proofs as files that other checkers read: the statement as the library computes it, and every step."""

from __future__ import annotations

from ._export import certificate as certificate, digest as digest, write as write

__all__ = ["certificate", "digest", "write"]
