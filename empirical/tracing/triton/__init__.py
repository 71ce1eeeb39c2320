"""Kernels of Triton: read on traced arrays, for every block; and run on NumPy where Triton is not installed."""

from typing import TYPE_CHECKING

from ..._lazy import lazy

if TYPE_CHECKING:
    from ._launch import launching as launching
    from ._stub import MODULES as MODULES, launches as launches
else:
    __getattr__ = lazy(__name__, __file__)
