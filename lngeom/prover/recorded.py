"""A carrier that records what the library's functions call, and computes nothing.

A statement built on it is the expression of the code itself, term by term: neither the prover's normal form nor a
printer has touched it. The nodes go into a table without duplicates, in the format of the certificates.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, TypeAlias

from lngeom.carriers import namespace

from .terms import ProofError, Term, d, inv, scalar, sqrt, sum_of, term, vector
from .vocabulary import summed, trace_of

Node = list
"""Kind of operation, then names, integers or the places of earlier nodes."""

Number = Fraction | float


class Table:
    """Nodes without duplicates, each of which refers to earlier ones only."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._places: dict[tuple[str | int, ...], int] = {}
        self._terms: dict[int, Term] = {}
        self._monomials: dict[tuple, list[int]] = {}

    def place(self, *node: str | int) -> int:
        """Index of a node, which is added unless it is there."""
        if node not in self._places:
            self._places[node] = len(self.nodes)
            self.nodes.append(list(node))
        return self._places[node]

    def number(self, value: Number) -> int:
        """Index of a rational number; a float is the rational that it is."""
        c = Fraction(value)
        return self.place("q", c.numerator, c.denominator)

    def written(self, pairs: tuple) -> int:
        """Index of a normal form, as a sum of products."""
        parts = []
        for monomial, c in pairs:
            number = [] if c == (1, 1) and monomial else [self.place("q", *c)]
            parts.append(self._joined("*", number + self._factors(monomial)))
        return self._joined("+", parts) if parts else self.number(0)

    def _factors(self, monomial: tuple) -> list[int]:
        if monomial in self._monomials:
            return self._monomials[monomial]
        factors = self._monomials[monomial] = []
        for atom, exponent in monomial:
            kind = atom[0]
            if kind == "S":
                place = self.place("S", self._joined("*", self._factors(atom[1])))
            elif kind in ("inv", "sqrt"):
                place = self.place(kind, self.written(atom[1]))
            else:
                place = self.place(*atom)
            if exponent < 0:  # of d alone
                place = self.place("inv", place)
            factors.append(place if abs(exponent) == 1 else self.place("^", place, abs(exponent)))
        return factors

    def _joined(self, kind: str, places: list[int]) -> int:
        return places[0] if len(places) == 1 else self.place(kind, *places)

    def taken(self, other: Table, place: int) -> int:
        """A node of another table, with all that it is made of."""
        kind, *operands = other.nodes[place]
        of = parts(other.nodes[place])
        operands[of] = [self.taken(other, operand) for operand in operands[of]]
        return self.place(kind, *operands)

    def term(self, place: int) -> Term:
        """The prover's term for a node."""
        if place not in self._terms:
            kind, *operands = self.nodes[place]
            of = parts(self.nodes[place])
            operands[of] = map(self.term, operands[of])
            self._terms[place] = _MEANING[kind](*operands)
        return self._terms[place]


_MEANING: dict[str, Callable[..., Term]] = {
    "v": vector,
    "s": scalar,
    "d": lambda: d,
    "q": lambda n, m: term(Fraction(n, m)),
    "+": operator.add,
    "-": lambda t, *u: t - u[0] if u else -t,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "S": sum_of,
    "mean": lambda t: sum_of(t) / d,
    "inv": inv,
    "sqrt": sqrt,
    "abs": lambda t: abs(t),
    "trace": lambda name, image: trace_of(image, vector(name)),
}

_PARTS = {"v": slice(0), "s": slice(0), "q": slice(0), "^": slice(1), "trace": slice(1, None)}


def parts(node: Node) -> slice:
    """Which of a node's operands are places of nodes."""
    return _PARTS.get(node[0], slice(None))


def operands(node: Node) -> list[int]:
    """The places of the nodes that a node is made of."""
    return node[1:][parts(node)]


Operand: TypeAlias = "Recorded | Number"


def _binary(kind: str, *, swapped: bool = False) -> Callable[..., Recorded]:
    return lambda self, other: self._node(kind, *((other, self) if swapped else (self, other)))


