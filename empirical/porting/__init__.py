"""Is a port the same model? Two networks compared norm by norm, weight by weight, and by their logits."""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .comparison import Diagnosis, compare_models
    from .names import Renamed, renamed
    from .port import Drawn, Examined, examine
    from .weights import compare_weights, gguf_types
else:
    __getattr__ = lazy(__name__, __file__)
