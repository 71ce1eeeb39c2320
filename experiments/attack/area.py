"""An area of the attack: attempts of one kind, each of which returns what was wrong, or nothing."""

import random
from collections.abc import Callable

from .scene import Scene

Attack = Callable[[Scene, random.Random], str]
AREAS: dict[str, tuple[Attack, float]] = {}
"""Each with the share of the attempts that it gets: those that run commands several times take longer."""


def area(name: str, share: float = 1.0) -> Callable[[Attack], Attack]:
    """Add an attack under a name."""
    return lambda attack: AREAS.setdefault(name, (attack, share))[0]