class Recorded:
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

    @property
    def term(self) -> Term:
        """The prover's term for it."""
        return Term(self.table.term(self.place).pairs, self.vector)

    def __array_namespace__(self, *, api_version: str | None = None) -> SimpleNamespace:
        return _NAMESPACE

    def __getitem__(self, index: object) -> Recorded:
        if index != (..., 0) or self.vector:
            raise ProofError(f"component {index!r} was read of a recorded vector, which has no dimension")
        return self

    def _node(self, kind: str, *operands: Operand) -> Recorded:
        if any(not isinstance(operand, Recorded) and hasattr(operand, "__array_namespace__") for operand in operands):
            return NotImplemented  # a carrier of another kind, such as a dual number, knows what to do
        own = self.table
        parts = [v if isinstance(v, Recorded) else Recorded(own, own.number(v), False) for v in operands]
        place = self.table.place(kind, *(operand.place for operand in parts))
        return Recorded(self.table, place, any(operand.vector for operand in parts))

    __add__, __radd__ = _binary("+"), _binary("+", swapped=True)
    __sub__, __rsub__ = _binary("-"), _binary("-", swapped=True)
    __mul__, __rmul__ = _binary("*"), _binary("*", swapped=True)
    __truediv__, __rtruediv__ = _binary("/"), _binary("/", swapped=True)

    def __neg__(self) -> Recorded:
        return self._node("-", self)

    def __pow__(self, exponent: int) -> Recorded:
        base = self if exponent >= 0 else self._node("inv", self)
        return Recorded(self.table, self.table.place("^", base.place, abs(exponent)), self.vector)

    def __abs__(self) -> Recorded:
        return self._node("abs", self)


_OPERATIONS = _MEANING | {"inv": lambda t: 1 / t, "sqrt": lambda t: namespace(t).sqrt(t)}
"""Those that every carrier has."""


def computed(value: Recorded, leaf: Callable[..., Any], d: Any) -> Any:
    """What was recorded, on another carrier: `leaf` gives its vectors, scalars and numbers, and `d` is the dimension.

    >>> import numpy as np
    >>> from lngeom.prover import Recorded, Table, computed, summed
    >>> table = Table()
    >>> square = Recorded(table, table.place("v", "x"), True) ** 2
    >>> computed(summed(square), lambda kind, name: np.array([1.0, 2.0]), 2)
    array([5.])
    """
    made: dict[int, tuple[Any, bool]] = {}

    def of(place: int) -> tuple[Any, bool]:
        if place not in made:
            kind, *rest = node = value.table.nodes[place]
            known = list(map(of, operands(node)))
            vector = kind == "v" or (kind not in ("S", "mean") and any(of_vector for _, of_vector in known))
            rest[parts(node)] = [each for each, _ in known]
            if kind in ("v", "s", "q"):
                result = leaf(kind, *rest)
            elif kind == "d":
                result = d
            elif kind in ("S", "mean"):  # a number stands for the vector of it
                total = summed(rest[0]) if known[0][1] else rest[0] * d
                result = total if kind == "S" else total / d
            else:
                result = _OPERATIONS[kind](*rest)
            made[place] = result, vector
        return made[place]

    return of(value.place)[0]


def recording(table: Table) -> Callable[[str, bool], Recorded]:
    """A function that makes the vector or the scalar of a name."""
    return lambda name, is_vector: Recorded(table, table.place("v" if is_vector else "s", name), is_vector)


def _total(kind: str) -> Callable[..., Recorded]:
    def apply(x: Recorded, *, axis: int, keepdims: bool = False) -> Recorded:
        if axis != -1:
            raise ProofError(f"axis {axis} was summed over; the vectors lie along the last axis")
        if not x.vector:  # of shape (..., 1): one component
            return x
        return Recorded(x.table, x.table.place(kind, x.place), False)

    return apply


def _trace(operator: Callable[[Recorded], Recorded], like: Recorded) -> Recorded:
    """The sum of the diagonal, as a node that binds the vector which stands for the basis vectors."""
    names = {node[1] for node in like.table.nodes if node[0] == "v"}
    name = next(f"e{k}" for k in range(len(names) + 1) if f"e{k}" not in names)
    image = operator(Recorded(like.table, like.table.place("v", name), True))
    return Recorded(like.table, like.table.place("trace", name, image.place), False)


_NAMESPACE = SimpleNamespace(
    __name__="lngeom.recorded",
    abs=abs,
    mean=_total("mean"),
    ones_like=lambda x: Recorded(x.table, x.table.number(1), x.vector),
    operator_trace=_trace,
    sqrt=lambda x: x._node("sqrt", x),
    sum=_total("S"),
)
