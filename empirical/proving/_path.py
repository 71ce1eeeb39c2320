"""One path of a program: how it is run again on other carriers, and what it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lngeom import kernel
from lngeom.kernel import Formula, Proved
from lngeom.tracing import Arr, Dim, Ground, Trace

from ..tracing import Program
from ._candidates import Names


@dataclass
class Path:
    """A program on one path through its branches on sizes, run on terms."""

    program: Program
    axes: tuple[Dim, ...]
    dtype: str
    trace: Trace
    output: Arr
    differentiated: list[str] = field(default_factory=list)

    @property
    def names(self) -> Names:
        """What the output is made of."""
        atoms = kernel.atoms_of([self.output.value])
        vectors = [name for name in self.trace.vectors if ("v", name) in atoms and name != "x"]
        literals = self.program.literals
        scalars = {name: literals.text(name) for name in literals.values if ("s", name) in atoms}
        return Names(tuple(vectors), tuple(name for name in vectors if self.trace.vectors[name]), scalars)

    @property
    def facts(self) -> list[Proved]:
        """What is assumed, and that sums of squares are not negative."""
        squares = [kernel.total(kernel.square(one)) for one in dict.fromkeys(self.trace.squares)]
        return [*map(kernel.assume, self.trace.ground.facts), *squares]

    def again(self, ground: Ground, dtype: str | None = None) -> tuple[Trace, Arr]:
        """The same path on another carrier."""
        trace = Trace(ground, self.program.literals, replayed=self.trace)
        return trace, self.program.traced(trace, dtype or self.dtype, self.axes)

    def sizes(self) -> Iterator[tuple[int, bool]]:
        """Dimensions to look at: some that stand for many, then those that the code writes, each for itself alone."""
        if self.program.front.held and self.program.size:
            yield self.program.size, False
            return
        known = sorted(n for n in self.trace.integers if n <= 8192)
        yield from ((n, False) for n in (5, *(n + k for n in known for k in (-1, 1))))
        yield from ((n, True) for n in known)

    def alone(self, hypotheses: set[Formula]) -> int | None:
        """The one dimension that is assumed, if one is."""
        return next((n for n in self.trace.integers if kernel.equal(kernel.d, n) in hypotheses), None)

    def branches(self) -> list[str]:
        """The conditions of this path, in words."""
        signs = {("=", False): "≠", ("!=", False): "=", (">", False): "≤", (">=", False): "<"}
        told = {"=": "=", "!=": "≠", ">": ">", ">=": "≥"}
        return [f"{kernel.text(t)} {told[r] if yes else signs[r, yes]} 0" for t, r, yes in self.trace.branches]
