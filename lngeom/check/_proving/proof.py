"""The verdict in exact arithmetic, with its evidence."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lngeom.checker import digest
from lngeom.errors import InputError
from lngeom.files import Json
from lngeom.prover import ProofCertificate
from lngeom.sentences import Cause

from .backward import Derivative
from .candidates import Affine
from .order import Order

NEVER = (
    "other axes, optional inputs and options",
    "settings that are not floats, parameters in another format than x, inputs that share memory",
    "other devices, Python with -O", "rounding, overflow and underflow",
    "what loading, copying, converting or freezing a module changes", "code made to recognise the tracer",
)  # fmt: skip
"""What no verdict covers."""
_ROW = 200


@dataclass(frozen=True)
class Proof:
    """The formula of a norm in exact arithmetic, for every dimension, and its proof.

    Attributes:
        status: ``proved`` (the definition itself), ``variant`` (another formula, which is named), ``refuted`` or
            ``not traced``.
        text: The name with the formula, or the reason.
        formula: The text in which the words of ``--allow`` are sought.
        dimensions, hypotheses: The d and the assumptions on parameters that the proofs used.
        obligations: The conditions under which the code is defined, each proved.
        counterexample: An executed point where it is not the definition: ``d``, the values by name, both results.
        kind, eps: ``layernorm`` or ``rmsnorm`` where the formula is one of these, and the value of its ε.
        derivatives: What is known of the backward pass, if it was asked for.
        affine, axis: Gain and bias where x itself is normalized, along this axis.
        certificates: The proofs of the obligations and, last, of the equality.
        shape, given: The shapes of x and the values of globals, options and attributes for which this is proved.
        unexamined, formats: Circumstances of this kernel for which nothing is proved, and the formats of every one.
        own_paths, circumstances: Formats in which it takes another path, and modes of its framework that it asks about.
        sources: The hashes of the functions that ran, by name.
        sizes: Dimensions near the numbers that the code has, at which it should be tried.
        undecided: Whether one of its branches was neither proved nor refuted.
        uncovered: Whether there are sizes that it takes and for which nothing is proved.
        conditions: Further conditions of the proof, which the program does not ensure.
        pulled: Those of the conditions that the backward pass alone needs.
        orders: What decides the bits of its results, if kernels compute them.
        variants: What the formula has of each variant, by the kind of its cause; empty if it may have more.
    """

    status: str
    text: str
    dimensions: str = ""
    hypotheses: tuple[str, ...] = ()
    obligations: tuple[str, ...] = ()
    operations: dict[str, int] = field(default_factory=dict)
    counterexample: Json | None = None
    notes: tuple[str, ...] = ()
    kind: str = ""
    eps: float | None = None
    certificates: tuple[ProofCertificate, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    affine: Affine | None = None
    axis: int = -1
    shape: str = ""
    given: tuple[str, ...] = ()
    unexamined: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    own_paths: tuple[str, ...] = ()
    circumstances: frozenset[str] = frozenset()
    sources: dict[str, str] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    undecided: bool = False
    uncovered: bool = False
    conditions: tuple[str, ...] = ()
    pulled: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    variants: dict[str, str] = field(default_factory=dict)
    formula: str = ""

    @property
    def certificate_sha256(self) -> str | None:
        """The hash of all its certificates."""
        return digest({"certificates": list(self.certificates)}) if self.certificates else None

    scope = property(lambda self: f"{'only ' * self.dimensions.startswith('d ≤')}for {self.dimensions}")
    condition = property(lambda self: _if([text for text in self.conditions if text not in self.pulled]))

    @property
    def words(self) -> dict[str, str]:
        """The program that a certificate is about and its assumptions, which a certificate alone cannot show."""
        return {
            "program": self.text, "for": f"{self.dimensions}{_if(self.conditions)}, x of shape {self.shape}",
            "given": ", ".join(self.given), "unexamined": "; ".join([*self.unexamined, *self.formats, *NEVER]),
            "sources": ", ".join(f"{name} {hashed}" for name, hashed in sorted(self.sources.items())),
        }  # fmt: skip

    def passes(self, allowed: tuple[str, ...] = ()) -> bool:
        """Whether the definition itself is proved, or a variant whose formula contains one of the words `allowed`.

        Conditions and known variants need a word each. A derivative that is proved for some sizes only does not pass.
        """
        allowed_at_all = all(any(word in text for word in allowed) for text in self.conditions)
        if self.uncovered or not (self.proves_backward and allowed_at_all):
            return False
        formula = Cause("fault", self.formula)
        excused = all(self.allows(cause, allowed) for cause in (*map(Cause, self.variants),) or (formula,))
        return self.status == "proved" or (self.status == "variant" and excused)

    def allows(self, cause: Cause, allowed: tuple[str, ...]) -> bool:
        """Whether a word is the kind of the cause, is in its sentence, or speaks of this variant in the formula."""
        part, words = self.variants.get(cause.kind, "").lower(), [word.lower() for word in allowed if word.strip()]
        text, said = f"{cause}".lower(), self.text.lower()
        of_part = (w in text or w == cause.kind or (part and (w in part or part in w in said)) for w in words)
        return any(of_part)

    def record(self) -> Json:
        """The JSON form, without the certificates."""
        names = ("status", "text", "dimensions", "hypotheses", "obligations", "operations", "shape", "given", "sources")
        plain = {name: getattr(self, name) for name in names}
        return plain | {
            "certificate_sha256": self.certificate_sha256, "counterexample": self.counterexample, "notes": self.notes,
            "unexamined": [*self.unexamined, *self.formats, *NEVER] if self.certificates else [],
            "derivatives": {derivative.name: derivative.status for derivative in self.derivatives},
        }  # fmt: skip

    @property
    def proves_backward(self) -> bool:
        """Whether all derivatives are proved, for every size."""
        return all(derivative.status == "proved" and not derivative.text for derivative in self.derivatives)

    @property
    def gradients(self) -> str:
        """What is known of the derivatives, those of which the same is known together."""
        known = dict[str, list[str]]()
        for one in self.derivatives:
            status = "not proved:" if one.status == "not traced" else f"{one.status},"
            known.setdefault(f"{status} {one.text}".strip(", "), []).append(f"d/d{one.name}")
        return "; ".join(f"{' and '.join(names)} {told}" for told, names in known.items()) + _if(self.pulled)

    def told(self, *, verbose: bool = True) -> list[str]:
        """What is proved and for what, in indented lines; how, and what is never covered, only if `verbose`."""
        lines = list[str]()
        if self.certificates:
            given = f"; given {', '.join(self.given)}" if self.given else ""
            assumed = f", {', '.join(self.hypotheses)}" if self.hypotheses else ""
            rows = f"{self.scope}{self.condition}{assumed}, x of shape {self.shape}"
            lines.append(f"  proved      {self.text} in exact arithmetic, {rows}{given}")
        else:
            lines.append(f"  {'refuted    ' if self.status == 'refuted' else 'not proved '} {self.text}")
        lines += [f"  except      {'; '.join(self.unexamined)}"] * bool(self.unexamined)
        lines += [f"  backward    {self.gradients}"] * bool(self.derivatives)
        if self.counterexample:
            point = self.counterexample
            values = ", ".join(f"{name} = {shorten(str(value))}" for name, value in point["values"].items())
            code, expected = (shorten(str(point[name])) for name in ("code", "expected"))
            known = f"the code returns {code}; {point['definition']} is {expected}"
            lines.append(f"  example     at d = {point['d']}, {values}: {known}")
        if not verbose:
            return lines
        if self.operations:
            counted = ", ".join(f"{name} {count}" for name, count in self.operations.items())
            lines.append(f"  traced      {_counted(sum(self.operations.values()), 'operation')}: {counted}")
        lines += [f"  defined     {text}" for text in self.obligations]
        if self.certificates:
            backward = {data["id"] for derivative in self.derivatives for data in derivative.certificates}
            whole = next(data for data in reversed(self.certificates) if data["id"] not in backward)
            size = f"{_counted(len(whole['terms']), 'term')}, {_counted(len(whole['steps']), 'step')}"
            lines.append(f"  certificate {size}, sha256 {(self.certificate_sha256 or '')[:12]}")
            lines.append(f"  the proof does not cover: {'; '.join([*self.formats, *NEVER])}")
        return lines

    def __str__(self) -> str:
        notes = (f"  note        {note}" for note in self.notes)
        return "\n".join([f"{self.status}: {self.text}", *self.told(), *notes])


def _if(conditions: Sequence[str]) -> str:
    return f" if {' and '.join(conditions)}" * bool(conditions)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def shorten(row: str) -> str:
    """A row as it is printed: long ones are whole in the JSON form alone."""
    return row if len(row) <= _ROW else f"{row[: _ROW - 40]} ... ({len(row)} characters, whole with --json)"


def write_certificates(certificates: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write certificates of proofs, which ``lngeom verify FILE`` replays in Coq.

    Raises:
        InputError: Nothing was proved.
    """
    if not certificates:
        raise InputError("nothing was proved, so there is no certificate to write: the verdict says why")
    text = json.dumps(certificates, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
