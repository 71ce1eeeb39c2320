"""What a check found, and how it is told."""

import math
from dataclasses import dataclass, field
from typing import Any

from lngeom.errors import LngeomError


class CheckFailed(LngeomError, AssertionError):
    """A norm is not what it claims to be; raised by the pytest fixture."""


@dataclass(frozen=True)
class Finding:
    """Verdict on one norm, with its evidence.

    Attributes
    ----------
    verdict : {"rounding", "unstable", "variant", "bug"}
    cause : str or None
        The algorithm, the definition or the mistake.
    kind, eps, gain, dtype
        What the norm was checked against; `gain` is "none", "weight" or "1 + weight".
    worst_ratio : float
        Largest distance from a correct output over its tolerance.
    input : nested list of float
        The smallest input found on which it shows; the worst one for ``rounding``.
    wrong, right, bound : float or None
        The worst component at that input, what it should be, and how far a correct kernel may be off.
    notes : tuple of str
        What was seen beside; among it the known mistakes that no input tried tells from rounding.
    exact : bool
        Whether fractions, not floats, decided that `input` gives a wrong output.
    gradient_ratio : float or None
        Largest distance of a derivative from the exact one over its bound, where the derivatives were checked.

    Examples
    --------
    >>> from empirical.check import check
    >>> import numpy as np
    >>> def norm(x, eps=1e-5):
    ...     return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + np.float32(eps))
    >>> finding = check(norm, kind="layernorm", eps=1e-5, d=8)
    >>> finding.verdict, finding.cause
    ('variant', 'eps outside the root')
    """

    verdict: str
    cause: str | None
    kind: str
    eps: float
    gain: str
    dtype: str
    worst_ratio: float
    input: Any
    wrong: float | None = None
    right: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = field(default=())
    exact: bool = False
    gradient_ratio: float | None = None

    def passes(self, allowed: tuple[str, ...] = ()) -> bool:
        """Whether it is right: rounding, or a variant whose cause contains one of the words `allowed`."""
        words = [word.lower() for word in allowed]
        parts = (self.cause or "").lower().split("; ")
        excused = self.verdict == "variant" and all(any(w in part for w in words) for part in parts)
        return self.verdict == "rounding" or excused

    def record(self) -> dict[str, Any]:
        """The JSON form."""
        ratio = min(self.worst_ratio, 1e300) if not math.isnan(self.worst_ratio) else 1e300
        return {
            "verdict": self.verdict,
            "cause": self.cause,
            "kind": self.kind,
            "eps": self.eps,
            "gain": self.gain,
            "dtype": self.dtype,
            "worst_ratio": ratio,
            "input": self.input,
        }

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.cause}" if self.cause else self.verdict]
        lines.append(
            f"  checked as {self.kind}, eps {self.eps:g}, gain {self.gain}, {self.dtype}; "
            f"worst ratio to the tolerance {self.worst_ratio:.3g}"
        )
        if self.verdict != "rounding":
            if self.wrong is not None and self.right is not None and self.bound is not None:
                proof = ", decided in exact arithmetic" if self.exact else ""
                lines.append(f"  got {self.wrong:.9g} instead of {self.right:.9g} ± {self.bound:.2g}{proof}")
            lines.append(f"  at x = {_short(self.input)}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def _short(values: Any) -> str:
    text = str(values)
    return text if len(text) <= 300 else f"{text[:280]} ... ({len(text)} characters, whole with --json)"
