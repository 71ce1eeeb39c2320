"""Is my norm right? Kernels, modules and models compared with the exact definition and its derived tolerance."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from ._calls.behaviours import Behaviour, behaviour, probes
    from ._calls.calling import called
    from ._calls.contracts import Contract
    from ._calls.installed import versions
    from ._calls.onnx_nodes import OnnxNorm, onnx_norms
    from ._calls.options import CheckOptions
    from ._proving.proof import NEVER as NEVER, write_certificates as write_certificates
    from ._proving.verdict import prove, prove_target
    from ._tracing.frameworks import likely_frameworks as likely_frameworks
    from ._verdict.finding import CheckFailed, Finding, Point
    from ._verdict.report import Outcome, annotations, expectations, table, write_junit
    from .child import dead, in_child
    from .files import check_outputs, write_inputs
    from .stages import check
    from .targets import check_spec
else:
    __getattr__ = lazy(__name__, __file__)
