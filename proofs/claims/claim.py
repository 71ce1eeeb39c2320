"""A claim of a document, and what each verdict needs to be settled."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from lngeom.verdicts import CLAIM_VERDICTS, Verdict

from .case import Counterexample


class Document(NamedTuple):
    """A document whose claims are settled here, and the key that selects it."""

    key: str
    title: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A checkable claim of a document, its verdict, and what settles it.

    Attributes:
        id: Name of the document, a dot, and the number of the claim.
        place: Section, equation or table of the document.
        quote: The words of the document.
        told_by: The source of what the document says, if the document itself could not be obtained.
        says: The claim in our notation and words.
        verdict: Verdict
        correction: What is true: the corrected statement, or the claim with its hypotheses, or what was measured.
        why: Why the claim is not true as it stands, or what the verdict is based on.
        misprint: Whether the error is a slip of the print or of a transcription.
        repeats: Id of the claim that says the same; neither misprints nor repetitions count in a headline.
        hypotheses: tuple of str. What is assumed, in the words of the theorems: stated by the document if the verdict
            is ``true``, left out by it if the verdict is ``true_under``.
        where: tuple of str. What the theorems say of the objects that the claim speaks of, in their words. Together
            with the hypotheses it contains all hypotheses of the theorems named.
        theorems: tuple of str. Ids of the theorems that prove the claim or its correction.
        counterexample: Counterexample
        example: Counterexample. Numbers worked out beside a claim that they do not refute.
        arithmetic: Whether the claim is one of numbers alone, which an example settles without a theorem.
        columns: tuple of str. The measurement: columns of result files, ``FILE:COLUMN``.
        prediction: Id of the theorem that predicts what the columns hold.
        citations: tuple of str. Dated sources, ``WORK (YEAR): what it says in our words``.

    >>> from lngeom.proofs.claims import find
    >>> claim = find("gupta.16")
    >>> print(claim.says, claim.verdict, claim.correction)
    ‖μ1‖ = μ‖1‖. true_under ‖μ1‖ = |μ|√d.
    >>> print(claim.counterexample.work().refuted[0].numbers)
    1.4142136 ≠ −1.4142136
    """

    id: str
    place: str
    quote: str = ""
    told_by: str = ""
    says: str
    verdict: Verdict
    correction: str
    why: str = ""
    misprint: bool = False
    repeats: str = ""
    hypotheses: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    theorems: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    example: Counterexample | None = None
    arithmetic: bool = False
    columns: tuple[str, ...] = ()
    prediction: str | None = None
    citations: tuple[str, ...] = ()

    @property
    def is_distinct(self) -> bool:
        """Whether the claim is neither a misprint nor a repetition."""
        return not (self.misprint or self.repeats)

    @property
    def words(self) -> str:
        """The words of the document in quotation marks, or why there are none.

        >>> from lngeom.proofs.claims import find
        >>> print(find("rotating.1").words)
        We could not obtain the text: the claim is in our words, after summaries of SliceGPT.
        """
        if self.quote:
            return f"“{self.quote}”"
        if self.told_by:
            return f"We could not obtain the text: the claim is in our words, after {self.told_by}."
        return "The claim is in our words: no sentence of the text is quoted."

    @property
    def sources(self) -> list[str]:
        """The works that are cited, with their years."""
        return [work for text in self.citations for work in re.findall(r"^(.+? \(\d{4}\)): ", text)]

    @property
    def settled_by(self) -> list[str]:
        """Everything that settles the claim, one line each."""
        kinds = {
            "theorem": self.theorems,
            "counterexample": [self.counterexample.name] if self.counterexample else [],
            "example": [self.example.name] if self.example else [],
            "column": self.columns,
            "prediction": [self.prediction] if self.prediction else [],
            "source": self.sources,
        }
        return [f"{kind} {name}" for kind, names in kinds.items() for name in names]

    def unsettled(self) -> list[str]:
        """The evidence that the verdict needs and the record lacks; empty if the claim is settled."""
        proved = self.arithmetic or bool(self.theorems)
        refuted = self.counterexample is not None
        needs: dict[str, object]
        match self.verdict:
            case "true":
                worked = self.arithmetic and self.example is not None and bool(self.example.show().lines)
                needs = {"a theorem": worked or bool(self.theorems), "no counterexample": not refuted}
            case "true_under":
                needs = {"a theorem": proved, "the hypotheses left out": self.hypotheses}
                needs["a counterexample without them"] = refuted
            case "false":
                needs = {"a counterexample": refuted, "a theorem for the correction": proved, "a reason": self.why}
            case "non_sequitur":
                premises = self.counterexample.work().premises if self.counterexample else []
                needs = {"a model": refuted, "a premise that holds in it": premises, "a reason": self.why}
            case "empirical":
                needs = {"a column of a result file": self.columns}
            case "false_by_source":
                needs = {"a dated source": self.sources, "a reason": self.why}
            case "unverified":
                needs = {"a reason": self.why}
            case "convention":
                needs = {"a dated source": self.sources}
            case _:
                needs = {f"a verdict among {', '.join(CLAIM_VERDICTS)}": False}
        needs["a statement, a place and a correction"] = self.says and self.place and self.correction
        return [need for need, met in needs.items() if not met]
