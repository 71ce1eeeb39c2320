"""Sphinx directives that put on the page what the checks of the theorems recorded, so that no page can say more.

``evidence`` shows the machine-checked side of one theorem, ``status-counts`` how many have which status. They read the
files that ``lngeom prove --json --certificates`` wrote just before the build.
"""

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from lngeom_records import cell, columns, coq_record, load, settled, table, worded
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import lngeom
from lngeom.empirical.judge import THEOREM_IDS
from lngeom.proofs.certificates import reading
from lngeom.proofs.certificates.coq_text import HEADER, source
from lngeom.prover import steps_text

HEADS = {
    "proved": "Proved for every d",
    "proved in Coq": "Proved for every d, the last step in Coq",
    "up to cited fact": "Proved for every d up to a last step in words",
    **dict.fromkeys(("refuted", "undecided", "failed"), "NOT PROVED"),
}
"""What the box of a theorem says first."""
KINDS = {"theorem": "a theorem", "lemma": "a lemma: school algebra", "definition": "a definition written out"}
FILES = "certificates"
"""Folder of the site that has the certificates and their Coq text."""


class Evidence(SphinxDirective):
    """``{evidence} chapter.slug``: status, hypotheses, refuted variants and last step of a theorem."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        by_id = {theorem["id"]: theorem for theorem in load(self.env.app, "theorems.json")["theorems"]}
        if self.arguments[0] not in by_id:
            raise self.error(f"{self.arguments[0]!r} is not a theorem; known: {', '.join(by_id)}")
        container = nodes.container(classes=["evidence"])
        container += self.parse_text_to_nodes(self._text(by_id[self.arguments[0]]))
        container[-1] += nodes.raw("", self._steps(by_id[self.arguments[0]]), format="html")
        return [container]

    def _steps(self, theorem: dict[str, Any]) -> str:
        id = theorem["id"]
        certificate = load(self.env.app, f"certificates/{id}.json")
        steps, root = len(certificate["steps"]), "../" * self.env.docname.count("/")
        shown = "\n".join(steps_text(certificate["steps"], certificate["terms"]))
        return (
            f'<details class="certificate"><summary>The certificate, {steps} step{"s" * (steps != 1)}</summary>'
            f"<p>S is the sum of all components, and 1/0 = 0; "
            f'<a href="{root}api/proofs.html#steps">the rules</a>. Read from <code>{id}.json</code>, '
            f"SHA-256 <code>{certificate['sha256'][:16]}…</code></p><pre>{escape(shown)}</pre></details>"
            f'<p class="evidence-files"><a href="{root}{FILES}/{id}.json" download>the certificate</a> · '
            f'<a href="{root}{FILES}/{id}.v" download>its statement and replay in Coq</a> · '
            f"<code>lngeom prove {id}</code></p>"
            f'<details class="cite"><summary>Cite this theorem</summary><p>lngeom {lngeom.__version__}, theorem '
            f"<code>{id}</code>: {escape(theorem['statement'])}. Certificate with SHA-256 "
            f"<code>{certificate['sha256']}</code>.</p></details>"
        )

    def _proved(self, id: str) -> str:
        hypotheses, conclusion, meant = reading(load(self.env.app, f"certificates/{id}.json"))
        sequent = f"`{', '.join(hypotheses)}{' ' * bool(hypotheses)}⊢ {conclusion}`"
        return sequent + ", where " * bool(meant) + ", ".join(f"`{name}`" for name in meant)

    def _text(self, theorem: dict[str, Any]) -> str:
        refuted = theorem["mutants_refuted"]
        variants = f" · {refuted} wrong variant{'s' * (refuted != 1)} refuted" if refuted else ""
        lines = [
            f"::::{{dropdown}} {HEADS[theorem['status']]}{variants}",
            f"**Claim** `{theorem['statement']}`",
            "",
            f"**Proved**, as the library computes it {self._proved(theorem['id'])}",
            "",
            f"**Source** {cell(theorem['source'])}: {cell(theorem['says'])}",
            "",
            _pairs(f"{theorem['status']}, {KINDS[theorem['kind']]}", "found", self._checks(theorem)),
        ]
        if theorem["hypotheses"]:
            without = ((name, theorem["necessary"].get(name, "")) for name in theorem["hypotheses"])
            lines.append(_pairs("hypothesis, as the prover uses it", "without it", without))
        else:
            lines += ["**Hypotheses** none.", ""]
        if theorem["mutants"]:
            lines.append(_pairs("wrong variant", "counterexample", theorem["mutants"].items()))
        lines += self._neighbours(theorem["id"])
        if theorem["remark"]:
            lines += [f"**Remark**, no part of what is proved: {cell(theorem['remark'])}", ""]
        if theorem["last_step"]:
            cites = f" Cited: {'; '.join(map(cell, theorem['cites']))}." if theorem["cites"] else ""
            where = "proved in Coq" if theorem["status"] == "proved in Coq" else "in words"
            lines += [f"**Last step, {where}** {cell(theorem['last_step'])}{cites}", ""]
        return "\n".join([*lines, "::::", ""])

    def _checks(self, theorem: dict[str, Any]) -> list[tuple[str, str]]:
        """Who looked at the theorem, and with what result."""
        steps = f"{theorem['steps']} step{'s' * (theorem['steps'] != 1)}"
        record = coq_record()
        if theorem["replayed"]:
            axioms = ", ".join(record["axioms"]) or "no axiom"
            coq = f"this very certificate replayed by the checker proved sound there, {axioms}"
            coq += "; the last step proved there, too" * (theorem["status"] == "proved in Coq")
        else:
            coq = "replayed in an earlier form, not as it is now" * (theorem["id"] in record["certificates"])
            coq = (coq or "not replayed") + "; `make verify` does it"
        return [
            ("prover", f"proved from exactly these hypotheses in {theorem['proof_ms']} ms"),
            ("checker", f"{steps} derived again from the certificate alone"),
            (f"Coq {record['coq']}", coq),
            ("exact models", f"true at {theorem['models']}"),
            ("floats", f"within the derived error bound {theorem['measured']} times"),
        ]

    def _neighbours(self, id: str) -> list[str]:
        """The claims that rest on it, and where it is measured."""
        claims = [claim for claim in load(self.env.app, "claims.json") if id in settled(claim, "theorem")]
        links = (f"{{ref}}`claim {one['id']} <claim-{one['id']}>`, {worded(one['verdict'])}" for one in claims)
        judged = "judged by {doc}`lngeom sweep </guides/sweep>` at every norm that it speaks of"
        measured = [judged] * (id in THEOREM_IDS)
        if read := columns(id):
            measured.append(f"columns {', '.join(f'`{one}`' for one in read)} of `sites.csv`")
        rows = (("Claims that rest on it", "; ".join(links)), ("Measured", "; ".join(measured)))
        return [line for title, words in rows if words for line in (f"**{title}** {words}", "")]


def _pairs(left: str, right: str, rows: Iterable[tuple[str, str]]) -> str:
    return table((left, right), (map(cell, row) for row in rows))


class StatusCounts(SphinxDirective):
    """``{status-counts}``: how many theorems have which status and kind, and how many were replayed in Coq."""

    def run(self) -> list[nodes.Node]:
        theorems = [one for one in load(self.env.app, "theorems.json")["theorems"] if not one["faults"]]
        kinds = {"theorem": "theorems", "lemma": "lemmas", "definition": "definitions"}
        rows = []
        for status in [*dict.fromkeys(one["status"] for one in theorems), "all"]:
            chosen = [one for one in theorems if status in ("all", one["status"])]
            counts = [sum(one["kind"] == kind for one in chosen) for kind in kinds]
            replayed = sum(bool(one["replayed"]) for one in chosen)
            rows.append([status, *map(str, [*counts, len(chosen), replayed])])
        return self.parse_text_to_nodes(table(["status", *kinds.values(), "all", "replayed in Coq"], rows, numbers=5))


def _copy_files(app: Sphinx, error: Exception | None) -> None:
    """Put every certificate, and what Coq reads of it, where the boxes link to."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FILES
    folder.mkdir(exist_ok=True)
    for path in sorted((Path(app.confdir) / app.config.lngeom_evidence / "certificates").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        (folder / path.name).write_text(text, encoding="utf-8")
        (folder / f"{path.stem}.v").write_text(HEADER + source(json.loads(text)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("lngeom_evidence", "_build/evidence", "env")
    app.add_directive("evidence", Evidence)
    app.add_directive("status-counts", StatusCounts)
    app.connect("build-finished", _copy_files)
    return {"parallel_read_safe": True}
