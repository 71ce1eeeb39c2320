"""What a claim of a document is, the verdicts there are, and what each verdict needs to be settled."""

from dataclasses import dataclass
from typing import NamedTuple

from lngeom.verdicts import CLAIM_VERDICTS, Verdict

from ._case import Counterexample


class Document(NamedTuple):
    """A document whose claims are settled here.

    Attributes:
        key: What to type to select it.
        title: What it is.
        reference: Where it is found.

    >>> from proofs.claims import DOCUMENTS
    >>> [document.key for document in DOCUMENTS][:5]
    ['summary', 'gupta', 'blog', 'riechers', 'digest']
    """

    key: str
    title: str
    reference: str


class Column(NamedTuple):
    """A column of a result file: the measurement that answers a claim.

    Attributes:
        file, name: Of the file, and of the column in it.

    >>> from proofs.claims import find
    >>> print(find("0-8").columns[1])
    study.csv:held_out_loss
    """

    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"


class Citation(NamedTuple):
    """A dated source, and what it says in our words.

    Attributes:
        work
        year
        says

    >>> from proofs.claims import Citation
    >>> print(Citation("Devlin et al., arXiv:1810.04805", 2018, "the released configuration has ε = 1e−12"))
    Devlin et al., arXiv:1810.04805 (2018): the released configuration has ε = 1e−12
    """

    work: str
    year: int
    says: str

    def __str__(self) -> str:
        return f"{self.work} ({self.year}): {self.says}"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A checkable claim of a document, its verdict, and what settles it.

    Attributes:
        id: Number of the document, hyphen, number of the claim.
        place: Section, equation or table of the document.
        says: The claim in our notation and words.
        verdict: Verdict
        correction: What is true: the corrected statement, or the claim with its hypotheses, or what to measure.
        why: Why the claim is not true as it stands, or what the verdict rests on.
        hypotheses: tuple of str. What is assumed, in the words of the theorems: stated by the document if the verdict
            is ``true``, left out by it if the verdict is ``true_under``.
        where: tuple of str. What the theorems say of the objects that the claim speaks of, in their words. Together
            with the hypotheses it contains all hypotheses of the theorems named.
        theorems: tuple of str. Ids of the theorems that prove the claim or its correction.
        counterexample: Counterexample
        example: Counterexample. For a claim of numbers alone: they are worked out, and nothing is refuted.
        arithmetic: Whether the claim is one of numbers alone, which an example settles without a theorem.
        columns: tuple of Column. The measurement.
        prediction: Id of the theorem that predicts what the columns hold.
        figure: Name of the picture that shows it.
        citations: tuple of Citation

    >>> from proofs.claims import find
    >>> claim = find("1-16")
    >>> print(claim.says, claim.verdict, claim.correction)
    ‖μ1‖ = μ‖1‖. false ‖μ1‖ = |μ|√d.
    >>> print(claim.counterexample.work().refuted[0].numbers)
    1.4142136 ≠ −1.4142136
    """

    id: str
    place: str
    says: str
    verdict: Verdict
    correction: str
    why: str = ""
    hypotheses: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    theorems: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    example: Counterexample | None = None
    arithmetic: bool = False
    columns: tuple[Column, ...] = ()
    prediction: str | None = None
    figure: str | None = None
    citations: tuple[Citation, ...] = ()

    @property
    def settled_by(self) -> list[str]:
        """Everything that settles the claim, one line each.

        >>> from proofs.claims import find
        >>> find("1-16").settled_by
        ['theorem projection.mean_vector_norm', 'counterexample negative_mean']
        """
        lines = [f"theorem {id}" for id in self.theorems]
        if self.counterexample is not None:
            lines.append(f"counterexample {self.counterexample.name}")
        if self.example is not None:
            lines.append(f"example {self.example.name}")
        lines += [f"column {column}" for column in self.columns]
        if self.prediction is not None:
            lines.append(f"prediction {self.prediction}")
        return lines + [f"source {citation.work} ({citation.year})" for citation in self.citations]

    def unsettled(self) -> list[str]:
        """What the verdict needs and the record does not have; empty if the claim is settled.

        >>> from dataclasses import replace
        >>> from proofs.claims import find
        >>> find("1-16").unsettled(), replace(find("1-16"), theorems=()).unsettled()
        ([], ['a theorem for the correction'])
        """
        needs = {
            "a statement, a place and a correction": bool(self.says and self.place and self.correction),
            f"a verdict among {', '.join(CLAIM_VERDICTS)}": self.verdict in CLAIM_VERDICTS,
        }
        match self.verdict:
            case "true":
                worked = self.arithmetic and self.example is not None and bool(self.example.show().lines)
                needs["a theorem"] = worked or bool(self.theorems)
                needs["no counterexample"] = self.counterexample is None
            case "true_under":
                needs["a theorem"] = self.arithmetic or bool(self.theorems)
                needs["the hypotheses left out"] = bool(self.hypotheses)
                needs["a counterexample without them"] = self.counterexample is not None
            case "false":
                needs["a counterexample"] = self.counterexample is not None
                needs["a theorem for the correction"] = self.arithmetic or bool(self.theorems)
                needs["a reason"] = bool(self.why)
            case "non_sequitur":
                needs["a model"] = self.counterexample is not None
                needs["a premise that holds in it"] = self.counterexample is not None and bool(
                    self.counterexample.work().premises
                )
                needs["a reason"] = bool(self.why)
            case "empirical":
                needs["a column of a result file"] = bool(self.columns)
            case "false_by_source":
                needs["a dated source"] = bool(self.citations)
                needs["a reason"] = bool(self.why)
            case "convention":
                needs["a dated source"] = bool(self.citations)
        return [need for need, met in needs.items() if not met]
