"""The checks of a theorem: each returns what it found, and raises where it finds a fault."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

from lngeom import kernel
from lngeom.carriers import Enclosure, Interval, UndecidedError
from lngeom.kernel import Formula, ProofError, evaluate, formula

from .._theorem import Build, CheckError, Model, Mutant, Theorem, call
from ..certificates import Refused, certificate, last_step_proved, recheck, replayed
from ._floats import measure
from ._models import Values, accepted, draw, refuted, satisfied, search

MODELS = 12
"""Exact models at which a claim is evaluated."""

TRIES = 6000
"""Samples drawn at most in search of a model or a counterexample."""

CANDIDATES = {"mutant": 40, "hypothesis": 5}
"""Counterexamples in terms that are looked at for one at which the library does not divide by 0. To refute a mutant
there has to be one; a hypothesis is necessary without."""


@dataclass(frozen=True)
class Refutation:
    """Dimension, vectors and scalars at which a statement is certainly false, or at which the library has no number."""

    dimension: int
    values: Values
    undefined: bool = False

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {_shown(v)}" for name, v in self.values.items())
        return f"d = {self.dimension}: {shown}" + (", where the library divides by 0" if self.undefined else "")


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, int | Fraction) else f"({', '.join(map(str, value))})"


def check_proof(theorem: Theorem) -> kernel.Proved:
    """The proof exists, proves the claim, and uses exactly the declared hypotheses."""
    try:
        proved = theorem.prove()
    except ProofError as error:
        raise CheckError(f"{theorem.id} is not proved: {error}") from error
    if proved.conclusion != theorem.goal():
        raise CheckError(f"{theorem.id} proves another statement: {formula(proved.conclusion)}")
    declared = frozenset(theorem.assumed().values())
    for extra, kind in ((proved.hypotheses - declared, "undeclared"), (declared - proved.hypotheses, "unused")):
        if extra:
            shown = "; ".join(map(formula, extra))
            raise CheckError(f"{theorem.id} has {kind} hypotheses: {shown}")
    return proved


def check_certificate(theorem: Theorem, data: dict[str, Any]) -> int:
    """The second checker, which does not know the kernel, accepts the certificate; returns its number of steps."""
    try:
        return recheck(data)
    except Refused as error:
        raise CheckError(f"{theorem.id}: the second checker refuses the certificate: {error}") from error


def models(theorem: Theorem, mutant: Mutant | None = None) -> Iterator[tuple[int, Values]]:
    """Exact models of the hypotheses, small dimensions first."""
    assumed = list(theorem.assumed(mutant).values())
    return search(
        _sampler(theorem, mutant.model if mutant else None),
        lambda values, d: satisfied(assumed, values, d),
        seed=theorem.id,
        tries=TRIES,
    )


def check_models(theorem: Theorem) -> list[tuple[int, Values]]:
    """The hypotheses have models, so that the theorem says something; returns dimension and values of some."""
    found = list(islice(models(theorem), 2 * MODELS))
    if not found:
        raise CheckError(f"{theorem.id}: no model of the hypotheses in {TRIES} samples; give `model`")
    return found


def check_truth(theorem: Theorem, found: list[tuple[int, Values]]) -> int:
    """The claim is true at the models, as a term and as the library computes it on enclosures; returns at how many."""
    goal = theorem.goal()
    for d, values in found:
        if refuted(goal, values, d):
            raise CheckError(f"{theorem.id} is false at {Refutation(d, values)}")
        _check_carriers(theorem, goal, values, d)
    return len(found)


def _computed(build: Build, values: Values) -> Any:
    """What the library computes for a statement on enclosures, or nothing where it divides by 0."""
    carriers = {
        name: Enclosure([Fraction(v) for v in (value if isinstance(value, tuple | list) else [value])])
        for name, value in values.items()
    }
    try:
        return call(build, carriers).term
    except UndecidedError:
        return None  # an inverse of 0: total in the kernel, no number for the library


def _check_carriers(theorem: Theorem, goal: Formula, values: Values, d: int) -> None:
    """What the library computes on enclosures meets what the term says."""
    direct = _computed(theorem.claim, values)
    if direct is None:
        return
    meant = evaluate(goal.term, values, d)
    computed = list(direct) if isinstance(direct, Enclosure) else [direct]
    for k, value in enumerate(meant):
        gap = _interval(computed[k % len(computed)]) - _interval(value)
        if not gap.contains(0):
            raise CheckError(f"{theorem.id}: term and library differ in component {k} at {Refutation(d, values)}")


def _interval(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval(value)


def check_property(theorem: Theorem) -> int:
    """The claim holds in floats within the derived error bound; returns how often it was measured."""
    return measure(theorem)


def check_mutant(theorem: Theorem, mutant: Mutant) -> Refutation:
    """The proof of a wrong variant fails, and an exact counterexample exists."""
    try:
        theorem.prove(mutant)
    except ProofError:
        pass
    else:
        raise CheckError(f"{theorem.id}: the mutant {mutant.title!r} has a proof")
    wrong = replace(theorem, claim=mutant.claim or theorem.claim)
    assumed = list(theorem.assumed(mutant).values())
    found = _counterexample("mutant", wrong, assumed, mutant.model, f"{theorem.id}/{mutant.title}")
    if found is None or found.undefined:
        raise CheckError(f"{theorem.id}: no counterexample to the mutant {mutant.title!r} in {TRIES} samples")
    return found


def check_hypothesis(theorem: Theorem, said: str) -> Refutation | str:
    """A hypothesis is necessary, by a counterexample without it, or redundant, by the reason given."""
    reason = theorem.without.get(said)
    if isinstance(reason, str):
        return reason
    assumed = theorem.assumed()
    dropped = assumed.pop(said)
    found = _counterexample("hypothesis", theorem, list(assumed.values()), reason, f"{theorem.id}/{said}", dropped)
    if found is None:
        raise CheckError(f"{theorem.id}: no counterexample without {said!r}; give a sampler or a reason in `without`")
    return found


def _counterexample(
    kind: str, theorem: Theorem, assumed: list[Formula], model: Model | None, seed: str, *also: Formula
) -> Refutation | None:
    """Where the assumed holds but not the claim, nor what else is named; if it can, where nothing is divided by 0."""
    false = [*also, theorem.goal()]
    found = search(
        _sampler(theorem, model),
        lambda values, d: satisfied(assumed, values, d) and all(refuted(formula, values, d) for formula in false),
        seed=seed,
        tries=TRIES,
    )
    undefined = None
    for d, values in islice(found, CANDIDATES[kind]):
        if _computed(theorem.claim, values) is not None:
            return Refutation(d, values)
        undefined = undefined or Refutation(d, values, undefined=True)
    return undefined


def _sampler(theorem: Theorem, special: Model | None) -> Callable[[Random, int], Values]:
    """Draws from the given samplers, from them with one value redrawn, and freely."""
    vectors, scalars = theorem.vectors.split(), theorem.scalars.split()
    given = [model for model in (special, theorem.model) if model is not None]

    def sample(random: Random, d: int) -> Values:
        if not given or random.random() < 0.3:
            return draw(vectors, scalars, random, d)
        drawn = random.choice(given)(random, d)  # a sampler may serve several theorems and name more vectors
        values = {name: drawn[name] for name in (*vectors, *scalars) if name in drawn}
        if random.random() < 0.4:
            name = random.choice([*vectors, *scalars])
            values |= draw([name], [], random, d) if name in vectors else draw([], [name], random, d)
        return accepted(values)

    return sample


# ------------------------------------------------------------------------------------------------------ evidence


@dataclass
class Evidence:
    """What all checks of one theorem found.

    Attributes:
        theorem: Theorem
        proof_ms: CPU time of the proof in milliseconds.
        certificate: list of str. The proof, line by line.
        steps: Steps of the certificate that the second checker confirmed.
        dimensions, models: In how many dimensions exact models of the hypotheses were found, and at how many the claim
            was evaluated.
        measured: How often the claim was measured in floats.
        mutants: A counterexample for the title of each wrong variant.
        hypotheses: For each hypothesis a counterexample without it, or the reason why it is redundant.
        replayed: The version of Coq in which this very proof was replayed, or nothing.
        faults: list of str. What failed.

    >>> from proofs import find, gather
    >>> evidence = gather(find("projection.fixes_hyperplane"))
    >>> for line in evidence.certificate:
    ...     print(line.strip())
    1. S(x) = 0    [assume]
    2. −S(x)/d = 0    [−1/d·(1)]
    """

    theorem: Theorem
    proof_ms: float = 0.0
    certificate: list[str] = field(default_factory=list)
    steps: int = 0
    dimensions: int = 0
    models: int = 0
    measured: int = 0
    mutants: dict[str, Refutation] = field(default_factory=dict)
    hypotheses: dict[str, Refutation | str] = field(default_factory=dict)
    replayed: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """``"proved"``; ``"proved in Coq"`` or ``"up to cited fact"`` where there is a last step; or ``"failed"``."""
        if self.faults:
            return "failed"
        if not self.theorem.last_step:
            return "proved"
        return "proved in Coq" if self.replayed and last_step_proved(self.theorem.id) else "up to cited fact"

    def as_json(self) -> dict[str, Any]:
        """The evidence as plain data: strings, numbers, lists and dicts.

        >>> from proofs import Evidence, find
        >>> Evidence(find("projection.fixes_hyperplane")).as_json()["statement"]
        '1·x = 0 implies Πx = x'
        """
        theorem = self.theorem
        return {
            "id": theorem.id,
            "title": theorem.title,
            "statement": theorem.statement,
            "source": str(theorem.source),
            "says": theorem.source.says,
            "hypotheses": list(theorem.hypotheses),
            "status": self.status,
            "kind": theorem.kind,
            "proof_ms": round(self.proof_ms, 1),
            "steps": self.steps,
            "models": self.models,
            "measured": self.measured,
            "mutants_refuted": len(self.mutants),
            "mutants": {title: str(found) for title, found in self.mutants.items()},
            "necessary": {said: str(found) for said, found in self.hypotheses.items()},
            "replayed": self.replayed,
            "remark": theorem.remark,
            "last_step": theorem.last_step,
            "cites": list(theorem.cites),
            "faults": self.faults,
        }


def gather(theorem: Theorem) -> Evidence:
    """Run all checks of one theorem. A check that fails becomes a line of ``faults``.

    The checks: the proof exists and uses exactly the hypotheses declared; a second checker confirms each step of its
    certificate; the hypotheses have exact models; the claim holds there, and in floats within the derived bounds; every
    mutant has no proof and a counterexample; every hypothesis is necessary, or its redundancy explained. Samples are
    drawn from seeds made of the id, so that two runs find the same.

    >>> from proofs import find, gather
    >>> evidence = gather(find("projection.fixes_hyperplane"))
    >>> evidence.status, evidence.steps, evidence.models
    ('proved in Coq', 2, 12)
    >>> print(evidence.mutants["its mean is 1, not 0"])
    d = 2: x = (0, 2)
    """
    evidence = Evidence(theorem)

    def attempt(check: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return check(theorem, *arguments)
        except (CheckError, ProofError) as error:
            evidence.faults.append(str(error))
            return None

    start = time.process_time()
    proved = attempt(check_proof)
    evidence.proof_ms = 1000 * (time.process_time() - start)
    if proved is not None:
        data = certificate(theorem, proved)
        evidence.certificate = kernel.certificate(proved)
        evidence.replayed = replayed(data)
        evidence.steps = attempt(check_certificate, data) or 0
    found = attempt(check_models) or []
    evidence.dimensions = len({d for d, _ in found})
    evidence.models = attempt(check_truth, found[:MODELS]) or 0
    evidence.measured = attempt(check_property) or 0
    for mutant in theorem.mutants:
        found = attempt(check_mutant, mutant)
        if found is not None:
            evidence.mutants[mutant.title] = found
    for said in theorem.hypotheses:
        found = attempt(check_hypothesis, said)
        if found is not None:
            evidence.hypotheses[said] = found
    return evidence
