"""Capture: statistics of hidden states, taken by hooks during the forward pass."""

from __future__ import annotations

from ._directions import random_directions
from ._monitor import Monitor, NormCallback
from ._observer import Observer

__all__ = ["Monitor", "NormCallback", "Observer", "random_directions"]
