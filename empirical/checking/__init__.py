"""Is my norm right? Kernels, modules and models held against the exact definition and its derived tolerance."""

from __future__ import annotations

from ._check import check as check
from ._finding import CheckFailed as CheckFailed, Finding as Finding
from ._spec import check_spec as check_spec

__all__ = ["CheckFailed", "Finding", "check", "check_spec"]
