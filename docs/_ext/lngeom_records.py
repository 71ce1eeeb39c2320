"""Records of the checks and of the committed runs, and which rests on which.

An edge is there where
a record says so: a claim names the theorem that settles it, a verdict of a committed run names the theorem that
predicts it, a page names the theorem that it uses, and a certificate passes through the conclusion of another theorem.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from lngeom.empirical.observe import TABLE

_REFERENCE = re.compile(r"\{prf:ref\}`(?:[^`<]*<)?([\w.]+)>?`")


class Item(NamedTuple):
    """A theorem, claim, prediction or page: what it rests on, and how another page names it."""

    kind: str
    rests_on: tuple[str, ...]
    words: str


def cell(text: str) -> str:
    """`text` as it must stand in a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


def table(head: Sequence[str], rows: Iterable[Iterable[str]], *, numbers: int = 0) -> str:
    """A Markdown table; the last columns, `numbers` of them, hold numbers."""
    rules = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rules, *rows))


def worded(verdict: str) -> str:
    """A verdict as words."""
    return verdict.replace("_", " ")


def load(app: Sphinx, name: str) -> Any:
    """Content of a JSON file of the folder of evidence; the page at hand is written anew when it changes."""
    path = Path(app.confdir) / app.config.lngeom_evidence / name
    if not path.exists():
        raise ExtensionError(f"{path} is missing: build the site with `make docs`, which writes the evidence first")
    app.env.note_dependency(str(path))
    return _read(path)


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def ledger_pages(app: Sphinx) -> dict[str, str]:
    """For each document its page of the ledger, as the pages themselves say."""
    return {
        name: path.stem
        for path in (Path(app.srcdir) / "ledger").glob("*.md")
        for name in re.findall(r"^```\{ledger\} (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }


def items(app: Sphinx) -> dict[str, Item]:
    """All nodes by name: theorems, claims, predictions of committed runs, pages of results."""
    for name in ("theorems.json", "claims.json"):
        load(app, name)
    return _items(Path(app.srcdir), Path(app.confdir) / app.config.lngeom_evidence)


@cache
def _items(docs: Path, evidence: Path) -> dict[str, Item]:
    theorems = [theorem["id"] for theorem in _read(evidence / "theorems.json")["theorems"]]
    known = set(theorems)
    through = passes_through({path.stem: _read(path) for path in (evidence / "certificates").glob("*.json")})
    named = _named(docs / "derivations")

    def rests(id: str) -> tuple[str, ...]:
        # The asserts of a theorem before its last have certificates of their own, with a number behind its id.
        parts = {other if other in known else other.rpartition("_")[0] for other in through[id]}
        return tuple(sorted((parts - {id}) | (named[id] & known)))

    found = {id: Item("theorem", rests(id), f"{{prf:ref}}`{id} <{id}>`") for id in theorems}
    for claim in _read(evidence / "claims.json"):
        settling = settled(claim, "theorem") or settled(claim, "prediction")
        read = ", ".join(f"`{one}`" for one in settled(claim, "column"))
        words = f"{{ref}}`claim {claim['id']} <claim-{claim['id']}>`, {worded(claim['verdict'])}"
        found[f"claim {claim['id']}"] = Item("claim", settling, words + f" (with {read})" * bool(read))
    for table in sorted((docs / "results").rglob("predictions.csv")):
        where = table.parent.relative_to(docs).as_posix()
        for (prediction, theorem), verdicts in _verdicts(table).items():
            counts = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
            name, words = f"{prediction} in {table.parent.name}", f"{prediction}: {counts} ({{doc}}`/{where}`)"
            found[name] = Item("prediction", (theorem,), words)
    for page in sorted((docs / "results").rglob("*.md")):
        text, where = page.read_text(encoding="utf-8"), page.relative_to(docs).with_suffix("").as_posix()
        title = text.partition("# ")[2].partition("\n")[0]
        mentioned = tuple(sorted(known & set(_REFERENCE.findall(text))))
        found[f"page {where}"] = Item("page", mentioned, f"{title} ({{doc}}`/{where}`)")
    return found


def users(items: dict[str, Item]) -> dict[str, list[str]]:
    """For each node the names of those that rest on it."""
    used: dict[str, list[str]] = defaultdict(list)
    for name, item in items.items():
        for other in item.rests_on:
            used[other].append(name)
    return used


def address(theorem: str) -> str:
    """Where a theorem stands on the site."""
    return f"derivations/{theorem.partition('.')[0]}.html#{theorem}"


def settled(claim: dict[str, Any], kind: str) -> tuple[str, ...]:
    """Names of one kind, such as ``theorem``, by which a claim is settled."""
    return tuple(one.removeprefix(f"{kind} ") for one in claim["settled_by"] if one.startswith(f"{kind} "))


def coq_record() -> dict[str, Any]:
    """The record that `lngeom verify` wrote when it last replayed the certificates in Coq."""
    return _read(Path(__file__).parents[2] / "proofs" / "certificates" / "coq" / "results.json")


def columns(theorem: str) -> list[str]:
    """Columns of ``sites.csv`` that the theorem explains, or by which they are computed."""
    return [column.name for column in TABLE if column.theorem == theorem]


def _named(derivations: Path) -> dict[str, set[str]]:
    """The names that the text after each theorem refers to, up to the next heading."""
    named: dict[str, set[str]] = defaultdict(set)
    for page in derivations.glob("*.md"):
        label = None
        for line in page.read_text(encoding="utf-8").splitlines():
            label = next(iter(re.findall(r"^:label: (\S+)$", line)), None if line.startswith("#") else label)
            if label is not None:
                named[label] |= set(_REFERENCE.findall(line)) - {label}
    return named


def _verdicts(table: Path) -> dict[tuple[str, str], list[str]]:
    """The verdicts of a run by prediction and theorem."""
    verdicts: dict[tuple[str, str], list[str]] = defaultdict(list)
    with table.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            verdicts[row["prediction"], row["theorem"]].append(row["verdict"])
    return verdicts


def passes_through(certificates: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """For each theorem the others whose sequent is a step of its certificate; one-step certificates are definitions."""

    def written(certificate: dict[str, Any], step: dict[str, Any]) -> str:
        terms = certificate["terms"]

        def spelled(k: int) -> list[object]:
            kind, *parts = terms[k]
            leaf = kind in ("q", "^")
            return [kind, *(j if leaf or not isinstance(j, int) else spelled(j) for j in parts)]

        given = sorted(str([spelled(h[0]), h[1]]) for h in step["hypotheses"])
        return json.dumps([spelled(step["conclusion"][0]), step["conclusion"][1], given])

    last = {written(one, one["steps"][-1]): id for id, one in certificates.items() if len(one["steps"]) > 1}
    return {
        id: {last[said] for step in one["steps"][:-1] if (said := written(one, step)) in last} - {id}
        for id, one in certificates.items()
    }
