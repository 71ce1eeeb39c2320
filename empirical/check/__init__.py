"""Is my norm right? Kernels, modules and models compared with the exact definition and its derived tolerance."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._adapted import called
    from ._check import check
    from ._child import dead, in_child
    from ._contract import Contract
    from ._doctor import Diagnosis, compare_models
    from ._finding import CheckFailed, Finding, Point
    from ._onnx import OnnxNorm, onnx_norms
    from ._options import CheckOptions
    from ._outputs import check_outputs, write_inputs
    from ._port import Drawn, Examined, examine, examine_onnx
    from ._report import Outcome, annotations, expectations, table, write_junit
    from ._spec import check_spec
    from ._versions import versions
    from ._weights import compare_weights, gguf_types
else:
    __getattr__ = lazy(__name__, __file__)
