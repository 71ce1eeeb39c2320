"""Norms of the frameworks as programs that are traced, and run as they are."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._program import LAYOUTS, Program, program
    from ._roles import REQUIRED, given_roles, is_size, parameters, role, stated_eps
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = ["LAYOUTS", "REQUIRED", "Program", "given_roles", "is_size", "parameters", "program", "role", "stated_eps"]
