"""The ledger in words: a table of claims, and one claim explained, for a terminal of any width."""

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from lngeom.verdicts import CLAIM_VERDICTS, MEANINGS, Verdict

from .._registry import find as find_theorem
from ._case import Case, Line
from ._claim import Claim
from ._registry import DOCUMENTS, counts, document_of

Styles = dict[str, str]

PLAIN: Styles = {}
COLORED: Styles = {
    "title": "1",
    "quiet": "2",
    "true": "32",
    "true_under": "36",
    "false": "1;31",
    "false_by_source": "31",
    "non_sequitur": "33",
    "empirical": "34",
    "convention": "35",
    "holds": "32",
    "fails": "31",
}
"""ANSI attributes by what they mark."""

_MARKS = {"claimed": ("fails", "✗"), "true": ("holds", "✓"), "given": ("holds", "•")}
_LABEL, _NAME, _STATEMENT = 12, 40, 50
"""Columns of an explanation: widest label, name of a number, and statement that its numbers stand beside."""


def span(text: str) -> int:
    """Columns that `text` takes in a terminal; combining marks, as in 1̂, take none."""
    return sum(not unicodedata.combining(character) for character in text)


def padded(text: str, width: int) -> str:
    """`text` with blanks up to a width."""
    return text + " " * (width - span(text))


def named(verdict: Verdict) -> str:
    """A verdict as words."""
    return verdict.replace("_", " ")


