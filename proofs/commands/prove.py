"""Prove the theorems, and check everything about them.

Without an id, print a table of all theorems: id, statement, source, status, milliseconds of the proof, number of wrong
variants refuted, and whether the proof was replayed in Coq. With the id of a theorem, print its statement, certificate
and counterexamples. Give a chapter to prove all its theorems, or a Python file to prove the theorems in it. If no proof
is found, the verdict is refuted (there is a counterexample) or undecided. With several theorems, each verdict goes to
standard error as soon as it is known. The exit code is 0 only if every check of every chosen theorem holds.

Examples:
    lngeom prove
    lngeom prove projection epsilon.interior --json evidence.json
    lngeom prove lemmas.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from lngeom.errors import InputError, LngeomError
from lngeom.options import argument, json_alone, json_option, option, printable
from lngeom.theorems import Theorem

from .._registry import away_from, blamed_on, find, stated_in, theorems
from .._terminal import show

if TYPE_CHECKING:
    from .._evidence import Evidence


_PIPED = 400
"""Columns of the table where no terminal limits it: nothing is cut."""


@dataclass(frozen=True)
class Options:
    """The theorems, and where the evidence goes."""

    ids: tuple[str, ...] = argument("ID", "theorem (chapter.slug) or chapter; default: all", default=(), nargs="*")
    json: str | None = json_option("the evidence", any_name=True)
    certificates: Path | None = option(None, "write each proof as a file ID.json into DIR", metavar="DIR")
    jobs: int | None = option(None, "processes to check with (default: one per core)")
    verbose: bool = option(False, "also show unproved statements in normal form", "-v", "--verbose")


def run(options: Options) -> int:
    """Check the chosen theorems, print the result, and write the evidence; returns the exit code."""
    own = [id for id in options.ids if id.endswith(".py")]
    # Hypothesis keeps what it learns about a source file, by default in the current directory.
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", folder)
        records, pages, written, unread = away_from(own, partial(_checked, options, " ".join(["lngeom verify", *own])))
    alone = json_alone({"theorems": records}, options.json)
    for page in () if alone else pages:
        print(printable(page)) if isinstance(page, str) else show(page, piped=_PIPED)
    if options.certificates is not None:
        print(f"{written} certificates written to {options.certificates}", file=sys.stderr if alone else sys.stdout)
    for error in unread:
        print(printable(f"lngeom prove: {error}"), file=sys.stderr)
    return 2 if unread else int(any(record["faults"] for record in records))


def _checked(options: Options, command: str) -> tuple[list[dict[str, Any]], list[str | Table], int, list[str]]:
    """The evidence as JSON, the text to show, how many certificates are written, and what could not be read."""
    chosen, unread = _chosen(options.ids)
    every = list(_progress(chosen, options.jobs))
    unread += [evidence.unread for evidence in every if evidence.unread]
    gathered = [evidence for evidence in every if not evidence.unread]
    if not gathered:
        return [], [], 0, unread
    pages = [_page(gathered[0])] if (len(gathered) == 1) else [_table(gathered), _totals(gathered)]
    count = 0
    if options.certificates is not None:
        from ..certificates import write

        count = len(write((each.theorem for each in gathered if each.proved), options.certificates))
    shown = [*_faults(gathered, verbose=options.verbose), *pages, _replayed(gathered, command)]
    return [evidence.as_json() for evidence in gathered], shown, count, unread


def _chosen(ids: Sequence[str]) -> tuple[list[Theorem], list[str]]:
    """The theorems, and the files and ids of which there are none."""
    chosen, unread = [] if ids else [*theorems()], list[str]()
    for id in ids:
        try:
            own = stated_in(Path(id)) if id.endswith(".py") else [t for t in theorems() if t.chapter == id]
            chosen += own or [find(id)]
        except LngeomError as error:
            unread.append(str(error))
    return chosen, unread


def _replayed(gathered: list[Evidence], command: str) -> str:
    """Which of the proofs, as they are now, stand in the record of ``lngeom verify``."""
    versions = {evidence.replayed for evidence in gathered if evidence.replayed}
    proved = [evidence for evidence in gathered if not evidence.faults]
    missing = [evidence.theorem.id for evidence in proved if not evidence.replayed]
    if not missing:
        replayed = (
            f"replayed in Coq {', '.join(versions)} by a checker proved sound there: {len(proved)} of {len(proved)}"
        )
        return replayed if proved else "nothing is proved, so there is nothing to replay in Coq"
    ids = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
    return f"not replayed in Coq as they are now: {len(missing)} of {len(proved)} ({ids}); run: {command}"


def _gather(theorem: Theorem) -> Evidence:
    from lngeom.theorems.checks import line_of

    from .._evidence import Evidence, gather

    try:
        with blamed_on(theorem.file):
            return gather(theorem)
    except Exception as error:
        line = line_of(theorem, error) or theorem.body.__code__.co_firstlineno
        why = str(error) if isinstance(error, LngeomError) else f"{type(error).__name__}: {error}"
        said = why if isinstance(error, InputError) else f"{theorem.file}:{line}: {why}"
        return Evidence(theorem, unread=f"{theorem.id}: {said}")


def _progress(chosen: list[Theorem], jobs: int | None) -> Iterator[Evidence]:
    """Evidence in order, each verdict of several told at once."""
    with ExitStack() as stack:
        results: Iterator[Evidence] = map(_gather, chosen)
        if len(chosen) > 1 and jobs != 1:
            results = stack.enter_context(ProcessPoolExecutor(jobs)).map(_gather, chosen)
        for evidence in results:
            if len(chosen) > 1 and not evidence.unread:
                print(f"{evidence.theorem.id}: {_status(evidence)}", file=sys.stderr, flush=True)
            yield evidence


def _status(evidence: Evidence) -> str:
    return evidence.status + ", with 1/0 = 0" * bool(evidence.undefined)


def _table(gathered: list[Evidence]) -> Table:
    table = Table("theorem", "statement", "source", "status", "ms", "refuted", box=box.SIMPLE_HEAD, show_edge=False)
    for column in table.columns:
        column.no_wrap = column.header not in ("statement", "source")
        column.justify = "right" if column.header in ("ms", "refuted") else "left"
    for evidence in gathered:
        theorem = evidence.theorem
        cells = (theorem.id, theorem.statement or theorem.title, str(theorem.source), _status(evidence))
        numbers = (f"{evidence.proof_ms:.1f}", f"{len(evidence.mutants)}/{len(theorem.wrongs)}")
        table.add_row(*map(Text, map(printable, cells + numbers)))
    return table


def _faults(gathered: list[Evidence], *, verbose: bool) -> list[str]:
    """The failures, which are printed first."""
    lines = list[str]()
    for evidence in gathered:
        lines += [f"FAULT: {fault}" for fault in evidence.faults]
        lines += [f"  {dump}" for dump in evidence.dumps if verbose]
    return [*lines, ""] if lines else []


def _totals(gathered: list[Evidence]) -> str:
    """Numbers of statements by status, and of those that hold by kind."""
    status = Counter(evidence.status for evidence in gathered)
    kinds = Counter(evidence.theorem.kind for evidence in gathered if not evidence.faults)
    mutants = sum(len(evidence.mutants) for evidence in gathered)
    seconds = sum(evidence.proof_ms for evidence in gathered) / 1000
    counts = ", ".join(f"{count} {name}" for name, count in sorted(status.items()))
    return (
        f"\ntheorems for every d: {kinds['theorem']}, not counting {_several(kinds['lemma'], 'lemma')} of school "
        f"algebra and {_several(kinds['definition'], 'definition')}\n"
        f"of all: {counts}; {_several(mutants, 'wrong variant')} refuted; the proofs took {seconds:.1f} s"
    )


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _page(evidence: Evidence) -> str:
    """Everything about one theorem but what failed."""
    theorem, ok = evidence.theorem, not evidence.faults
    lines = [
        f"{theorem.id}: {theorem.title}",
        *(["", f"  {theorem.statement}"] if theorem.statement else []),
        *(["", f"As the library computes it{', which is what is proved' * ok}"] if evidence.proved else []),
        *(f"  {line}" for line in evidence.proved),
        "",
        *([f"Source       {theorem.source}: {theorem.source.says}"] if theorem.source.work else []),
        f"Status       {evidence.status}, {evidence.proof_ms:.1f} ms"
        + f", {_several(evidence.steps, 'step')} confirmed by the checker, true at {evidence.models} exact sample "
        f"points; in floats, within the error bound in {_several(evidence.measured, 'test')}" * ok,
        *[f"             with 1/0 = 0: the library divides by 0 at {evidence.undefined}"] * bool(evidence.undefined),
        "",
        "Hypotheses" if theorem.conditions else "Hypotheses   none: the statement holds for every d and all values",
    ]
    for hypothesis in theorem.hypotheses:
        without = evidence.hypotheses.get(hypothesis, "not shown to be necessary")
        kind = "redundant" if isinstance(without, str) else "without it false at"
        lines += [f"  {hypothesis}", f"      {kind}: {without}"]
    for hypothesis in (label for label in theorem.conditions if label not in theorem.hypotheses):
        lines += [f"  {hypothesis}", "      by the kind of its parameter"]
    lines += ["", "Certificate", *(f"  {line}" for line in evidence.certificate)] if evidence.certificate else []
    if theorem.last_step:
        cites = f" [{'; '.join(theorem.cites)}]" if theorem.cites else ""
        where = " [proved in Coq]" if evidence.status == "proved in Coq" else ""
        lines += ["", f"Last step    {theorem.last_step}{cites}{where}"]
    if theorem.remark:
        lines += ["", f"Remark       {theorem.remark} (no part of what is proved)"]
    lines += ["", "Wrong variants"] if theorem.wrongs else []
    for title, counterexample in evidence.mutants.items():
        lines += [f"  {title}", f"      false at {counterexample}"]
    return "\n".join(lines)
