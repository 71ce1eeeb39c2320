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

from __future__ import annotations

from typing import TYPE_CHECKING

from ._angle import (
    angle_from_inner_product as angle_from_inner_product,
    centered_inner_product as centered_inner_product,
)
from ._axes import PrincipalAxes as PrincipalAxes, principal_axes as principal_axes
from ._certificate import Certificate as Certificate
from ._dead_direction import dead_direction as dead_direction
from ._difference import Explanation as Explanation, explain_difference as explain_difference
from ._ellipsoid import Ellipsoid as Ellipsoid
from ._epsilon import gauge as gauge, gauge_from_mean_square as gauge_from_mean_square, matching_eps as matching_eps
from ._errors import InputError as InputError, LngeomError as LngeomError
from ._fibers import Fiber as Fiber, fiber as fiber, invert as invert, same_fiber as same_fiber
from ._folding import (
    FoldCertificate as FoldCertificate,
    center_writer as center_writer,
    certify_centering as certify_centering,
    certify_fold as certify_fold,
    fold_affine as fold_affine,
)
from ._isotropic import IsotropicAngle as IsotropicAngle, massive_activation_bound as massive_activation_bound
from ._jacobian import (
    jacobian as jacobian,
    jacobian_operator as jacobian_operator,
    jacobian_product as jacobian_product,
    jacobian_singular_values as jacobian_singular_values,
    jacobian_transpose_product as jacobian_transpose_product,
)
from ._layer_rms import (
    layer_rms_distance as layer_rms_distance,
    layer_rms_distance_from_moments as layer_rms_distance_from_moments,
)
from ._norms import (
    batch_norm as batch_norm,
    layer_norm as layer_norm,
    rms_norm as rms_norm,
    scale as scale,
    standardize as standardize,
)
from ._potential import lipschitz_constant as lipschitz_constant, potential as potential
from ._projection import (
    angle_from_moments as angle_from_moments,
    angle_to_uniform as angle_to_uniform,
    condition_number as condition_number,
    mean_vector as mean_vector,
    moments as moments,
    project as project,
    uniform as uniform,
)
from ._tolerance import (
    Acceptance as Acceptance,
    Tolerance as Tolerance,
    error_bound as error_bound,
    tolerance as tolerance,
)

__version__: str

if not TYPE_CHECKING:  # hidden, so that a misspelt name stays an error for type checkers

    def __getattr__(name: str) -> str:
        """Version of the installed distribution, read when asked for: it takes a third of the import."""
        if name == "__version__":
            import importlib.metadata

            return importlib.metadata.version("lngeom")
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)


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
