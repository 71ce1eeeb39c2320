"""Proofs as files that other checkers read: the statement as the library computes it, and every step."""

from lngeom.kernel import digest as digest

from ._export import certificate as certificate, certificates as certificates, read as read, write as write
from ._reading import Certificate as Certificate, parts as parts, reading as reading
from ._recheck import Refused as Refused, recheck as recheck
from ._verify import (
    RESULTS as RESULTS,
    build_checker as build_checker,
    last_step_proved as last_step_proved,
    replay as replay,
    replayed as replayed,
    verify as verify,
)

__all__ = [
    "Certificate",
    "Refused",
    "certificate",
    "certificates",
    "digest",
    "last_step_proved",
    "parts",
    "read",
    "reading",
    "recheck",
    "replayed",
    "write",
]