class Page:
    """Builds text of a given width, with or without colors."""

    def __init__(self, width: int, styles: Styles) -> None:
        self.width = width
        self.styles = styles

    def paint(self, text: str, style: str) -> str:
        """`text` in a style, if there are colors."""
        code = self.styles.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def wrap(self, text: str, indent: str, first: str | None = None) -> list[str]:
        """Lines of `text`, indented; the first one by `first`."""
        return textwrap.wrap(
            text,
            max(self.width, 40),
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    # ------------------------------------------------------------------------------------------------ the ledger

    def ledger(self, chosen: Sequence[Claim]) -> list[str]:
        """Every claim with its verdict and what is true, document by document, and the counts."""
        lines: list[str] = []
        for document in DOCUMENTS:
            of = [claim for claim in chosen if document_of(claim) is document]
            if not of:
                continue
            lines += [self.paint(document.title, "title"), *self._quiet(document.reference, ""), ""]
            for claim in of:
                lines += self._entry(claim)
            lines.append("")
        return lines + self._counts(chosen)

    def _entry(self, claim: Claim) -> list[str]:
        indent = " " * 24
        first = f"  {claim.id:<5} {self.paint(f'{named(claim.verdict):<15}', claim.verdict)} "
        # The first line is shorter by what stands before it, so it is wrapped with a stand-in of that width.
        head, *rest = self.wrap(claim.says, indent, indent)
        corrected = self.wrap(f"→ {claim.correction}", indent + "  ", indent)
        return [first + head[len(indent) :], *rest, *(self.paint(line, "quiet") for line in corrected)]

    def _quiet(self, text: str, indent: str) -> list[str]:
        return [self.paint(line, "quiet") for line in self.wrap(text, indent)]

    def _counts(self, chosen: Sequence[Claim]) -> list[str]:
        table = counts(chosen)
        present: list[Verdict] = [verdict for verdict in CLAIM_VERDICTS if any(row[verdict] for _, row in table)]
        heads = [*map(named, present), "all"]
        width = max((len(document.key) for document, _ in table), default=0)

        def row(title: str, numbers: Sequence[int]) -> str:
            cells = "  ".join(f"{n:>{len(head)}}" for n, head in zip(numbers, heads, strict=True))
            return f"  {title:<{width}}  {cells}"

        lines = [self.paint(f"  {'':<{width}}  {'  '.join(heads)}", "title")]
        for document, row_counts in table:
            of = [row_counts[verdict] for verdict in present]
            lines.append(row(document.key, [*of, sum(of)]))
        if len(table) > 1:
            sums = [sum(row_counts[verdict] for _, row_counts in table) for verdict in present]
            lines.append(self.paint(row("all", [*sums, sum(sums)]), "title"))
        lines += [""]
        for verdict in present:
            first = f"  {self.paint(f'{named(verdict):<15}', verdict)} "
            lines.append(first + MEANINGS[verdict].says)
        return [*lines, "", "  `lngeom claims ID` explains one of them, with its counterexample worked through."]

    # ---------------------------------------------------------------------------------------------- one of them

    def explanation(self, claim: Claim) -> list[str]:
        """What is said, why it fails, the counterexample worked through, and what is true instead."""
        head = f"{self.paint(claim.id, 'title')}  {self.paint(named(claim.verdict), claim.verdict)}"
        lines = [head, *self._quiet(f"{document_of(claim).title}, {claim.place}", ""), ""]
        lines += self._item("The claim", claim.says)
        if claim.why:
            lines += ["", *self._item("Why" if claim.verdict in _PLAINLY else "Why not", claim.why)]
        lines += ["", *self._item(_CORRECTIONS.get(claim.verdict, "Instead"), claim.correction)]
        if claim.hypotheses:
            said = {"true": "Stated there", "true_under": "Needed"}.get(claim.verdict, "Given")
            lines += ["", *self._item(said, "; ".join(claim.hypotheses))]
        if claim.where:
            lines += ["", *self._item("Where", "; ".join(claim.where))]
        if claim.counterexample is not None:
            example = claim.counterexample
            lines += ["", *self._item(_EXAMPLES.get(claim.verdict, "An example"), example.says), ""]
            lines += self._worked(example.work())
        if claim.example is not None:
            lines += ["", *self._item("Worked out", claim.example.says), "", *self._worked(claim.example.show())]
        if claim.theorems:
            lines += ["", *self._theorems(claim.theorems)]
        if claim.columns:
            lines += ["", *self._item("Measured by", ", ".join(map(str, claim.columns)))]
        if claim.prediction is not None:
            predicted = find_theorem(claim.prediction)
            lines += self._item("Predicted by", f"{predicted.id}, {predicted.statement}")
        if claim.figure is not None:
            lines += ["", *self._item("Picture", f"`lngeom figure {claim.figure}`")]
        for k, citation in enumerate(claim.citations):
            lines += ["", *self._item("Sources", str(citation))] if not k else self._item("", str(citation))
        return lines

    def _item(self, label: str, text: str) -> list[str]:
        indent = " " * (_LABEL + 4)
        first, *rest = self.wrap(text, indent, indent)
        return [f"  {self.paint(f'{label:<{_LABEL}}', 'title')}  {first[len(indent) :]}", *rest]

    def _worked(self, case: Case) -> Iterator[str]:
        """The blackboard: values and findings in one column of names, statements with their marks
        and numbers.
        """
        indent = " " * (_LABEL + 4)
        values = [line for line in case.lines if line.kind in ("let", "find")]
        column = max((span(line.said) for line in values if span(line.said) <= _NAME), default=0)
        stated = [line for line in case.lines if line.kind not in ("let", "find")]
        wide = max((span(line.said) for line in stated if span(line.said) <= _STATEMENT), default=0)
        for line in case.lines:
            if line.kind in ("let", "find"):
                first = f"{indent}  {padded(line.said, column)} = "
                if span(first) + span(line.numbers) <= self.width:
                    yield first + line.numbers
                else:
                    yield from self.wrap(f"{line.said} = {line.numbers}", indent + "    ", indent + "  ")
                continue
            style, mark = _MARKS[line.kind]
            for k, part in enumerate(self._statement(line, f"{indent}{mark} ", wide)):
                yield self.paint(part, style) if k or span(line.said) <= wide else part

    def _statement(self, line: Line, head: str, wide: int) -> list[str]:
        """A statement and its numbers beside it, or below it where they do not fit."""
        one = f"{head}{padded(line.said, wide)}   {line.numbers}"
        if span(line.said) <= wide and span(one) <= self.width:
            return [one]
        below = " " * (span(head) + 2)
        return [*self.wrap(line.said, " " * span(head), head), *self.wrap(line.numbers, below)]

    def _theorems(self, ids: Sequence[str]) -> list[str]:
        lines: list[str] = []
        for k, id in enumerate(ids):
            theorem = find_theorem(id)
            lines += self._item("Proved" if not k else "", f"{theorem.title}: {theorem.statement}")
            detail = f"`lngeom prove {id}`"
            if theorem.hypotheses:
                detail += f"; assuming {', '.join(theorem.hypotheses)}"
            lines += self._quiet(detail, " " * (_LABEL + 4))
        return lines


_PLAINLY = ("true", "true_under", "empirical", "convention")
"""Verdicts whose reasons speak for the claim, or beside it."""
_CORRECTIONS: dict[Verdict, str] = {
    "true": "It is true",
    "true_under": "It is true",
    "empirical": "To measure",
    "convention": "In fact",
}
_EXAMPLES: dict[Verdict, str] = {"true_under": "Without", "false": "Refuted", "non_sequitur": "A model"}
