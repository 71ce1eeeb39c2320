"""From a program to a proof: traced on terms, matched with a definition, proved, recorded, executed."""

import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

import lngeom as lg
from lngeom import prover
from lngeom.checker import digest
from lngeom.files import Json
from lngeom.prover import Formula, ProofCertificate, Proved, Table, Term

from .._tracing.factories import is_factory
from .._tracing.grounds import FloatGround, RecordedGround, proof_of
from .._tracing.programs import LAYOUTS, Program, program
from .._tracing.roles import role
from .._tracing.sizes import FEATURE, POWERS, form
from .._tracing.symbols import Literals
from .._tracing.trace import Refusal, Trace
from .backward import derivatives
from .candidates import Affine, Candidate, matching, reference
from .execution import counterexample, differs, drawn
from .path import SEVERAL, Path, reason, rejects
from .proof import Proof
from .survey import Survey, hashed
from .traced import Traced, roles


def prove(
    program: Program, stated: Any = None, *, kind: str | None = None, dtype: str = "float32", backward: bool = False
) -> Proof:
    """Proves the formula that a program computes, for every dimension.

    Args:
        program: The norm.
        stated: The definition that is meant, its name and function.
        kind: What it is meant to be; by default what its name says.
        backward: Whether a backward pass of its own is asked for as well.
        dtype: The format whose path through the program counts; other formats may take other paths, which is noted.
    """
    proofs, of_value = list[Proof](), stated is not None and getattr(stated[1], "eps", 0.0) is None
    for literal in (False, True):  # where a value is asked for, or stands in the other kernel, it is for that alone
        traces: list[Trace] = []
        one = replace(program, literals=Literals(), literal=literal, stated=stated)
        proofs.append(_proved(one, kind, dtype, backward, traces))
        valued = proofs[-1].status == "not traced" and any(trace.valued for trace in traces)
        if not valued and (proofs[-1].status == "proved" or not of_value):
            break
    first, last = proofs[0], proofs[-1]
    return last if last.status == "proved" or first.status == "not traced" != last.status else first


def _proved(program: Program, kind: str | None, dtype: str, backward: bool, traces: list[Trace]) -> Proof:
    """The verdict on the first layout of x that can be traced."""
    errors = list[Exception]()
    for axes in LAYOUTS.values():
        try:
            survey = Survey(program, axes, dtype, traces)
        except Exception as error:  # a program that is not run on arrays fails in any way
            errors.append(error)
            if isinstance(error, Refusal) and error.lasting:  # the next run would begin with what this one left
                break
            continue
        try:
            known = list[Candidate]()
            proof = _together([_of_path(path, kind, known) for path in survey.paths], survey.paths)
            if not proof.certificates:  # nothing is proved that other circumstances could restrict
                return proof
            proof = replace(proof, **survey.world())
            proof = _with_derivatives(proof, survey) if backward else proof
            return replace(proof, certificates=tuple(_told(data, words=proof.words) for data in proof.certificates))
        except Exception as error:
            errors.append(error)
    usual = next((error for error in errors[:2] if isinstance(error, Refusal)), errors[0])  # of a shape that it takes
    sizes = {size for trace in traces for size in trace.near}
    rules = dict.fromkeys(rule for trace in traces for rule in trace.kernels.rules) if backward else ()
    asked = frozenset(case.text for trace in traces for case in trace.decisions.cases)
    return Proof("not traced", reason(usual), sizes=tuple(sorted(sizes)), unexamined=tuple(rules), circumstances=asked)


