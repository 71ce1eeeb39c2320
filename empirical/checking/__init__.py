"""Is my norm right? Kernels, modules and models held against the exact definition and its derived tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._check import check as check
from ._finding import CheckFailed as CheckFailed, Finding as Finding
from ._onnx import OnnxNorm as OnnxNorm, onnx_norms as onnx_norms
from ._spec import check_spec as check_spec

if TYPE_CHECKING:
    from ._doctor import Diagnosis as Diagnosis, compare_models as compare_models


def __getattr__(name: str) -> Any:
    """What compares models needs PyTorch, the checks of kernels do not."""
    if name in ("Diagnosis", "compare_models"):
        from . import _doctor

        return getattr(_doctor, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


__all__ = ["CheckFailed", "Diagnosis", "Finding", "OnnxNorm", "check", "check_spec", "compare_models", "onnx_norms"]
