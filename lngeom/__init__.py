"""The geometry of LayerNorm and RMSNorm, for NumPy, PyTorch and every other array-API library.

These conventions hold for every function. Vectors lie along the last axis: `x` has shape (..., d). `gain` and `bias`
have shape (d,) and default to 1 and 0. Arrays have a real floating dtype, and all arrays of a call belong to one
library; results belong to the same library and device. Moments, inner products and norms may be integers: they count as
float64, beside rows as their dtype. float16 and bfloat16 are computed in float32: results with components are rounded
once to the dtype of `x`, single numbers per vector stay float32. `eps` ≥ 0 is a keyword without a default, because its
value and its place differ between libraries: with `placement` "inside" a layer divides by √(σ² + ε) (PyTorch, Hugging
Face), with "outside" by σ + ε. `centered` False means RMSNorm: no mean is subtracted, and σ² is ‖x‖²/d. At ε = 0 a
vector with σ = 0 cannot be normalized, and its row is NaN. A row with a NaN or an infinity affects no other row. Rows
whose squares leave the range of the dtype are first multiplied by a power of two, which changes no digit, unless ε is
of ordinary size: beside it, with D what a layer divides by, results may be off by some of the smallest numbers of the
dtype over D. Angles are in radians. Invalid input raises :class:`lngeom.errors.InputError`.

The most used names are here, and :mod:`lngeom.check` can be called as a function: ``lngeom.check(kernel)``.
Every other name is in the module of its noun: :mod:`lngeom.norms`,
:mod:`lngeom.projection`, :mod:`lngeom.angles`, :mod:`lngeom.epsilon`, :mod:`lngeom.fibers`, :mod:`lngeom.derivatives`,
:mod:`lngeom.ellipsoid`, :mod:`lngeom.folding`, :mod:`lngeom.rounding`, :mod:`lngeom.plot`, :mod:`lngeom.errors`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        angles as angles,
        derivatives as derivatives,
        ellipsoid as ellipsoid,
        epsilon as epsilon,
        errors as errors,
        fibers as fibers,
        folding as folding,
        norms as norms,
        plot as plot,
        projection as projection,
        rounding as rounding,
    )
    from .derivatives import jacobian
    from .ellipsoid import Ellipsoid, principal_axes
    from .norms import layer_norm, rms_norm, standardize
    from .projection import moments, project
    from .rounding import explain_difference, tolerance

    check: Any
    __version__: str
else:  # hidden, so that a misspelt name stays an error for type checkers
    # Loaded when asked for, so that the command line starts at once, and Ctrl-C finds it ready.
    _HOMES = {
        "derivatives": ("jacobian",),
        "ellipsoid": ("Ellipsoid", "principal_axes"),
        "norms": ("layer_norm", "rms_norm", "standardize"),
        "projection": ("moments", "project"),
        "rounding": ("explain_difference", "tolerance"),
    }
    _MODULES = {*_HOMES, "angles", "check", "epsilon", "errors", "fibers", "folding", "plot"}

    def __getattr__(name: str) -> object:
        if name == "__version__":
            metadata = importlib.import_module("importlib.metadata")
            try:
                return metadata.version("lngeom")
            except metadata.PackageNotFoundError:
                return "not installed"  # a checkout on the path
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = value = getattr(importlib.import_module(f".{home}", __name__), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*__all__, *_MODULES})


__all__ = [
    "Ellipsoid",
    "explain_difference",
    "jacobian",
    "layer_norm",
    "moments",
    "principal_axes",
    "project",
    "rms_norm",
    "standardize",
    "tolerance",
]
