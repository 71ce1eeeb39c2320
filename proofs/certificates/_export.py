"""Certificates of theorems: the statement as the library's own functions compute it, with each step of the proof."""

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from lngeom.errors import InputError
from lngeom.kernel import Proved, Recorded, Table, certified
from lngeom.theorems import Theorem

from ._reading import Certificate
from ._recheck import Refused, loaded


def certificates(theorem: Theorem, proved: list[Proved] | None = None) -> list[Certificate]:
    """The proof of each assert of a theorem as plain data; `proved`, if given, saves proving it again.

    The last one has the id of the theorem; those before it have a number appended.
    """
    proved = proved or theorem.prove()
    last = len(proved) - 1
    return [
        _certificate(theorem, k, proof, theorem.id + (f"_{k + 1}" if k < last else ""))
        for k, proof in enumerate(proved)
    ]


def certificate(theorem: Theorem) -> Certificate:
    """The proof of a theorem of one assert as plain data: lists, strings and integers.

    >>> from proofs import find
    >>> from proofs.certificates import certificate
    >>> data = certificate(find("projection.fixes_hyperplane"))
    >>> data["terms"][:3], [step["rule"] for step in data["steps"]]
    ([['v', 'x'], ['q', 1, 1], ['*', 1, 0]], ['assume', 'combine'])
    """
    return certificates(theorem)[-1]


def _certificate(theorem: Theorem, k: int, proved: Proved, id: str) -> Certificate:
    table = Table()
    words = {"title": theorem.title, "statement": theorem.statement, "last_step": theorem.last_step or ""}
    return Certificate(**certified(id, proved, traced(theorem, table, k), table, words))


def write(theorems: Iterable[Theorem], folder: Path) -> list[Certificate]:
    """Write ``ID.json`` for each assert of each theorem; returns the certificates.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from proofs import find
    >>> from proofs.certificates import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write([find("projection.idempotent")], Path(folder))
    ...     [file.name for file in Path(folder).iterdir()]
    ['projection.idempotent.json']
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [data for theorem in theorems for data in certificates(theorem)]
    for data in written:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        (folder / f"{data['id']}.json").write_text(text + "\n", encoding="utf-8")
    return written


def read(file: Path) -> list[Certificate]:
    """The certificates of a file, one or a list of them.

    Raises:
        InputError: It holds none.
    """
    try:
        data = loaded(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, Refused) as error:
        raise InputError(f"{file} cannot be read as JSON: {error}; `lngeom check --certificate` writes one") from error
    records = data if isinstance(data, list) else [data]
    if not records or not all(isinstance(c, dict) and "steps" in c for c in records):
        raise InputError(f"{file} holds no certificates: `lngeom check --certificate FILE` writes them")
    return records


def traced(theorem: Theorem, table: Table, k: int = -1) -> tuple[list[list[int | str]], list[int | str]]:
    """Hypotheses and k-th claim of a theorem as the library computes them, each the index of a node and a relation.

    The table gets the parameters, then what the hypotheses and the claim are made of, in the order in which they are
    read: what a body names, or computes for its wrong variants, changes nothing.
    """
    raw = Table()
    listing = theorem.listed(lambda name, vector: Recorded(raw, raw.place("v" if vector else "s", name), vector))
    for name, kind in theorem.kinds.items():
        table.place("v" if kind == "vector" else "s", name)

    def recorded(term: Recorded | Fraction | float, relation: str) -> list[int | str]:
        return [table.taken(raw, term.place) if isinstance(term, Recorded) else table.number(term), relation]

    return [recorded(*hypothesis.formula) for hypothesis in listing.hypotheses.values()], recorded(*listing.goals[k])
