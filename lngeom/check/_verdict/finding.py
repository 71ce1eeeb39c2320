"""The verdict on a norm, and its evidence."""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lngeom.errors import LngeomError
from lngeom.files import Json
from lngeom.rounding import Pair
from lngeom.sentences import Cause, Statement, joined

from .._proving.proof import Proof, shorten
from .._trials.unexamined import ALL, Untested
from .same import BITS, REQUIREMENTS, same_bits, told

_RECORDED = ("verdict", "cause", "kind", "eps", "gain", "dtype", "worst_ratio", "gradient_ratio", "exact", "input")
_EVIDENCE = {"wrong": "got", "right": "expected", "bound": "bound"}
_SECOND = "(second derivatives not tested)"
_FIRST = f"forward and backward {_SECOND}"
_LARGEST = 1e300  # JSON has no infinity
_NOTES = 3  # that are printed without --verbose


class Point(NamedTuple):
    """The evidence beside the row at which a norm fails.

    Attributes:
        layout: The shape or memory in which the row was given; empty for one of contiguous rows.
        component: Which output is meant, from 0.
        gain, bias: What the norm multiplied and added, None if it takes none; 1 and 0 where the bug shows with these.
        cotangent: The vector that a derivative was multiplied by.
        reproducer: A script that shows the bug with NumPy and the kernel alone; empty if none can be written.
    """

    layout: str = ""
    component: int = 0
    gain: list[float] | None = None
    bias: list[float] | None = None
    cotangent: list[float] | None = None
    reproducer: str = ""


class CheckFailed(LngeomError, AssertionError):
    """A norm is not what it claims to be; raised by the pytest fixture."""


