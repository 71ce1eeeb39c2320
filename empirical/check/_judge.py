"""A kernel on rows, each output held against the family of correct ones."""

from dataclasses import dataclass

import numpy as np

from lngeom.rounding import REAL, Arithmetic, Case, Definition, Sample, certainly_outside, rounded

from ._contract import ANY, Contract
from ._kernel import Kernel, Manner


@dataclass
class Rows:
    """One group of rows, what a kernel computed of them, and its distances from a correct result over the bound.

    `x`, `got` and `ratio` have shape (n, d); `base` is the definition.
    """

    label: str
    x: np.ndarray
    got: np.ndarray
    base: Definition
    ratio: np.ndarray

    @property
    def d(self) -> int:
        """Length of the rows."""
        return self.x.shape[-1]

    @property
    def wrong(self) -> np.ndarray:
        """Rows outside, as floats see it."""
        return self.ratio.max(axis=-1) > 1

    @property
    def largest(self) -> float:
        """The largest ratio to the bound."""
        return float(self.ratio.max())

    @property
    def worst(self) -> tuple[int, int]:
        """Row and component with the largest ratio."""
        row, component = np.unravel_index(np.argmax(self.ratio), self.ratio.shape)
        return int(row), int(component)


class Trial(Rows):
    """Outputs of one group of rows, held against the family of correct ones."""

    def part(self, label: str, begin: int, end: int) -> "Trial":
        """Some of the rows."""
        return Trial(label, self.x[begin:end], self.got[begin:end], self.base, self.ratio[begin:end])

    def case(self) -> Case:
        """A few rows for the diagnosis: the four worst, and four over the whole group."""
        worst = np.argsort(-self.ratio.max(axis=-1), kind="stable")[:4]
        chosen = np.unique([*worst, *np.linspace(0, len(self.x) - 1, 4).astype(int)])
        return Case(self.base, Sample(self.x[chosen]), self.got[chosen])


class Judge:
    """A kernel with the definition that it is held against."""

    def __init__(self, kernel: Kernel, centered: bool, eps: float, meant: Contract = ANY) -> None:
        self.kernel, self.centered, self.eps, self.meant = kernel, centered, eps, meant
        self.arithmetic = Arithmetic.of(kernel.dtype)

    def base(self, d: int) -> Definition:
        """The definition at dimension `d`, with the gain and the bias that the kernel uses."""
        bound = self.kernel.at(d)
        gain, bias = (None if p is None else p.astype(REAL) for p in (bound.gain, bound.bias))
        gain = gain if gain is None else gain + self.meant.offset
        return Definition(self.centered, gain, bias, self.eps, self.meant.placement)

    def stored(self, x: np.ndarray) -> np.ndarray:
        """`x` rounded to the dtype."""
        return rounded(x, self.kernel.dtype).astype(np.float64)

    def judged(self, label: str, x: np.ndarray, got: np.ndarray) -> Trial:
        """Outputs `got` of the rows `x`, both of shape (n, d), as a trial; outputs of another shape are wrong."""
        got = got if got.shape == x.shape else np.full_like(x, np.nan)
        base = self.base(x.shape[-1])
        return Trial(label, x, got, base, base.family(Sample(x), self.arithmetic).fit(got).ratio)

    def trial(self, label: str, x: np.ndarray) -> Trial:
        """The kernel on the rows `x`."""
        x = self.stored(x)
        return self.judged(label, x, self.kernel.run(x))

    def like(self, manner: Manner = "usual", eps: float | None = None) -> "Judge":
        """The judge of the same kernel in another manner, or with another ε."""
        return Judge(self.kernel.like(manner, eps), self.centered, self.eps if eps is None else eps, self.meant)

    def certain(self, trial: Trial) -> bool:
        """Whether the worst row of a trial is wrong in exact arithmetic too."""
        row, _ = trial.worst
        return certainly_outside(trial.x[row], trial.got[row], trial.base, self.arithmetic)

    def evidence(self, trial: Trial) -> tuple[float, float, float]:
        """The worst component of the worst row: computed, exact, and the half-width of its interval."""
        row, worst = trial.worst
        sample = Sample(trial.x[row : row + 1])
        exact = float(trial.base.output(sample)[0, worst])
        low, high = trial.base.family(sample, self.arithmetic).box()
        return float(trial.got[row, worst]), exact, float(max(high[0, worst] - exact, exact - low[0, worst]))
