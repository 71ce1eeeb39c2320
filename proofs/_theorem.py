"""What a theorem of this project is: a statement about the library's own functions, its proof, and its rivals."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from lngeom import kernel
from lngeom.errors import LngeomError
from lngeom.kernel import Formula

Build = Callable[..., Any]
"""A function of some of the theorem's vectors and scalars, chosen by the names of its parameters."""

Model = Callable[[Random, int], dict[str, Any]]
"""Values of all vectors (sequences of d fractions) and scalars (fractions) for which the hypotheses hold."""


class CheckError(LngeomError):
    """A theorem failed one of its checks, or a worked example states what is not certainly so.

    :func:`proofs.gather` catches it and lists its text in ``faults``.
    """


@dataclass(frozen=True)
class Source:
    """Where a statement comes from, and what that place says, in our words.

    Attributes:
        work, place: Authors and number of the work; section, equation or table in it.
        says

    >>> from proofs import find
    >>> source = find("projection.fixes_hyperplane").source
    >>> print(source, "--", source.says)
    Gupta et al., arXiv:2409.12951, section 3 -- for a vector orthogonal to 1 there is nothing to remove
    """

    work: str
    place: str
    says: str

    def __str__(self) -> str:
        return f"{self.work}, {self.place}"


@dataclass(frozen=True)
class Mutant:
    """A wrong variant of a theorem: its proof must fail and an exact counterexample must exist.

    Attributes:
        title: What is wrong.
        claim: function. The wrong statement; by default the theorem's own (then `hypotheses` are the wrong ones).
        hypotheses: mapping. By default the theorem's own.
        model: function. Sampler of vectors and scalars where a counterexample is to be looked for.

    Centring is sometimes taken for the identity:

    >>> import lngeom as lg
    >>> from lngeom.kernel import equal
    >>> from proofs import Mutant, find
    >>> wrong = Mutant("nothing is removed", claim=lambda x: equal(lg.project(x), x))
    >>> find("projection.idempotent").prove(wrong)
    Traceback (most recent call last):
    lngeom.kernel._terms.ProofError: no proof found: −S(x)/d = 0 is left
    """

    title: str
    claim: Build | None = None
    hypotheses: Mapping[str, Build] | None = None
    model: Model | None = None


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """A theorem with everything that is needed to check it.

    Functions take the theorem's vectors and scalars by name and are carrier-generic: on terms they state the
    theorem for every dimension, on arrays and enclosures they state it for one vector.

    Attributes:
        id: ``chapter.slug``.
        title: A sentence without formulas.
        statement: The formula, for readers.
        source: Source
        claim: function. Returns the Formula; built with the functions of lngeom.
        vectors, scalars: Names, separated by blanks.
        hypotheses: mapping of str to function. Readable form and Formula of each. The proof must use exactly these.
        lemmas: function. Theorems that the proof may use beside the hypotheses.
        remainder: function. For an inequality: an equal term of evident sign.
        proof: function. Takes ``goal`` (Formula) and ``given`` (the assumed hypotheses in order) beside vectors and
            scalars and returns a kernel theorem. By default :func:`lngeom.kernel.prove` with hypotheses, lemmas,
            remainder.
        last_step: What title and statement say beyond the claim, where the kernel cannot say it; proved in Coq, or by
            what it cites.
        cites: tuple of str. The classical facts that a last step in words uses.
        remark: What else follows; no part of what is proved.
        model: function. Sampler of values that satisfy the hypotheses, where chance alone finds too few.
        without: mapping of str to str or function. For a hypothesis: the reason why it is redundant, or a sampler that
            satisfies all others but not it.
        mutants: tuple of Mutant
        definition: Whether the claim only writes out what the library defines.

    >>> import lngeom as lg
    >>> from lngeom.kernel import dot, equal
    >>> from proofs import Source, Theorem
    >>> theorem = Theorem(
    ...     id="projection.centred",
    ...     title="A centred vector is left alone",
    ...     statement="x·1 = 0 implies Πx = x",
    ...     source=Source("This project", "example", "centring removes the mean and nothing else"),
    ...     hypotheses={"x·1 = 0": lambda x: equal(dot(x, 1), 0)},
    ...     claim=lambda x: equal(lg.project(x), x),
    ... )
    >>> theorem.prove()
    S(x) = 0 ⊢ −S(x)/d = 0
    """

    id: str
    title: str
    statement: str
    source: Source
    claim: Build
    vectors: str = "x"
    scalars: str = ""
    hypotheses: Mapping[str, Build] = field(default_factory=dict)
    lemmas: Build | None = None
    remainder: Build | None = None
    proof: Build | None = None
    last_step: str | None = None
    cites: tuple[str, ...] = ()
    remark: str | None = None
    model: Model | None = None
    without: Mapping[str, str | Model] = field(default_factory=dict)
    mutants: tuple[Mutant, ...] = ()
    definition: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Theorem], tuple[str]]:
        # The statements are functions, which do not travel between processes; the id does.
        from ._registry import find

        return find, (self.id,)

    @property
    def kind(self) -> str:
        """``"definition"``, ``"identity"`` (both sides have one normal form) or ``"theorem"``.

        >>> from proofs import find
        >>> find("projection.mean_subtraction").kind, find("projection.idempotent").kind, find("epsilon.interior").kind
        ('definition', 'identity', 'theorem')
        """
        if self.definition:
            return "definition"
        term, relation = self.goal()
        return "identity" if relation == "=" and kernel.term(term) == kernel.term(0) else "theorem"

    @property
    def chapter(self) -> str:
        """First part of the id.

        >>> from proofs import find
        >>> find("standardization.norm").chapter
        'standardization'
        """
        return self.id.partition(".")[0]

    def atoms(self) -> dict[str, Any]:
        """The vectors and scalars as terms of the kernel, by name.

        >>> from proofs import find
        >>> find("projection.symmetric").atoms()
        {'x': x, 'y': y}
        """
        named = {name: kernel.vector(name) for name in self.vectors.split()}
        return named | {name: kernel.scalar(name) for name in self.scalars.split()}

    def assumed(self, mutant: Mutant | None = None) -> dict[str, Formula]:
        """The hypotheses as formulas of the kernel, by their readable form; with `mutant`, those of the wrong variant.

        >>> from lngeom.kernel import formula
        >>> from proofs import find
        >>> for said, hypothesis in find("projection.fixes_hyperplane").assumed().items():
        ...     print(f"{said}: {formula(hypothesis)}")
        x is orthogonal to 1: S(x) = 0
        """
        chosen = self.hypotheses if mutant is None or mutant.hypotheses is None else mutant.hypotheses
        return {said: call(build, self.atoms()) for said, build in chosen.items()}

    def goal(self, mutant: Mutant | None = None) -> Formula:
        """The claim as a formula of the kernel; with `mutant`, the claim of the wrong variant.

        >>> from lngeom.kernel import formula
        >>> from proofs import find
        >>> print(formula(find("projection.fixes_hyperplane").goal()))  # Πx − x
        −S(x)/d = 0
        """
        chosen = self.claim if mutant is None or mutant.claim is None else mutant.claim
        return call(chosen, self.atoms())

    def prove(self, mutant: Mutant | None = None) -> kernel.Proved:
        """Run the proof, or the same proof on a wrong variant, and return the theorem of the kernel.

        >>> from proofs import find
        >>> find("projection.fixes_hyperplane").prove()
        S(x) = 0 ⊢ −S(x)/d = 0
        """
        goal, atoms = self.goal(mutant), self.atoms()
        given = [kernel.assume(formula) for formula in self.assumed(mutant).values()]
        if self.proof is not None:
            proved = call(self.proof, atoms | {"goal": goal, "given": given})
        else:
            lemmas = call(self.lemmas, atoms | {"given": given}) if self.lemmas else ()
            remainder = call(self.remainder, atoms) if self.remainder else None
            proved = kernel.prove(goal, *given, *lemmas, remainder=remainder)
        if proved.conclusion != goal:
            raise kernel.ProofError(f"proved is {kernel.formula(proved.conclusion)}, which is not the goal")
        return proved


def call(build: Build, values: Mapping[str, Any]) -> Any:
    """`build` with those of the values that its parameters name."""
    return build(**{name: values[name] for name in inspect.signature(build).parameters})
