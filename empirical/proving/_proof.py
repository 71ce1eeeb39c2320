"""The verdict in exact arithmetic, and what it rests on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from lngeom.checker import digest
from lngeom.errors import InputError

from ..support import Json
from ._backward import Derivative
from ._candidates import Affine

TITLES = {"proved": "PROVED", "variant": "PROVED VARIANT", "refuted": "REFUTED", "not traced": "NOT TRACED"}


@dataclass(frozen=True)
class Proof:
    """The formula of a norm in exact arithmetic, for every dimension, and its proof.

    Attributes:
        status: ``proved`` (the definition itself), ``variant`` (another formula, which is named), ``refuted`` or
            ``not traced``.
        text: The formula, or the reason.
        dimensions, hypotheses: For which d, and what is assumed of parameters; what the proofs used.
        obligations: The conditions under which the code is defined, each proved.
        operations: How often each operation is called.
        counterexample: A point at which it is not the definition, executed: ``d``, the values by name, what the code
            gives and what the definition.
        notes: What was seen beside.
        kind, eps: ``layernorm`` or ``rmsnorm`` where the formula is one of these, and the value of its ε.
        derivatives: What is known of the backward pass, if it was asked for.
        affine, axis: Gain and bias where x itself is normalized, along this axis.
        certificates: The proofs of the obligations and, last, of the equality.
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
    certificates: tuple[Json, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
    affine: Affine | None = None
    axis: int = -1

    @property
    def certificate_sha256(self) -> str | None:
        """The hash of all its certificates."""
        return digest({"certificates": list(self.certificates)}) if self.certificates else None

    def passes(self, allowed: tuple[str, ...] = ()) -> bool:
        """Whether the definition itself is proved, or a variant whose formula contains one of the words `allowed`."""
        if any(derivative.status != "proved" for derivative in self.derivatives):
            return False
        excused = self.status == "variant" and any(word.lower() in self.text.lower() for word in allowed)
        return self.status == "proved" or excused

    def record(self) -> Json:
        """The JSON form, without the certificates."""
        names = ("status", "text", "dimensions", "hypotheses", "obligations", "operations")
        plain = {name: getattr(self, name) for name in names}
        return plain | {
            "certificate_sha256": self.certificate_sha256,
            "counterexample": self.counterexample,
            "notes": self.notes,
            "derivatives": {derivative.name: derivative.status for derivative in self.derivatives},
        }

    def __str__(self) -> str:
        lines = [f"{TITLES[self.status]}: {self.text}"]
        if self.certificates:
            assumed = f", {', '.join(self.hypotheses)}" if self.hypotheses else ""
            lines.append(f"  in exact arithmetic, for {self.dimensions}, all rows and parameters{assumed}")
        if self.operations:
            counted = ", ".join(f"{name} {count}" for name, count in self.operations.items())
            lines.append(f"  traced       {_counted(sum(self.operations.values()), 'operation')}: {counted}")
        lines += [f"  defined      {text}" for text in self.obligations]
        lines += [f"  backward     {derivative}" for derivative in self.derivatives]
        if self.certificates:
            whole = next(data for data in reversed(self.certificates) if "_by_" not in data["id"])
            size = ", ".join(_counted(len(whole[f"{part}s"]), part) for part in ("term", "step"))
            lines.append(f"  certificate  {size}, sha256 {(self.certificate_sha256 or '')[:12]}")
        if self.counterexample:
            lines.append(f"  against      {_shown(self.counterexample)}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def write_certificates(certificates: list[Json], file: Path) -> None:
    """Write certificates of proofs, which ``lngeom verify FILE`` replays in Coq.

    Raises:
        InputError: Nothing was proved.
    """
    if not certificates:
        raise InputError("nothing was proved, so there is no certificate to write: the verdict says why")
    text = json.dumps(certificates, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def _shown(point: Json) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in point["values"].items())
    return f"{point['definition']}: d = {point['d']}: {values}; the code gives {point['code']}, it {point['expected']}"
