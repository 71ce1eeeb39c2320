"""All certificates replayed by a checker that is proved sound in Coq, and the record of it."""

import functools
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lngeom.checker import digest
from lngeom.prover import ProofCertificate
from lngeom.theorems import CheckError, Theorem

from .._coqc import Library
from .coq_text import HEADER, name_of, source
from .export import write

SOURCES = Path(__file__).parent / "coq"
"""The checker, its soundness proof, and the last steps that are proved on top of replayed theorems."""

RESULTS = SOURCES / "results.json"
"""The record of the last run of ``lngeom verify``."""

LIBRARY = ("Base", "Terms", "Values", "Source", "Checker", "Decode", "Readable")
LAST_STEPS = ("LastSteps", "Matrices", "Limits", "Gauge", "Derivatives", "Networks", "Stream", "Bounds")

_LAST_STEP = re.compile(r"(?:^\(\*\* [\w.]+: ((?:(?!\*\)).)*?) \*\)\n)?^Theorem (\w+)__last_step\b", re.M | re.S)
_NO_AXIOM = "Closed under the global context"


_COQ = Library(
    "LnGeom", SOURCES, LIBRARY, "mathcomp", r"(physical path|locate library).*\bmathcomp\b",
    "install both with `apt install coq libcoq-mathcomp-algebra`",
)  # fmt: skip


T = TypeVar("T")


def build_checker(folder: Path) -> None:
    """Compile the checker and the proof that it is sound into `folder`, unless that is where it is.

    Raises:
        InputError: Where Coq or mathcomp is not installed.
    """
    _COQ.build(folder)


def replay(certificates: Iterable[ProofCertificate], folder: Path, name: str = "Replay") -> list[str]:
    """Let the checker in `folder` accept certificates, and Coq their readable corollaries; the names of these in Coq.

    Raises:
        CheckError: Naming the first theorem whose certificate is refused.
    """
    text, first, names = HEADER, {}, list[str]()
    for k, data in enumerate(certificates):
        first[text.count("\n") + 1] = data["id"]
        text += f"Module Export M{k}.\n{source(data)}End M{k}.\n"  # of two certificates names may be the same
        names.append(f"M{k}.{name_of(data['id'])}")
    try:
        _COQ.compile(folder, name, text)
    except CheckError as error:
        line = re.search(r"line (\d+), characters", str(error))
        before = [id for start, id in first.items() if line and start <= int(line[1])]
        raise CheckError(f"Coq refuses {before[-1] if before else name}: {error}") from error
    return names


def audit(theorems: Iterable[str], folder: Path, more: Sequence[str] = ()) -> None:
    """Let Coq say that none of these theorems, by their names there, rests on an axiom, nor one of the modules `more`.

    Raises:
        CheckError: One does.
    """
    names = ", ".join(f"@{name}" for name in ("check_sound", *theorems))
    text = f"{HEADER}From LnGeom Require Import {' '.join(('Replay', *more))}.\n"
    text += f"Definition everything := ({names}).\nPrint Assumptions everything.\n"
    assumed = _COQ.compile(folder, "Audit", text).strip()
    if assumed != _NO_AXIOM:
        raise CheckError(f"something rests on an axiom: {assumed}")


def verify(theorems: Iterable[Theorem], folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Write and replay the certificates, prove the last steps, look for axioms, and let ``coqchk`` check all once more.

    Returns the record: the version of Coq, for each certificate the hash of what Coq was given, the hashes of the
    sources, and the seconds that its parts took.

    Raises:
        InputError: Where Coq or mathcomp is not installed.
        CheckError: If Coq refuses anything, or something rests on an axiom.
    """
    seconds: dict[str, float] = {}

    def timed(what: str, action: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = action()
        seconds[what] = round(time.perf_counter() - start, 1)
        say(f"{what}: {seconds[what]} s")
        return result

    folder.mkdir(parents=True, exist_ok=True)
    version = _COQ.run(folder, "coqc", "-print-version").split()[0]
    certificates, names = write(theorems, folder), list[str]()
    timed("checker and proof of its soundness", lambda: build_checker(folder))
    timed(f"{len(certificates)} certificates replayed", lambda: names.extend(replay(certificates, folder)))
    last = last_steps()
    timed(f"{len(last)} last steps", lambda: [_COQ.compile(folder, name) for name in LAST_STEPS])
    names += [f"{name_of(id)}__last_step" for id in last]
    timed("axioms", lambda: audit(names, folder, LAST_STEPS))
    timed("coqchk", lambda: _COQ.run(folder, "coqchk", "-silent", "-Q", ".", "LnGeom", "LnGeom.Audit"))
    counts = dict.fromkeys(("exported", "replayed"), len(certificates))
    record = {"coq": version, **counts, "axioms": [], "seconds": seconds, "sources": _COQ.hashes()}
    record["certificates"] = {data["id"]: _exported(data) for data in certificates}
    return {**record, "sha256": digest(record)}


def _exported(data: ProofCertificate) -> str:
    """SHA-256 of a certificate, with its words, and of what Coq is given of it."""
    return hashlib.sha256(f"{digest(data)}\n{source(data)}".encode()).hexdigest()


def last_steps() -> dict[str, str]:
    """For each theorem whose last step is stated in Coq the words that stand there above it."""
    text = "\n".join((SOURCES / f"{name}.v").read_text(encoding="utf-8") for name in LAST_STEPS)
    return {name.replace("__", ".", 1): " ".join(words.split()) for words, name in _LAST_STEP.findall(text)}


def replayed(data: ProofCertificate) -> str:
    """The version of Coq in which this very certificate was replayed by the last ``lngeom verify``, or ``""``."""
    record = _results()
    return record["coq"] if record["certificates"].get(data["id"]) == _exported(data) else ""


def last_step_proved(theorem: Theorem) -> bool:
    """Whether the last ``lngeom verify`` proved the last step of a theorem in Coq, under the words that it has."""
    return bool(_results()["coq"]) and theorem.last_step == last_steps().get(theorem.id)


@functools.cache
def _results() -> dict[str, Any]:
    """The record of the last run, if it is unchanged and of the sources as they are; otherwise an empty one."""
    record: Any = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    valid = record.get("sources") == _COQ.hashes() and record.get("sha256") == digest(record)
    return record if valid else {"coq": "", "certificates": {}}
