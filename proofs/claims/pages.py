"""The ledger in words, for a terminal of any width: a table of claims, and one claim explained."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lngeom.verdicts import CLAIM_VERDICTS, MEANINGS, Verdict

from .._registry import find as find_theorem
from .case import WorkedExample
from .claim import Claim
from .texts import DOCUMENTS, document_of

_STYLES: dict[Verdict, str] = {
    "true": "green",
    "true_under": "cyan",
    "false": "bold red",
    "false_by_source": "red",
    "non_sequitur": "yellow",
    "empirical": "blue",
    "convention": "magenta",
    "unverified": "dim",
}
_MARKS = {"claimed": ("✗", "red"), "true": ("✓", "green"), "given": ("•", "green")}
_WHY_NOT = ("false", "false_by_source", "non_sequitur")
"""Verdicts whose reasons speak against the claim."""
_CORRECTIONS: dict[Verdict, str] = {
    "true": "It is true",
    "true_under": "It is true",
    "empirical": "Measured",
    "convention": "In fact",
}
_HYPOTHESES: dict[Verdict, str] = {"true": "Stated there", "true_under": "Needed"}
_EXAMPLES: dict[Verdict, str] = {"true_under": "Without", "false": "Refuted", "non_sequitur": "Counterexample"}


def ledger(chosen: Sequence[Claim]) -> Group:
    """Every claim with its verdict and correction, document by document, and the counts."""
    parts: list[RenderableType] = []
    counts: dict[str, Counter[Verdict]] = {}
    for document in DOCUMENTS:
        of = [claim for claim in chosen if document_of(claim) is document]
        if of:
            parts += [Text(document.title, "bold"), Text(document.reference, "dim"), "", _entries(of), ""]
            counts[document.key] = Counter(claim.verdict for claim in of)
    present: list[Verdict] = [verdict for verdict in CLAIM_VERDICTS if any(row[verdict] for row in counts.values())]
    meanings = _grid(15)
    for verdict in present:
        meanings.add_row(_named(verdict), Text(MEANINGS[verdict]))
    rows = {key: [row[verdict] for verdict in present] for key, row in counts.items()}
    last = Text("`lngeom claims ID` explains one claim, with its counterexample worked through.")
    return Group(*parts, _indented(_counts(present, rows)), "", _indented(meanings), "", _indented(last))


def explanation(claim: Claim) -> Group:
    """The claim, why it fails, the counterexample worked through, and the corrected statement."""
    grid = _grid(14, gap=2)
    for label, content in _items(claim):
        grid.add_row(Text(label, "bold"), Text(content) if isinstance(content, str) else content)
    head = Text.assemble((claim.id, "bold"), "  ", _named(claim.verdict))
    return Group(head, Text(f"{document_of(claim).title}, {claim.place}", "dim"), "", _indented(grid))


def _named(verdict: Verdict) -> Text:
    return Text(verdict.replace("_", " "), _STYLES[verdict])


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


def _grid(*widths: int, gap: int = 1) -> Table:
    """A table without lines: columns of these widths, and one that takes the rest."""
    grid = Table.grid(padding=(0, gap))
    for width in widths:
        grid.add_column(width=width, no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _entries(claims: Sequence[Claim]) -> Padding:
    grid = _grid(max((len(claim.id) for claim in claims), default=0), 15)
    for claim in claims:
        correction = _grid(1)
        correction.add_row("→", Text(claim.correction), style="dim")
        grid.add_row(claim.id, _named(claim.verdict), Group(Text(claim.says), correction))
    return _indented(grid)


def _counts(verdicts: Sequence[Verdict], rows: dict[str, list[int]]) -> Table:
    table = Table("", box=None, pad_edge=False, header_style="bold")
    for head in (*(verdict.replace("_", " ") for verdict in verdicts), "all"):
        table.add_column(head, justify="right")
    for key, numbers in rows.items():
        table.add_row(key, *map(str, numbers), str(sum(numbers)))
    if len(rows) > 1:
        sums = [sum(column) for column in zip(*rows.values(), strict=True)]
        table.add_row("all", *map(str, sums), str(sum(sums)), style="bold")
    return table


def _said(claim: Claim) -> Iterator[tuple[str, RenderableType]]:
    yield "The claim", claim.says
    yield "Quote", claim.words
    if claim.misprint:
        yield "", "A misprint, or a slip of the transcription that was read."
    if claim.repeats:
        yield "", f"The same as {claim.repeats}."


def _items(claim: Claim) -> Iterator[tuple[str, RenderableType]]:
    """The paragraphs of an explanation, each under its label, with empty ones between."""
    yield from _said(claim)
    if claim.why:
        yield from (("", ""), ("Why it fails" if claim.verdict in _WHY_NOT else "Why", claim.why))
    yield from (("", ""), (_CORRECTIONS.get(claim.verdict, "Instead"), claim.correction))
    if claim.hypotheses:
        yield from (("", ""), (_HYPOTHESES.get(claim.verdict, "Given"), "; ".join(claim.hypotheses)))
    if claim.where:
        yield from (("", ""), ("Where", "; ".join(claim.where)))
    if claim.counterexample is not None:
        yield from (("", ""), (_EXAMPLES.get(claim.verdict, "An example"), claim.counterexample.says))
        yield from (("", ""), ("", _worked(claim.counterexample.work())))
    if claim.example is not None:
        yield from (("", ""), ("Worked out", claim.example.says), ("", ""), ("", _worked(claim.example.show())))
    for k, id in enumerate(claim.theorems):
        theorem = find_theorem(id)
        assuming = f"; assuming {', '.join(theorem.hypotheses)}" if theorem.hypotheses else ""
        yield from (("", ""),) if not k else ()
        yield "Proved" if not k else "", f"{theorem.title}: {theorem.statement}"
        yield "", Text(f"`lngeom prove {id}`{assuming}", "dim")
    if claim.columns:
        yield from (("", ""), ("Measured by", ", ".join(claim.columns)))
    if claim.prediction is not None:
        predicted = find_theorem(claim.prediction)
        yield "Predicted by", f"{predicted.id}, {predicted.statement}"
    if claim.citations:
        yield from (("", ""), ("Sources", "\n".join(claim.citations)))


def _worked(case: WorkedExample) -> Table:
    """The blackboard: values and findings, and statements with their marks, each with its numbers beside it."""
    grid = Table.grid(padding=(0, 1))
    for _ in range(4):
        grid.add_column(overflow="fold")
    for line in case.lines:
        mark, style = _MARKS.get(line.kind, ("", ""))
        grid.add_row(mark, Text(line.says), "" if mark else "=", Text(line.numbers), style=style)
    return grid
