"""The operators of a carrier, from what it does with two operands of its own kind."""

from collections.abc import Callable
from typing import Any


def operator(name: str, *, turned: bool = False) -> Callable[..., Any]:
    """The method `name` of the left operand on the right one; of the given one on this one if `turned`."""

    def apply(self: Any, other: object) -> Any:
        taken = self._taken(other)
        if taken is None:
            return NotImplemented
        return getattr(taken, name)(self) if turned else getattr(self, name)(taken)

    return apply


class Operators:
    """+, −, · and / by ``_plus``, ``_times`` and ``_over``; ``_taken`` is an operand of this kind, or None."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves mixed operations to the operators below

    def _minus(self, other: Any) -> Any:
        return self._plus(-other)

    __add__, __radd__ = operator("_plus"), operator("_plus", turned=True)
    __sub__, __rsub__ = operator("_minus"), operator("_minus", turned=True)
    __mul__, __rmul__ = operator("_times"), operator("_times", turned=True)
    __truediv__, __rtruediv__ = operator("_over"), operator("_over", turned=True)
    _plus: Callable[..., Any]
