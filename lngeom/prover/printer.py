"""Nodes of a table as text: one printer, to which a notation gives the form of each kind of node."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, ClassVar

from .recorded import Node, parts

SUM, PRODUCT, FACTOR, ATOM = range(4)
"""How tightly a piece of text binds."""


class Printer(ABC):
    """The terms of a table in one notation, in which some of them have names.

    Attributes:
        forms: For each kind of node its text around the texts of its operands; and, where brackets may be needed, how
            tightly it binds and how tightly its operands must. Of more than two operands the first two come first.
        relations: The signs of the four relations to 0.
        summand: How tightly a summand binds that is not the first; a product does in any case.
    """

    forms: ClassVar[Mapping[str, str | tuple[Any, ...]]]
    relations: ClassVar[Mapping[str, str]]
    summand: ClassVar[int] = SUM
    brackets, fraction, minus = "({})", "{}/{}", " − "

    def __init__(self, nodes: Sequence[Node], names: Mapping[int, str] = MappingProxyType({})) -> None:
        self.nodes, self.names = nodes, names

    def part(self, k: int, level: int = SUM) -> str:
        """A node by its name, or in brackets where it binds less than `level`."""
        if k in self.names:
            return self.names[k]
        text, binds = self.node(k)
        return text if binds >= level else self.brackets.format(text)

    def node(self, k: int) -> tuple[str, int]:
        """A node written out, and how tightly it binds."""
        kind, *rest = self.nodes[k]
        if kind in ("v", "s"):
            return self.name(kind, rest[0]), ATOM
        form = "neg" if kind == "-" and len(rest) == 1 else kind
        if form in self.forms:
            form = self.forms[form]
            pattern, binds, *levels = (form, ATOM) if isinstance(form, str) else form
            of = parts(self.nodes[k])
            rest[of] = [self.part(j, level) for j, level in zip_longest(rest[of], levels, fillvalue=SUM)]
            return reduce(pattern.format, rest) if kind in ("+", "*") else pattern.format(*rest), binds
        if kind == "+":
            first, *others = rest
            levels = (SUM if self.nodes[j][0] == "*" else self.summand for j in others)
            others = map(self.part, others, levels)
            return self.part(first) + "".join(self.minus + o[1:] if o[0] in "−-" else f" + {o}" for o in others), SUM
        return self.number(*rest) if kind == "q" else self.special(k)

    def number(self, p: int, q: int) -> tuple[str, int]:
        """The rational number p/q."""
        shown = str(p) if q == 1 else self.fraction.format(p, q)
        return shown.replace("-", self.minus.strip()), ATOM if shown.isdigit() else SUM

    @abstractmethod
    def name(self, kind: str, name: str) -> str:
        """A vector, kind ``"v"``, or a scalar, ``"s"``."""

    @abstractmethod
    def special(self, k: int) -> tuple[str, int]:
        """A node that has no form."""

    def formula(self, k: int, relation: str) -> str:
        """The statement that a node is in a relation to 0."""
        return f"{self.part(k)} {self.relations[relation]} 0"
