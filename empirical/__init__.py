"""Measurement of language models: corpora, capture, statistics, the sweep and its report.

`fold`, `norms` and `measure` are loaded when they are asked for: commands show their help without PyTorch.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .folding import fold
    from .models import norms
    from .sweep import measure
else:
    __getattr__ = lazy(__name__, __file__)
