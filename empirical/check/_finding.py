"""The verdict on a norm, and its evidence."""

import math
from dataclasses import dataclass
from typing import Any

from lngeom.errors import LngeomError

from ..proving import Proof

_RECORDED = ("verdict", "cause", "kind", "eps", "gain", "dtype", "worst_ratio", "input")
_LARGEST = 1e300  # JSON has no infinity


class CheckFailed(LngeomError, AssertionError):
    """A norm is not what it claims to be; raised by the pytest fixture."""


@dataclass(frozen=True)
class Finding:
    """Verdict on one norm, with its evidence.

    Attributes:
        verdict: ``rounding``, ``unstable``, ``variant`` or ``bug``.
        cause: The algorithm, the definition or the mistake.
        kind, eps, gain, dtype: What the norm was checked against; `gain` is "none", "weight" or "1 + weight".
        worst_ratio: Largest distance from a correct output over its tolerance.
        input: The smallest input found on which it shows, nested lists; the worst one for ``rounding``.
        wrong, right, bound: The worst component at that input, what it should be, and how far a correct kernel may be
            off.
        notes: What was seen beside; among it the known mistakes that no input tried tells from rounding.
        exact: Whether fractions, not floats, decided that `input` gives a wrong output.
        gradient_ratio: Largest distance of a derivative from the exact one over its bound, None if not checked.
        proof: What it computes in exact arithmetic, for every dimension.

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
    input: list[Any]
    wrong: float
    right: float
    bound: float
    notes: tuple[str, ...] = ()
    exact: bool = False
    gradient_ratio: float | None = None
    proof: Proof | None = None

    def passes(self, allowed: tuple[str, ...] = (), *, proved: bool = False) -> bool:
        """Whether it is right: rounding, or a variant whose cause contains one of the words `allowed`.

        If it is to be `proved`, also in exact arithmetic: the definition, or a variant whose formula contains one.
        """
        words = [word.lower() for word in allowed if word.strip()]
        if proved and not (self.proof is not None and self.proof.passes(allowed)):
            return False
        parts = (self.cause or "").lower().split("; ")
        excused = self.verdict == "variant" and all(any(word in part for word in words) for part in parts)
        return self.verdict == "rounding" or excused

    def record(self) -> dict[str, Any]:
        """The JSON form."""
        ratio = _LARGEST if math.isnan(self.worst_ratio) else min(self.worst_ratio, _LARGEST)
        plain = {name: getattr(self, name) for name in _RECORDED} | {"worst_ratio": ratio}
        return plain | {"proof": None if self.proof is None else self.proof.record()}

    def __str__(self) -> str:
        lines = [] if self.proof is None else [str(self.proof)]
        if self.proof is not None and self.proof.certificates and self.verdict != "rounding":
            lines.append("  which says nothing of floats:")
        lines += [
            f"{self.verdict}: {self.cause}" if self.cause else self.verdict,
            f"  checked as {self.kind}, eps {self.eps:g}, gain {self.gain}, {self.dtype}; "
            f"worst ratio to the tolerance {self.worst_ratio:.3g}",
        ]
        if self.verdict != "rounding" and self.input:
            proof = ", decided in exact arithmetic" if self.exact else ""
            lines.append(f"  got {self.wrong:.9g} instead of {self.right:.9g} ± {self.bound:.2g}{proof}")
            text = str(self.input)
            short = text if len(text) <= 300 else f"{text[:280]} ... ({len(text)} characters, whole with --json)"
            lines.append(f"  at x = {short}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])
