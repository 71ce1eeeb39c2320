"""Prove the theorems, and check everything about them.

Without an id, all theorems: a table of id, statement, source, status, milliseconds of the proof and refuted wrong
variants, and which of the proofs were replayed in Coq. With the id of a theorem: statement, certificate and
counterexamples. The name of a chapter stands for its theorems. The exit code is 0 only if every check of every
chosen theorem holds.

Example: lngeom prove projection epsilon.interior --json evidence.json
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lngeom.options import argument, json_alone, json_option, option

from .._registry import find, theorems
from .._theorem import Theorem

if TYPE_CHECKING:
    from ..checks import Evidence


@dataclass(frozen=True)
class Options:
    """The theorems, and where the evidence goes."""

    ids: tuple[str, ...] = argument("ID", "theorem (chapter.slug) or chapter; default: all", default=(), nargs="*")
    json: str | None = json_option("the evidence", any_name=True)
    certificates: Path | None = option(None, "write each proof as a file ID.json into DIR", metavar="DIR")
    jobs: int | None = option(None, "processes to check with (default: one per core)")


def run(options: Options) -> int:
    """Check the chosen theorems, print the result, and write the evidence; returns the exit code."""
    import tempfile

    chosen = list(_chosen(options.ids))
    # Hypothesis keeps what it learns about a source file, by default in the current directory.
    with tempfile.TemporaryDirectory() as kept:
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", kept)
        gathered = list(_progress(chosen, options.jobs))
    alone = json_alone({"theorems": [evidence.as_json() for evidence in gathered]}, options.json)
    if not alone:
        print(_page(gathered[0]) if len(gathered) == 1 else _table(gathered))
        print(_replayed(gathered))
    if options.certificates is not None:
        from ..certificates import write

        written = write(chosen, options.certificates)
        print(
            f"{len(written)} certificates written to {options.certificates}", file=sys.stderr if alone else sys.stdout
        )
    return int(any(evidence.faults for evidence in gathered))


def _chosen(ids: Sequence[str]) -> Iterator[Theorem]:
    if not ids:
        yield from theorems()
    for id in ids:
        chapter = [theorem for theorem in theorems() if theorem.chapter == id]
        yield from chapter or [find(id)]


def _replayed(found: list[Evidence]) -> str:
    """Which of the proofs, as they are now, stand in the record of ``lngeom verify``."""
    versions = {one.replayed for one in found if one.replayed}
    missing = [one.theorem.id for one in found if not one.replayed]
    if not missing:
        return f"replayed in Coq {', '.join(versions)} by a checker proved sound there: all {len(found)}"
    shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
    return f"not replayed in Coq as they are now: {len(missing)} of {len(found)} ({shown}); `lngeom verify` does it"


def _gather(id: str) -> Evidence:
    from ..checks import gather

    return gather(find(id))


def _progress(chosen: list[Theorem], jobs: int | None) -> Iterator[Evidence]:
    """Evidence in order, with a counter on the terminal."""
    show = sys.stderr.isatty()
    ids = [theorem.id for theorem in chosen]
    if len(ids) == 1 or jobs == 1:
        results: Iterator[Evidence] = map(_gather, ids)
        yield from _counted(results, ids, show)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        yield from _counted(pool.map(_gather, ids), ids, show)


def _counted(results: Iterator[Evidence], ids: list[str], show: bool) -> Iterator[Evidence]:
    for k, id in enumerate(ids):
        if show:
            print(f"\r\033[K{k + 1}/{len(ids)} {id}", end="", file=sys.stderr, flush=True)
        yield next(results)
    if show:
        print("\r\033[K", end="", file=sys.stderr)


def _table(found: list[Evidence]) -> str:
    rows = [("theorem", "statement", "source", "status", "ms", "refuted")]
    for one in found:
        theorem = one.theorem
        refuted = f"{len(one.mutants)}/{len(theorem.mutants)}"
        rows.append((theorem.id, theorem.statement, str(theorem.source), one.status, f"{one.proof_ms:.1f}", refuted))
    widths = _fit([max(len(row[k]) for row in rows) for k in range(6)])
    lines = [_row(row, widths) for row in rows]
    lines.insert(1, "  ".join("─" * width for width in widths))
    lines += [f"{one.theorem.id}: {fault}" for one in found for fault in one.faults]
    counts = Counter(one.status for one in found)
    kinds = ", ".join(f"{counts[status]} {status}" for status in sorted(counts))
    sorts = Counter(one.theorem.kind for one in found)
    mutants = sum(len(one.mutants) for one in found)
    seconds = sum(one.proof_ms for one in found) / 1000
    lines.append(
        f"\n{len(found)} statements for every d: {kinds}; {mutants} wrong variants refuted; "
        f"the proofs took {seconds:.1f} s\n"
        f"by kind: {sorts['theorem']} theorem, {sorts['identity']} identity, {sorts['definition']} definition"
    )
    return "\n".join(lines)


def _fit(widths: list[int]) -> list[int]:
    """Widths of the columns, with statement and source cut to what a terminal has left for them."""
    if not sys.stdout.isatty():
        return widths
    room = shutil.get_terminal_size().columns - sum(widths) + widths[1] + widths[2] - 2 * (len(widths) - 1)
    statement = min(widths[1], max(20, room * 3 // 5))
    return [widths[0], statement, min(widths[2], max(12, room - statement)), *widths[3:]]


def _row(row: tuple[str, ...], widths: list[int]) -> str:
    cells = []
    for k, (cell, width) in enumerate(zip(row, widths, strict=True)):
        shown = cell if len(cell) <= width else cell[: width - 1] + "…"
        cells.append(shown.rjust(width) if k >= 4 else shown.ljust(width))
    return "  ".join(cells).rstrip()


def _page(one: Evidence) -> str:
    """Everything about one theorem."""
    theorem = one.theorem
    lines = [
        f"{theorem.id}: {theorem.title}",
        "",
        f"  {theorem.statement}",
        "",
        f"Source       {theorem.source}: {theorem.source.says}",
        f"Status       {one.status}, {one.proof_ms:.1f} ms, {one.steps} steps confirmed by the second checker, true at "
        f"{one.models} exact models, {one.measured} times within the error bound in floats",
        "",
        "Hypotheses" if theorem.hypotheses else "Hypotheses   none: true for every d and all values",
    ]
    for said in theorem.hypotheses:
        without = one.hypotheses.get(said, "not shown to be necessary")
        kind = "redundant" if isinstance(without, str) else "without it false at"
        lines += [f"  {said}", f"      {kind}: {without}"]
    lines += ["", "Certificate", *(f"  {line}" for line in one.certificate)]
    if theorem.last_step:
        cites = f" [{'; '.join(theorem.cites)}]" if theorem.cites else ""
        where = " [proved in Coq]" if one.status == "proved in Coq" else ""
        lines += ["", f"Last step    {theorem.last_step}{cites}{where}"]
    if theorem.remark:
        lines += ["", f"Remark       {theorem.remark} (no part of what is proved)"]
    lines += ["", "Wrong variants"] if theorem.mutants else []
    for title, counterexample in one.mutants.items():
        lines += [f"  {title}", f"      false at {counterexample}"]
    lines += ["", *(f"FAULT: {fault}" for fault in one.faults)] if one.faults else []
    return "\n".join(lines)