def _with_derivatives(proof: Proof, survey: Survey) -> Proof:
    """The verdict with what the backward pass of a program computes, for the first layout alone."""
    paths = survey.paths
    backward = tuple(derivative for path in paths for derivative in derivatives(path))
    more = [data for derivative in backward for data in derivative.certificates if len(paths) == 1]
    runs = list({id(one.run): one.run for one in backward if one.run is not None}.values())
    notes = {f"its backward pass: {note}" for run in runs for note in run.report.notes - {*proof.notes}}
    given = {f"{name} = {value}" for run in runs for name, value in run.report.given.items()} - {*proof.given}
    first, pulled = form(survey.axes), {text for run in runs for text in run.report.conditions}
    shapes = [f"derivatives for x of shapes other than {first}"] * (proof.shape != first)
    left = dict.fromkeys([*proof.unexamined, *shapes, *(text for one in backward for text in one.unexamined)])
    return replace(
        proof,
        derivatives=tuple(replace(one, run=None) for one in backward),  # a trace stays in its process
        certificates=(*proof.certificates, *more), notes=(*proof.notes, *sorted(notes)),
        given=(*proof.given, *sorted(given)),
        sources=proof.sources | {name: hashed(code) for run in runs for name, code in run.report.sources.items()},
        unexamined=tuple(left), conditions=tuple(sorted({*proof.conditions, *pulled})),
        pulled=tuple(sorted(pulled - {*proof.conditions})),
        circumstances=proof.circumstances | {case.text for run in runs for case in run.decisions.cases},
        orders=(*proof.orders, *(one.order for one in backward if one.order and one.status == "proved")),
    )  # fmt: skip


def _of_path(path: Path, kind: str | None, known: list[Candidate]) -> Proof:
    """The verdict on one path; `known` are the definitions of those before."""
    name = path.program.name
    defined, undefined = path.obligations(path.trace)
    seen = _seen(path, defined)
    identified = _identified(path, known)
    if identified is None:  # a point tells a refuted program from one that no candidate matches
        return _different(path, kind, seen)
    candidate, equality = identified
    known.append(candidate)
    if undefined:
        # The formula is right where it has a value; that it has one is part of the claim.
        return replace(seen, text=f"{name} agrees with {candidate.text}, but it is not proved that {undefined[0]}")
    proved = [*defined, equality]
    hypotheses = {hypothesis for theorem in proved for hypothesis in theorem.hypotheses}
    alone, least = path.alone(hypotheses), 2 if SEVERAL in hypotheses else 1
    wrong = differs(path, candidate, lambda d: d >= least and alone in (None, d))
    if wrong is not None:  # a tracer that misreads the code must not prove it
        return replace(seen, text=f"the code that runs is not the code that was traced: {wrong}", undecided=True)
    plain = alone in (None, path.program.size) and not _exchanged(path, candidate.affine)
    exact = candidate.exact and plain
    trace, output = path.again(RecordedGround(Table(), single=path.single))
    certificates = path.certificates(name, proved, trace, output.value - candidate.value(trace.ground))
    formula = path.words(candidate.text)
    return replace(
        seen, status="proved" if exact else "variant", text=f"{name} computes {formula}", formula=formula,
        dimensions=_reach(path, alone, least), hypotheses=_assumed(path, hypotheses), kind=candidate.kind,
        eps=path.program.literals.values.get(candidate.eps), affine=candidate.affine,
        axis=-1 if path.axes[-1] == (FEATURE,) else path.axes.index((FEATURE,)),
        counterexample=None if exact else counterexample(path, _expected(path, kind or candidate.kind)),
        certificates=tuple(certificates), variants=candidate.variants if plain else {},
    )  # fmt: skip


def _seen(path: Path, defined: list[Proved]) -> Proof:
    """What every verdict on a path says, whatever it is; until one is found, the path is not traced."""
    ranges = (", proved for d > 1" if SEVERAL in fact.hypotheses else ", proved" for fact in defined)
    texts = (path.words(prover.formula(fact.conclusion)) for fact in defined)
    unused = [name for name in path.program.literals.values if role(name) == "eps" and name not in path.names.scalars]
    unused = [] if path.single else unused  # where d = 1, LayerNorm is its bias whatever ε is
    return Proof(
        "not traced", "", operations=dict(path.trace.values.operations), sizes=tuple(path.trace.near),
        obligations=tuple(f"{text}{reach}" for text, reach in zip(texts, ranges, strict=True)),
        notes=(*sorted(path.trace.report.notes), *(f"its setting {name} has no effect" for name in unused)),
    )  # fmt: skip


