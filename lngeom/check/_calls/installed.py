"""Versions of everything that a verdict was reached with."""

import platform
import sys
from importlib.metadata import version

import lngeom

_PACKAGES = ("numpy", "torch", "jax", "onnx", "onnxruntime", "keras", "triton")


def versions() -> dict[str, str]:
    """Versions of Python, of the platform, and of every loaded package that norms come from."""
    loaded = {name: version(name) for name in _PACKAGES if name in sys.modules}
    machine = {"python": platform.python_version(), "platform": platform.platform()}
    return {**machine, "lngeom": lngeom.__version__, **loaded}
