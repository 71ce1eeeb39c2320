"""Everything that the checks of a theorem find, together: its proof, examples, Coq."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from lngeom import prover
from lngeom.theorems import CheckError, Theorem, checks
from lngeom.theorems.checks import Refutation, line_of, told

from .certificates import last_step_proved, reading, replayed

P = ParamSpec("P")
T = TypeVar("T")

EXAMPLES = 8
"""Examples of a theorem: the fewest that are a check; `pytest` runs more."""


@dataclass
class Evidence:
    """The results of all checks of one theorem.

    Attributes:
        theorem: Theorem
        proof_ms: CPU time of the proof in milliseconds.
        proved: list of str. The statement as the library computes it, and what the names in it stand for.
        certificate: list of str. The proof, line by line.
        steps: Steps of the certificate, all confirmed by the checker.
        dimensions, models: In how many dimensions exact models of the hypotheses were found, and at how many the claim
            was evaluated.
        measured: How often the claim was measured in floats.
        mutants: A counterexample for the label of each wrong variant.
        hypotheses: For each hypothesis a counterexample without it, or the reason why it is redundant.
        replayed: The version of Coq in which this very proof was replayed, or empty.
        undefined: Where the library divides by 0 though the hypotheses hold, or empty: there the proof reads 1/0 as 0.
        unread: Why the theorem could not be checked at all, with file and line, or empty.
        refuted: Whether the claim is false at some point.
        faults, dumps: list of str. What failed, and its normal forms.
    """

    theorem: Theorem
    proof_ms: float = 0.0
    proved: list[str] = field(default_factory=list)
    certificate: list[str] = field(default_factory=list)
    steps: int = 0
    dimensions: int = 0
    models: int = 0
    measured: int = 0
    mutants: dict[str, Refutation] = field(default_factory=dict)
    hypotheses: dict[str, Refutation | str] = field(default_factory=dict)
    replayed: str = ""
    undefined: str = ""
    unread: str = ""
    refuted: bool = False
    faults: list[str] = field(default_factory=list)
    dumps: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """``"proved"``; ``"proved in Coq"`` or ``"up to cited fact"`` where there is a last step; without a proof
        ``"refuted"`` or ``"undecided"``; and ``"failed"`` where there is one and another check finds a fault.
        """
        if self.faults:
            return "refuted" if self.refuted else "failed" if self.proved else "undecided"
        if not self.theorem.last_step:
            return "proved"
        return "proved in Coq" if self.replayed and last_step_proved(self.theorem) else "up to cited fact"

    def as_json(self) -> dict[str, object]:
        """The evidence as plain data: strings, numbers, lists and dicts."""
        theorem = self.theorem
        stated = ("id", "title", "statement", "kind", "remark", "last_step")
        found = ("status", "steps", "models", "measured", "replayed", "undefined", "faults", "proved")
        return {
            **{name: getattr(theorem, name) for name in stated},
            "source": str(theorem.source),
            "says": theorem.source.says,
            "hypotheses": list(theorem.hypotheses),
            "cites": list(theorem.cites),
            **{name: getattr(self, name) for name in found},
            "proof_ms": round(self.proof_ms, 1),
            "mutants_refuted": len(self.mutants),
            "mutants": {title: str(refutation) for title, refutation in self.mutants.items()},
            "necessary": {hypothesis: str(refutation) for hypothesis, refutation in self.hypotheses.items()},
        }

    def attempt(self, check: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | None:
        """Returns the result of a check; an error that it raises becomes a fault."""
        try:
            return check(*arguments, **options)
        except (AssertionError, prover.ProofError, CheckError) as error:
            text = traceback.extract_tb(error.__traceback__)[-1].line
            reason, line = told(error, fully=False)[:3] or [f"{text} is false"], line_of(self.theorem, error)
            self.refuted |= reason[0].startswith("false at ")
            self.dumps += [str(note) for note in getattr(error, "__notes__", ()) if str(note) not in reason]
            name = self.theorem.id + (f", line {line}" if line else "")
            fault = f"{name}: {'; '.join(reason).removeprefix(f'{self.theorem.id}: ')}"
            self.faults += [fault] if fault not in self.faults else []
            return None


def gather(theorem: Theorem) -> Evidence:
    """Run all checks of one theorem, with the smallest counterexamples. A check that fails becomes a fault.

    >>> from lngeom.proofs import find, gather
    >>> evidence = gather(find("projection.fixes_hyperplane"))
    >>> evidence.status, evidence.steps
    ('proved in Coq', 2)
    >>> print(evidence.mutants["its mean is 1, not 0"])
    d = 1: x = (1)
    """
    evidence = Evidence(theorem)
    start = time.process_time()
    proved = evidence.attempt(checks.check_proof, theorem)
    evidence.proof_ms = 1000 * (time.process_time() - start)
    if proved is not None:
        for data in proved:
            hypotheses, conclusion, meant = reading(data)
            evidence.proved += [f"{', '.join(hypotheses)} ⊢ {conclusion}".strip(), *meant]
            evidence.certificate += prover.steps_text(data["steps"], data["terms"])
        versions = {replayed(data) for data in proved}
        evidence.replayed = versions.pop() if len(versions) == 1 else ""
        evidence.steps = sum(len(data["steps"]) for data in proved)
        divided = checks.undefined_at(theorem)
        evidence.undefined = checks.numbers_of(divided.values, divided.dimension) if divided else ""
    examples = evidence.attempt(checks.check_examples, theorem, EXAMPLES)
    if examples is not None:
        evidence.dimensions, evidence.models = len(examples.dimensions), examples.models
        evidence.measured = examples.measured
    for label in theorem.wrongs:
        refuted = evidence.attempt(checks.check_wrong, theorem, label)
        if refuted is not None:
            evidence.mutants[label] = refuted
    for label in theorem.hypotheses:
        judge = evidence if theorem.source.work else Evidence(theorem)  # in one's own a hypothesis too many is no fault
        necessary = judge.attempt(checks.check_without, theorem, label)
        if necessary is not None:
            evidence.hypotheses[label] = necessary
    return evidence