def _different(path: Path, kind: str | None, seen: Proof) -> Proof:
    """The verdict on a path that computes no known definition: refuted if it differs at a point."""
    name, expected = path.program.name, _expected(path, kind or "")
    # Where nobody said which is meant, what may still be the other one is not refuted.
    other = [] if kind else [_expected(path, each) for each in ("layernorm", "rmsnorm") if each != expected.kind]
    point = counterexample(path, expected)
    if point is None or any(counterexample(path, each) is None for each in other):
        unknown = "equals none of the known definitions, and no point was found where it differs"
        return replace(seen, text=f"{name} {unknown}")
    return replace(seen, status="refuted", text=f"{name} is not {expected.text}", counterexample=point)


def _reach(path: Path, alone: int | None, least: int) -> str:
    """For which dimensions a path is proved, as far as its branches go."""
    reach = f"d = {alone} alone" if alone else f"every d {'> 1' if least > 1 else '≥ 1'}"
    reach += " that is a power of 2" * (POWERS in path.trace.report.unexamined and not alone)
    if alone is None and path.trace.report.builds:
        reach += f" in place of the {path.trace.report.builds} that it was built with"
    if left := [error for trace, error in path.raised if not path.excludes(trace)]:
        reach += " that it takes" if all(map(rejects, left)) else " but for sizes that are not examined"
    return reach


def _on_branch(path: Path, reach: str) -> str:
    """These dimensions on the branches of a path."""
    texts = path.branches() if reach else []
    alone_so = reach == "every d ≥ 1" and len(texts) == 1 and re.fullmatch(r"d ≤ \d+", texts[0])
    return texts[0] if alone_so else " with ".join([reach, *filter(None, [" and ".join(texts)])])


def _assumed(path: Path, hypotheses: set[Formula]) -> tuple[str, ...]:
    """The assumptions that a reader needs: on parameters and settings, not on d, constants or computed values."""
    literals = path.program.literals
    told = {("d",), *(("s", name) for name in literals.values if literals.text(name) != name)}
    settings = {prover.greater(prover.scalar(n)) for n in literals.values if not literals.is_constant(n)}
    made = {(kind, name) for name in path.trace.calls.computed for kind in "sv"}
    shown = (h for h in hypotheses | settings if not (atoms := prover.atoms_of([h.term])) <= told and not atoms & made)
    return tuple(sorted(map(prover.formula, shown)))


def _exchanged(path: Path, affine: Affine | None) -> bool:
    """Whether the gain is named a bias, or the bias a gain, while another parameter has the right name."""
    roles = {name: role(name.rpartition("_")[2]) for name in path.trace.symbols.vectors}
    gain, bias = (roles.get(name or "") for name in (affine.gain, affine.bias)) if affine else (None, None)
    return (gain == "bias" and "gain" in roles.values()) or (bias == "gain" and "bias" in roles.values())


def _absolutes(path: Path, facts: list[Proved]) -> list[tuple[Proved, Term]]:
    """|t| = t or |t| = −t, for arguments of known sign."""
    lemmas = []
    for t, root, _ in path.trace.values.absolutes:
        signs = (proof_of(prover.at_least(u), *facts) for u in (t, -t))
        if root and (sign := next(filter(None, signs), None)):
            lemmas.append((prover.root_of_square(t * t, sign, prover.combine(0, [])), root))
    return lemmas


def _identified(path: Path, known: list[Candidate]) -> tuple[Candidate, Proved] | None:
    """The definition that the output is, with the proof; of one component, where many are the same, a known one."""
    stated = _expected(path, "") if path.program.stated else None
    names, facts = path.names, path.facts
    lemmas = _absolutes(path, facts)
    for (size, alone), scale in itertools.product(path.sizes(), path.scales):
        rng = np.random.default_rng(size)
        values = drawn(path, size, rng, scale) | {"x": np.random.default_rng(3).normal(size=size)}
        ground = FloatGround(values, size)
        try:
            with np.errstate(all="ignore"):
                output = path.again(ground)[1].value
                candidates = known if path.single and known else matching(names, ground, output, stated)
        except Refusal:  # this dimension takes another branch
            continue
        assumed = [prover.assume(prover.equal(prover.d, size))] if alone else []
        for candidate in candidates:
            goal = prover.equal(path.output.value, candidate.value(path.trace.ground))
            if found := proof_of(goal, *facts, *lemmas, *assumed):
                return candidate, found
    return None


