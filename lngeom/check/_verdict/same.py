"""Whether a row has the same bits in every batch, and in every run: proved, seen, or not."""

from collections.abc import Sequence

from lngeom.sentences import Statement

from .._proving.proof import Proof
from .._tracing.roles import role
from .._trials.bits import AGAIN

REQUIREMENTS = {"batch-invariant": "batch", "deterministic": "run"}
"""What may be required, and in what each result has to be the same."""
BITS = {"not batch invariant": "batch", "not deterministic": "run", "same bits": ""}


def same_bits(proof: Proof, noted: Sequence[Statement]) -> dict[str, dict[str, str]]:
    """How the bits of each result were found to be the same in every batch, and in every run."""
    orders = {_by_role(one.name): one for one in proof.orders}
    notes = {(BITS[note.kind], str(note.values[0])): note for note in noted if note.kind in BITS}
    known = dict[str, dict[str, str]]()
    for what in REQUIREMENTS.values():
        known[what] = {}
        for name in dict.fromkeys(["forward", *orders, *(name for _, name in notes)]):
            order, seen, other = orders.get(name), notes.get(("", name)), notes.get((what, name))
            ways = [way for way in (seen.values[1] if seen else ()) if (way == AGAIN) == (what == "run")]  # type: ignore
            known[what][name] = f"seen in trials ({', '.join(ways)})" if ways else "not known"
            if order is not None:
                compiled = f", if forms compiled for {' and '.join(order.compiled)} sum alike" if order.compiled else ""
                known[what][name] = f"proved{compiled}"
            if other or getattr(order, what, ""):
                known[what][name] = f"not {other}" if other else f"not: {getattr(order, what)}"
    return known


def told(known: dict[str, dict[str, str]]) -> str:
    """All in one line; results with the same words are named together."""
    alike = {what: {t: [n for n in of if of[n] == t] for t in of.values()} for what, of in known.items()}
    words = {w: [f"{' and '.join(n)} " * (len(known[w]) > 1) + t for t, n in of.items()] for w, of in alike.items()}
    return "; ".join(f"in every {what}: {', '.join(texts)}" for what, texts in words.items())


def _by_role(name: str) -> str:
    known = role(name.removeprefix("d/d").rpartition("_")[2])
    return f"d/d{known}" if known in ("gain", "bias") else name