@dataclass(frozen=True, repr=False)
class Finding:
    """Verdict on one norm, with its evidence.

    Attributes:
        verdict: ``rounding``, ``unstable``, ``variant`` or ``bug``.
        named: The algorithm, the definition or the mistake; `cause` is its sentence.
        kind, eps, gain, dtype: What the norm was checked against; `gain` is "none", "ones" (as it is made), "weight" or
            "1 + weight".
        worst_ratio: Largest distance from a correct output over its tolerance.
        input: The smallest input found that shows it, as nested lists; the worst one for ``rounding``.
        wrong, right, bound: The worst component at that input, what it should be, and how far a correct kernel may be
            off.
        noted: Further observations, such as mistakes that look like rounding on all inputs; `notes` has the sentences.
        point: Gain, bias, component and layout that belong to `input`, and a script.
        exact: Whether exact fractions, not floats, decided that the output at `input` is wrong.
        backward: Whether the derivatives were to be checked.
        gradient_ratio: Largest distance of a derivative from the exact one over its bound, None if not checked.
        left: What the floating-point check did not test.
        proof: What it computes in exact arithmetic, for every dimension.
        beside: Its outputs compared with those of the kernel that `spec` names, None without one.
        required: What was required of the bits of its outputs, which is told whatever was found.

    >>> from lngeom.check import check
    >>> import numpy as np
    >>> def norm(x, eps=1e-5):
    ...     return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + np.float32(eps))
    >>> finding = check(norm, kind="layernorm", eps=1e-5, d=8)
    >>> finding.verdict, finding.cause
    ('variant', 'eps outside the root')
    >>> print(str(finding).splitlines()[0])
    FAIL: eps outside the root (variant)
    """

    verdict: str
    named: Cause | None
    kind: str
    eps: float
    gain: str
    dtype: str
    worst_ratio: float
    input: list[float] | list[list[float]]
    wrong: float
    right: float
    bound: float
    noted: tuple[Statement, ...] = ()
    exact: bool = False
    gradient_ratio: float | None = None
    backward: bool = False
    proof: Proof | None = None
    left: Untested = ALL
    point: Point = field(default_factory=Point)
    beside: Pair | None = None
    required: tuple[str, ...] = ()

    def refusing(self, words: tuple[str, ...]) -> "Finding":
        """The finding; of a norm that is right, a variant if a note is of one of these kinds, or contains the word."""
        noted = (n for n in self.noted if any(word == n.kind or word.lower() in str(n).lower() for word in words))
        refused = next(noted, None) if self.verdict == "rounding" else None
        return replace(self, verdict="variant", named=Cause(refused.kind, *refused.values)) if refused else self

    def requiring(self, required: tuple[str, ...]) -> "Finding":
        """The finding; of a norm that is right, a variant if what is required of its bits is not proved or seen."""
        for what in (REQUIREMENTS[name] for name in required if self.verdict == "rounding"):
            lacking = {name: text for name, text in self._bits[what].items() if text.startswith("not")}
            told = (f"{name} " * (len(self._bits[what]) > 1) + text for name, text in lacking.items())
            if lacking:
                known = "bits differ" if {*lacking.values()} - {"not known"} else "bits unknown"
                return replace(self, verdict="variant", named=Cause(known, what, ", ".join(told)))
        return replace(self, required=required)

    def passes(self, allowed: tuple[str, ...] = (), *, proved: bool = False) -> bool:
        """Whether it is right: rounding, or a variant whose cause contains one of the words `allowed`.

        If it is to be `proved`, also in exact arithmetic. A variant that is proved has two names: cause and formula.
        """
        if self._contradicted or (proved and not (self.proof is not None and self.proof.passes(allowed))):
            return False
        proof = self.proof or Proof("not traced", "")
        excused = all(proof.allows(part, allowed) for part in (self.named.parts if self.named else ()))
        return self.verdict == "rounding" or (self.verdict == "variant" and self.named is not None and excused)

    @property
    def cause(self) -> str | None:
        """The algorithm, the definition or the mistake in words."""
        return None if self.named is None else str(self.named)

    @property
    def notes(self) -> tuple[str, ...]:
        """The further observations in words."""
        return joined(str(note) for note in self.noted if note.kind not in BITS)

    _bits = property(lambda self: same_bits(self.proof or Proof("not traced", ""), self.noted))

    @property
    def _contradicted(self) -> str:
        """Why outputs within rounding say little: exact arithmetic found another function, or could not tell."""
        if self.proof is None:
            return ""
        if self.proof.undecided:
            return "no output tells of a branch that is not proved to be the definition"
        wrong = [f"d/d{one.name}" for one in self.proof.derivatives if one.status == "refuted"]
        what = "it" if self.proof.status == "refuted" else ", ".join(wrong)
        return f"exact arithmetic refutes {what}" if what else ""

    def tells(self, text: str) -> bool:
        """Whether verdict and cause contain the text, or it is the kind of a cause."""
        kinds = self.named.kinds if self.named else ()
        return text.lower() in f"{self.verdict}: {self.cause}".lower() or text in kinds

    def record(self) -> Json:
        """The JSON form, as ``schema.json`` of this package describes it."""
        ratio = _LARGEST if math.isnan(self.worst_ratio) else min(self.worst_ratio, _LARGEST)
        plain = {name: getattr(self, name) for name in _RECORDED} | {"worst_ratio": ratio}
        shown = {key: getattr(self, name) for name, key in _EVIDENCE.items()} | self.point._asdict()
        orders = self.proof.orders if self.proof else ()
        shown["same_bits"] = {**self._bits, "launches": {one.name: list(one.launches) for one in orders}}
        shown |= {"gain_values": shown.pop("gain"), "bias_values": shown.pop("bias"), "notes": list(self.notes)}
        proof = {"proof": None if self.proof is None else self.proof.record()}
        return plain | shown | proof | {"beside": self.beside and self.beside.record()}

    def __repr__(self) -> str:
        cause = f": {self.cause}" if self.cause else ""
        return f"<Finding {self.verdict}{cause}; {self.kind}, eps {self.eps:g}, {self.dtype}, {self.worst_ratio:.3g}>"

    def told(
        self, name: str = "", allowed: tuple[str, ...] = (), *, proved: bool = False, verbose: bool = False
    ) -> str:
        """PASS or FAIL and why, the evidence, the proof, and what was not tested: all of it only if `verbose`.

        `name` is printed in the first line; `allowed` and `proved` are those of :meth:`passes`.
        """
        passed, proof = self.passes(allowed, proved=proved), self.proof
        lines = [f"{'PASS' if passed else 'FAIL'}{name and f' {name}'}: {self.headline(passed)}"]
        within = abs(self.wrong - self.right) <= self.bound
        if self.verdict != "rounding" and self.input and (self.exact or not within):
            exact = "; the row as a whole is outside" * within + "; error confirmed in exact arithmetic" * self.exact
            lines += [f"  got         {self.wrong:.9g}, expected {self.right:.9g} (± {self.bound:.2g} allowed{exact})"]
            lines.append(f"  at          x = {shorten(str(self.input))}{self._beside()}")
        lines += [] if proof is None else proof.told(verbose=verbose)
        known = any(text.startswith(("proved", "not:")) for texts in self._bits.values() for text in texts.values())
        asked = bool(self.required) or (verbose and self.verdict != "bug")
        lines += [f"  same bits   {told(self._bits)}"] * (known or asked)
        lines += self.beside.told(name) if self.beside else []
        worst = f"; largest error {self.worst_ratio:.3g} times the allowed one" if verbose or not passed else ""
        worst = worst or "; outputs within rounding" * (self.verdict == "rounding")
        lines.append(f"  checked as  {self.kind}, eps = {self.eps:g}, gain = {self.gain}, {self.dtype}{worst}")
        first = [str(note) for note in self.noted if note.kind in ("if contiguous", "derivatives not read")]
        notes = [*dict.fromkeys([*first, *(proof.notes if proof else ()), *self.notes])]
        shown = notes if verbose or len(notes) <= _NOTES else notes[: _NOTES - 1]
        lines += [f"  note        {note}" for note in shown]
        lines += [f"  note        {len(notes) - len(shown)} more: --verbose"] * (len(notes) > len(shown))
        if self.point.reproducer:
            lines.append("  reproduce   --reproducer FILE writes a script that shows the bug without lngeom")
        if not passed and self.passes(kinds := tuple(self.named.kinds if self.named else ()), proved=proved):
            lines.append("  to allow it" + "".join(f" --allow '{kind}'" for kind in sorted(kinds)))
        more = ["other formats, sizes and settings (--verbose lists all)"] * bool(self.left.always)
        left = f" in floats: {self.left}" if verbose else f"  {'; '.join([*self.left.here, *more])}"
        return "\n".join([*lines, f"  not tested{left}"])

    __str__ = told

    def headline(self, passed: bool | None = None) -> str:
        """Why it passes or fails, in words; whether it does is :meth:`passes` without options unless it is given."""
        passed = self.passes() if passed is None else passed
        only = next((f"; {note}" for note in self.noted if note.kind == "contiguous"), "") * passed
        return f"{self._why(passed)}{only}"

    def _why(self, passed: bool) -> str:
        status = self.proof.status if self.proof is not None else "not traced"
        backward = self.gradient_ratio is not None
        alone = "" if backward else "; forward pass only"
        if self.verdict != "rounding":
            shown = f" ({self.verdict}{', allowed' if passed else ''})"
            return f"{self.cause or 'no cause is known'}{shown * (not self.tells('bits unknown'))}"
        if self._contradicted:
            return f"undecided: within rounding at the rows tried, but {self._contradicted}"
        if self.proof is None or status == "not traced":
            return f"within rounding{f', {_FIRST},' if backward else ''} but not proved{alone}"
        limited = f"backward pass within rounding {_SECOND}, {shorten(self.proof.gradients)}"
        plain = self.proof.proves_backward and not self.proof.pulled
        reach = f"; {_FIRST if plain else limited}"
        affine, computed = self.proof.affine, f"proved to compute {self.proof.formula}"
        what = "proved" if affine is None or affine.argument == "x" else computed
        what = what if status == "proved" else f"within rounding; {computed}"
        condition = self.proof.condition and f"{self.proof.condition},"
        what = f"not for all sizes {what}" if self.proof.uncovered and not passed else what
        return f"{what}{condition} {self.proof.scope}{reach if backward else alone}"

    def _beside(self) -> str:
        """Parameters, component and layout of the input."""
        parts = [
            f"{name} = {plain:g}" if set(values) == {plain} else f"{name} = {shorten(str(values))}"
            for name, values, plain in (("gain", self.point.gain, 1.0), ("bias", self.point.bias, 0.0))
            if values is not None
        ]
        if self.point.cotangent is not None:
            parts.append(f"cotangent = {shorten(str(self.point.cotangent))}")
        parts.append(f"component [{self.point.component}]")
        return "".join(f", {part}" for part in parts) + (f" ({self.point.layout})" if self.point.layout else "")
