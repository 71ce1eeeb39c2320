"""Parts of a row: the components that a slice takes, as the label of an axis."""

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from numpy import ndarray

from lngeom.carriers import Array, namespace

if TYPE_CHECKING:
    from .trace import Trace

N = TypeVar("N")


class Part(str):
    """The label of an axis of some components: those `taken` of all indices, else the complement of `others`.

    It `leads` if it is a prefix of the row.
    """

    taken: Callable[[ndarray], ndarray] | None
    others: "tuple[Part, ...]"
    leads: bool

    @classmethod
    def of(cls, label: str, taken: Callable[[ndarray], ndarray] | None, *others: "Part", leads: bool = False) -> "Part":
        """A part of its own, or those in none of `others`: sums over all parts add up to that of the row exactly."""
        part = cls(label)
        part.taken, part.others, part.leads = taken, others, leads
        return part

    def weights(self, trace: "Trace") -> Array:
        """A vector that is 1 at the components of the part and 0 elsewhere."""
        if self.taken is None:
            return functools.reduce(operator.sub, (part.weights(trace) for part in self.others), trace.ground.ones("x"))
        return trace.symbols.part(f"part_{self}", self.taken)

    def size(self, trace: "Trace", number: "Callable[[Trace, Array, tuple[Part, ...]], N]") -> N:
        """How many components it has."""
        weights = self.weights(trace)
        size = namespace(weights).sum(weights, axis=-1, keepdims=True)
        trace.ground.assume(size, ">=")
        return number(trace, size, (self,))


def leading(n: int) -> Part:
    """The first n components."""
    return Part.of(f"first_{n}", lambda all: all[:n], leads=True)


def trailing(n: int) -> Part:
    """The last n components."""
    return Part.of(f"last_{n}", lambda all: all[max(0, len(all) - n) :])


def rest(part: Part) -> Part:
    """All components but those of a part."""
    return Part.of(f"rest of {part}", None, part)


def strided(step: int, begin: int) -> Part:
    """Every component whose index has the remainder `begin`; the last remainder is what all others leave."""
    if begin == step - 1:
        return Part.of(f"every_{step}_{begin}", None, *(strided(step, k) for k in range(begin)))
    return Part.of(f"every_{step}_{begin}", lambda all: all[begin::step])


def chunks(count: int, several: int) -> list[Part]:
    """The first `several` − 1 pieces of ⌈d/count⌉ components, and the remainder."""

    def chunk(k: int) -> Part:
        return Part.of(f"chunk_{count}_{k}", lambda all: all[all // -(-len(all) // count) == k], leads=k == 0)

    before = [chunk(k) for k in range(several - 1)]
    return [*before, Part.of(f"chunk_{count}_from_{several - 1}", None, *before)] if before else [chunk(0)]


ONE = (leading(1), trailing(1))
"""The parts of one component, which every row has."""


def part_of(dim: tuple[str, ...]) -> Part | None:
    """The part that an axis holds; None where it holds all components, or rows."""
    return dim[0] if len(dim) == 1 and isinstance(dim[0], Part) else None