def _expected(path: Path, kind: str) -> Candidate:
    """The definition that is stated, or that its name and its parameters speak of."""
    names, known = path.names, roles(path)
    gain, bias, eps = known.get("gain"), known.get("bias"), known.get("eps", next(iter(names.scalars), None))
    if path.program.stated:  # the user says which is meant
        name, function = path.program.stated
        of_kernel = isinstance(function, Traced)
        return function.candidate(path) if of_kernel else reference(names, name, function, gain, bias, eps)
    if kind not in ("layernorm", "rmsnorm"):
        named = path.program.name.lower()
        kind = "rmsnorm" if "rms" in named or (bias is None and "layer" not in named) else "layernorm"
    name, function = ("RMSNorm", lg.rms_norm) if kind == "rmsnorm" else ("LayerNorm", lg.layer_norm)
    return reference(names, name, function, gain, bias, eps, kind)


def _together(proofs: list[Proof], paths: list[Path]) -> Proof:
    """One verdict for all paths: the worst, with the texts of all, or one where all are the same."""
    # Paths that compute the same cover every dimension together, if no further one ends in an error.
    found = {(proof.status, proof.formula, proof.dimensions) for proof in proofs}
    alike, pairs = proofs[0].formula != "" and len(found) == 1 and not paths[0].raised, zip(proofs, paths, strict=True)
    reaches = [one.dimensions if alike else _on_branch(path, one.dimensions) for one, path in pairs]
    if len(proofs) == 1:  # without a branch there is nothing to distinguish
        return replace(proofs[0], dimensions=reaches[0])
    order = ("refuted", "not traced", "variant", "proved")
    worst = min(proofs, key=lambda proof: order.index(proof.status))
    where = ["" if alike else f" where {' and '.join(path.branches())}" for path in paths]
    proved = all(proof.certificates for proof in proofs)
    parts = tuple(data for proof in proofs if proved for data in proof.certificates)
    ids = [data["id"] for data in parts]
    named = [id if ids.count(id) == 1 else f"{id}_path{k + 1}" for k, id in enumerate(ids)]
    parts = tuple(data if data["id"] == id else _told(data, id=id) for data, id in zip(parts, named, strict=True))
    return replace(
        worst, text="; ".join(dict.fromkeys(proof.text + branch for proof, branch in zip(proofs, where, strict=True))),
        formula="; ".join(dict.fromkeys(one.formula + branch for one, branch in zip(proofs, where, strict=True))),
        dimensions="; ".join(dict.fromkeys(reaches)), certificates=parts, variants=worst.variants if alike else {},
        operations=dict(sum((Counter(proof.operations) for proof in proofs), Counter())),
        obligations=tuple(dict.fromkeys(text for proof in proofs for text in proof.obligations)),
        hypotheses=tuple(dict.fromkeys(text for proof in proofs for text in proof.hypotheses)),
        notes=tuple(dict.fromkeys(text for proof in proofs for text in proof.notes)),
        sizes=tuple(sorted({size for proof in proofs for size in proof.sizes})),
        undecided=worst.status == "not traced" or {"proved", "variant"} <= {proof.status for proof in proofs},
    )  # fmt: skip


def _told(data: ProofCertificate, **members: Any) -> ProofCertificate:
    """A certificate with another name or other words."""
    changed: Json = {**data, **members}
    changed["sha256"] = digest(changed)
    return ProofCertificate(**changed)


def prove_target(target: Any, name: str, framework: str, **options: Any) -> Proof:
    """Proves the formula of a framework's function, module or class; options are those of :func:`prove`."""
    return prove(program(target, name, framework, factory=is_factory(target)), **options)
