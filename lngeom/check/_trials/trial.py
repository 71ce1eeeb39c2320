"""One group of rows, what a kernel computed of them, and how far that is from every correct result."""

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple, TypeVar

import numpy as np

from lngeom.rounding import Arithmetic, Case, Definition, Sample, Stated, certainly_outside
from lngeom.sentences import Cause, Statement, Way

from .._calls.call_files import Unwritten
from .._tracing.triton import BeyondEnd, Unread

T = TypeVar("T")

UNSTEADY = Cause("unsteady")
_AT_ONCE = 1 << 14
"""Components whose bounds are computed at a time, few enough for the cache."""


class Shown(NamedTuple):
    """The component of an input at which a kernel is wrong.

    `numbers` are the computed value, the exact one, and the bound; `label` names the group.
    """

    input: list[float] | list[list[float]]
    component: int
    numbers: tuple[float, float, float]
    label: Way
    cotangent: list[float] | None = None


@dataclass
class Outputs:
    """Outputs of one group of rows, with their distances from a correct result over the bound.

    `x`, `got` and `ratio` have shape (n, d); `base` is the definition, `arithmetic` the format.
    """

    label: Way
    x: np.ndarray
    got: np.ndarray
    base: Definition
    arithmetic: Arithmetic
    ratio: np.ndarray

    d = property(lambda self: self.x.shape[-1])
    largest = property(lambda self: float(self.ratio.max()))

    @property
    def wrong(self) -> np.ndarray:
        """Rows outside the bounds, computed in floats."""
        return self.ratio.max(axis=-1) > 1

    @property
    def worst(self) -> tuple[int, int]:
        """Row and component with the largest ratio."""
        return divmod(int(self.ratio.argmax()), self.ratio.shape[-1])


class Trial(Outputs):
    """Outputs of one group of rows, held against the family of correct ones."""

    @classmethod
    def of(cls, label: Way, x: np.ndarray, got: np.ndarray, base: Definition, arithmetic: Arithmetic) -> "Trial":
        """Outputs of rows with their distances from a correct result; outputs of another shape are wrong."""
        got = got if got.shape == x.shape else np.full_like(x, np.nan)
        step = max(1, _AT_ONCE // x.shape[-1])
        some = (slice(k, k + step) for k in range(0, max(1, len(x)), step))
        ratios = [base.family(Sample(x[rows]), arithmetic).fit(got[rows]).ratio for rows in some]
        return cls(label, x, got, base, arithmetic, np.concatenate(ratios))

    def part(self, label: Way, begin: int, end: int) -> "Trial":
        """Some of the rows."""
        some = slice(begin, end)
        return Trial(label, self.x[some], self.got[some], self.base, self.arithmetic, self.ratio[some])

    def case(self) -> Case:
        """A few rows for the diagnosis: the four worst, and four over the whole group."""
        worst = np.argsort(-self.ratio.max(axis=-1), kind="stable")[:4]
        chosen = np.unique([*worst, *np.linspace(0, len(self.x) - 1, 4).astype(int)])
        return Case(self.base, Sample(self.x[chosen]), self.got[chosen])

    def against(self, base: Definition) -> "Trial":
        """The same outputs, held against another definition."""
        return Trial.of(self.label, self.x, self.got, base, self.arithmetic)

    def steady(self, run: Callable[[], np.ndarray]) -> "Trial | Cause":
        """The trial, or the fault that the call that gave it is right once more."""
        if not self.wrong.any() or np.array_equal(again := run(), self.got, equal_nan=True):
            return self
        return self if Trial.of(self.label, self.x, again, self.base, self.arithmetic).wrong.any() else UNSTEADY

    def certain(self) -> bool:
        """Whether the worst row is wrong in exact arithmetic too; the bounds of a stated definition hold in floats."""
        row, _ = self.worst
        if isinstance(self.base, Stated):
            return bool(self.wrong[row])
        return certainly_outside(self.x[row], self.got[row], self.base, self.arithmetic)

    def shown(self) -> Shown:
        """The worst component of the worst row, with the width of its interval on the side of the error."""
        row, worst = self.worst
        sample = Sample(self.x[row : row + 1])
        exact = float(self.base.output(sample)[0, worst])
        low, high = self.base.family(sample, self.arithmetic).box()
        bound = float(high[0, worst] - exact if self.got[row, worst] > exact else exact - low[0, worst])
        return Shown(self.x[row].tolist(), worst, (float(self.got[row, worst]), exact, bound), self.label)


class Aside(Trial):
    """Outputs of a call that was made to see something else: they count where no others are wrong."""


class Note(Statement):
    """What a kernel refuses, or does although its outputs are right."""

    fault = property(lambda self: Cause(self.kind, *self.values))  # the same where no correct kernel does it


Outcome = Trial | Note | Cause
"""Outputs, an observation, or a fault whatever the kernel computes."""


def refusal(what: object, error: Exception) -> Note:
    """An error of a call with `what`, in one line."""
    if isinstance(error, Unwritten | Unread):
        return Note("not examined", what, str(error))
    if isinstance(error, BeyondEnd):
        return Note("beyond end", error.args[0], what, error.args[1])
    return Note("refused", what, f"{type(error).__name__}: {shorten(str(error), 80, placeholder=' ...')}")


def attempt(what: object, run: Callable[[], T]) -> T | Note:
    """What `run` returns, or a note if it raises: a kernel may refuse `what` in any way its framework has."""
    try:
        return run()
    except Exception as error:
        return refusal(what, error)
