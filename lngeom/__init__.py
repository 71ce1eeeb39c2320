"""The geometry of LayerNorm and RMSNorm, for NumPy, PyTorch and every other array-API library.

What holds for every function stands here. Vectors lie along the last axis: `x` has shape (..., d), `gain` and `bias`
have shape (d,), absent ones are 1 and 0. Arrays have a real floating dtype, and all of one call belong to one library;
so do results, on the same device. float16 and bfloat16 are computed in float32: results with components are rounded to
the dtype of `x` once, single numbers per vector stay float32. `eps` ≥ 0 is an explicit keyword everywhere, because its
value and its place differ between libraries: with `placement` "inside" a layer divides by √(σ² + ε) (PyTorch, Hugging
Face), with "outside" by σ + ε. `centered` False stands for RMSNorm: no mean is subtracted, and σ² is ‖x‖²/d. At ε = 0 a
vector with σ = 0 has no normalization, and its row is NaN. A row with a NaN or an infinity spoils no other. Rows whose
squares leave the range of the dtype are multiplied by a power of two, which changes no digit. Angles are in radians.
Whatever breaks a rule raises :class:`InputError`.
"""

from typing import TYPE_CHECKING

from ._axes import PrincipalAxes, principal_axes
from ._certificate import Certificate
from ._dead_direction import dead_direction
from ._ellipsoid import Ellipsoid
from ._epsilon import gauge, gauge_from_mean_square, matching_eps
from ._errors import InputError, LngeomError
from ._fibers import Fiber, fiber, invert, same_fiber
from ._folding import FoldCertificate, center_writer, certify_centering, certify_fold, fold_affine
from ._isotropic import IsotropicAngle, massive_activation_bound
from ._jacobian import (
    jacobian,
    jacobian_operator,
    jacobian_product,
    jacobian_singular_values,
    jacobian_transpose_product,
)
from ._norms import (
    batch_norm,
    layer_norm,
    layer_rms_distance,
    layer_rms_distance_from_moments,
    rms_norm,
    scale,
    standardize,
)
from ._potential import lipschitz_constant, potential
from ._projection import (
    angle_from_inner_product,
    angle_from_moments,
    angle_to_uniform,
    centered_inner_product,
    condition_number,
    mean_vector,
    moments,
    project,
    uniform,
)

if TYPE_CHECKING:
    from .rounding._difference import Explanation, explain_difference
    from .rounding._tolerance import Acceptance, Tolerance, error_bound, tolerance

    __version__: str
else:  # hidden, so that a misspelt name stays an error for type checkers
    _LATER = {"Explanation": "rounding._difference", "explain_difference": "rounding._difference"} | dict.fromkeys(
        ("Acceptance", "Tolerance", "error_bound", "tolerance"), "rounding._tolerance"
    )

    def __getattr__(name: str) -> object:
        """What judges kernels, and the version, loaded when asked for: they would take half of the import."""
        import importlib

        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("lngeom")
        if name in _LATER:
            globals()[name] = found = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Acceptance",
    "Certificate",
    "Ellipsoid",
    "Explanation",
    "Fiber",
    "FoldCertificate",
    "InputError",
    "IsotropicAngle",
    "LngeomError",
    "PrincipalAxes",
    "Tolerance",
    "angle_from_inner_product",
    "angle_from_moments",
    "angle_to_uniform",
    "batch_norm",
    "center_writer",
    "centered_inner_product",
    "certify_centering",
    "certify_fold",
    "condition_number",
    "dead_direction",
    "error_bound",
    "explain_difference",
    "fiber",
    "fold_affine",
    "gauge",
    "gauge_from_mean_square",
    "invert",
    "jacobian",
    "jacobian_operator",
    "jacobian_product",
    "jacobian_singular_values",
    "jacobian_transpose_product",
    "layer_norm",
    "layer_rms_distance",
    "layer_rms_distance_from_moments",
    "lipschitz_constant",
    "massive_activation_bound",
    "matching_eps",
    "mean_vector",
    "moments",
    "potential",
    "principal_axes",
    "project",
    "rms_norm",
    "same_fiber",
    "scale",
    "standardize",
    "tolerance",
    "uniform",
]
