"""Is my norm right? Kernels, modules and models compared with the exact definition and its derived tolerance.

The package itself can be called as :func:`check`.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from ._proving.proof import NEVER, write_certificates
    from ._tracing.frameworks import likely_frameworks
if TYPE_CHECKING:
    from ._calls.onnx_nodes import OnnxNorm, onnx_norms
    from ._calls.options import CheckOptions
    from ._proving.proof import Proof
    from ._proving.verdict import prove, prove_target
    from ._trials.contracts import Contract
    from ._verdict.finding import CheckFailed, Finding, Point
    from .checks import check, check_outputs, check_spec, write_inputs
    from .child import dead, in_child
else:
    __getattr__ = lazy(__name__, __file__, call="check")
