"""A carrier that records what the library's functions call, and computes nothing.

A statement built on it is the expression of the library's own code, term by term: neither the kernel's normal form nor
a printer has touched it. The nodes go into a table without duplicates, in the format of the certificates.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from lngeom.theorems import CheckError, Theorem

Node = list[Any]
"""Kind of operation, then names, integers or the places of earlier nodes."""


class Table:
    """Nodes without duplicates, each of which refers to earlier ones only."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._places: dict[tuple[Any, ...], int] = {}

    def place(self, *node: Any) -> int:
        """Index of a node, which is added unless it is there."""
        if node not in self._places:
            self._places[node] = len(self.nodes)
            self.nodes.append(list(node))
        return self._places[node]

    def number(self, value: Any) -> int:
        """Index of a rational number; a float is the rational that it is."""
        c = Fraction(value)
        return self.place("q", c.numerator, c.denominator)


class Traced:
    """A recorded vector, or a scalar, which on arrays has the shape (..., 1)."""

    __slots__ = ("place", "table", "vector")
    __array_ufunc__ = None

    def __init__(self, table: Table, place: int, vector: bool) -> None:
        self.table = table
        self.place = place
        self.vector = vector

    @property
    def is_scalar(self) -> bool:
        """Whether it has the shape (..., 1)."""
        return not self.vector

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return _NAMESPACE

    def __getitem__(self, index: Any) -> Traced:
        if index != (..., 0) or self.vector:
            raise CheckError(f"component {index!r} was read of a recorded vector, which has no dimension")
        return self

    def _operand(self, other: Any) -> Traced:
        return other if isinstance(other, Traced) else Traced(self.table, self.table.number(other), False)

    def _node(self, kind: str, *operands: Traced) -> Traced:
        place = self.table.place(kind, *(one.place for one in operands))
        return Traced(self.table, place, any(one.vector for one in operands))

    def __add__(self, other: Any) -> Traced:
        return self._node("+", self, self._operand(other))

    def __radd__(self, other: Any) -> Traced:
        return self._node("+", self._operand(other), self)

    def __neg__(self) -> Traced:
        return self._node("-", self)

    def __sub__(self, other: Any) -> Traced:
        return self._node("-", self, self._operand(other))

    def __rsub__(self, other: Any) -> Traced:
        return self._node("-", self._operand(other), self)

    def __mul__(self, other: Any) -> Traced:
        return self._node("*", self, self._operand(other))

    def __rmul__(self, other: Any) -> Traced:
        return self._node("*", self._operand(other), self)

    def __truediv__(self, other: Any) -> Traced:
        return self._node("/", self, self._operand(other))

    def __rtruediv__(self, other: Any) -> Traced:
        return self._node("/", self._operand(other), self)

    def __pow__(self, exponent: int) -> Traced:
        base = self if exponent >= 0 else self._node("inv", self)
        return Traced(self.table, self.table.place("^", base.place, abs(exponent)), self.vector)

    def __abs__(self) -> Traced:
        return self._node("abs", self)


def _total(kind: str) -> Callable[..., Traced]:
    def apply(x: Traced, *, axis: int, keepdims: bool = False) -> Traced:
        if axis != -1:
            raise CheckError(f"axis {axis} was summed over; the vectors lie along the last axis")
        if not x.vector:  # of shape (..., 1): one component
            return x
        return Traced(x.table, x.table.place(kind, x.place), False)

    return apply


def _trace(operator: Callable[[Traced], Traced], like: Traced) -> Traced:
    """The sum of the diagonal, as a node that binds the vector which stands for the basis vectors."""
    names = {node[1] for node in like.table.nodes if node[0] == "v"}
    name = next(f"e{k}" for k in range(len(names) + 1) if f"e{k}" not in names)
    image = operator(Traced(like.table, like.table.place("v", name), True))
    return Traced(like.table, like.table.place("trace", name, image.place), False)


_NAMESPACE = SimpleNamespace(
    __name__="proofs.certificates",
    abs=abs,
    mean=_total("mean"),
    ones_like=lambda x: Traced(x.table, x.table.number(1), x.vector),
    operator_trace=_trace,
    sqrt=lambda x: x._node("sqrt", x),
    sum=_total("S"),
)


def traced(theorem: Theorem, table: Table, k: int = -1) -> tuple[list[list[Any]], list[Any]]:
    """Hypotheses and k-th claim of a theorem as the library computes them, each the index of a node and a relation.

    The table gets the parameters, then what the hypotheses and the claim are made of, in the order in which they are
    read: what a body names, or computes for its wrong variants, changes nothing.
    """
    raw = Table()
    found = theorem.listed(lambda name, vector: Traced(raw, raw.place("v" if vector else "s", name), vector))
    for name, kind in theorem.kinds.items():
        table.place("v" if kind == "vector" else "s", name)

    def copied(place: int) -> int:
        kind, *operands = raw.nodes[place]
        first, end = _PLACES.get(kind, (0, len(operands)))
        return table.place(kind, *operands[:first], *map(copied, operands[first:end]), *operands[end:])

    def recorded(term: Any, relation: str) -> list[Any]:
        return [copied(term.place) if isinstance(term, Traced) else table.number(term), relation]

    return [recorded(*one.formula) for one in found.hypotheses.values()], recorded(*found.goals[k])


_PLACES = {"v": (1, 1), "s": (1, 1), "q": (2, 2), "^": (0, 1), "trace": (1, 2)}
"""Which operands of a node are nodes, where not all of them are."""
