"""Sphinx directives that show the ledger as its records are, from the file that ``lngeom claims --json`` wrote.

``ledger`` shows the claims of one document, ``imprecise`` those that the theorems of one chapter correct, and
``ledger-counts`` how many have which verdict.
"""

from typing import Any

from docutils import nodes
from lngeom_records import cell, load, settled, table, worded
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lngeom.proofs.claims import as_text, document_of, explanation, find

BADGES = {
    "true": "success",
    "true_under": "info",
    "false": "danger",
    "false_by_source": "danger",
    "non_sequitur": "warning",
    "empirical": "primary",
    "convention": "secondary",
    "unverified": "light",
}
"""Color of each verdict."""
CORRECTED = ("false", "false_by_source", "true_under", "non_sequitur")
"""Verdicts on statements that cannot be repeated as they stand."""


def badge(claim: dict[str, Any]) -> str:
    """The verdict on a claim in its color."""
    return f"{{bdg-{BADGES[claim['verdict']]}}}`{worded(claim['verdict'])}`"


class Ledger(SphinxDirective):
    """``{ledger} document``: what was read of a document, and its claims with verdict, correction and evidence."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        claims = [c for c in load(self.env.app, "claims.json") if c["document"] == self.arguments[0]]
        if not claims:
            documents = sorted({c["document"] for c in load(self.env.app, "claims.json")})
            raise self.error(f"no claims of {self.arguments[0]!r}; documents: {', '.join(documents)}")
        read = f"What was read: {cell(document_of(find(claims[0]['id'])).reference)}.\n\n"
        return self.parse_text_to_nodes(read + "\n".join(map(self._text, claims)), allow_section_headings=True)

    def _text(self, claim: dict[str, Any]) -> str:
        settled = "; ".join(self._settled(claim["id"], one) for one in claim["settled_by"])
        label = "Instead" if claim["verdict"] in CORRECTED else "Answer"
        correction = f"\n\n**{label}** {cell(claim['correction'])}" if claim["correction"] else ""
        quoted = f" {cell(find(claim['id']).words)}"
        if claim["misprint"]:
            quoted += " A misprint, or a slip of a transcription."
        if claim["repeats"]:
            quoted += f" The same as {{ref}}`{claim['repeats']} <claim-{claim['repeats']}>`."
        explained = as_text(explanation(find(claim["id"])), 84)
        return (
            f"(claim-{claim['id']})=\n## {cell(claim['claim'])} {badge(claim)}\n\n"
            f"**{claim['id']}**{quoted}{correction}\n\n**Settled by** {settled or 'convention'}\n\n"
            f"(worked-{claim['id']})=\n\n::::{{dropdown}} Worked through, as `lngeom claims {claim['id']}` prints it\n"
            f"```text\n{explained}\n```\n::::\n"
        )

    def _settled(self, id: str, one: str) -> str:
        kind, _, name = one.partition(" ")
        if kind == "counterexample":
            return f"{{ref}}`counterexample {name} <worked-{id}>`"
        if kind == "theorem":
            return f"{{prf:ref}}`{name}` (`{name}`)"
        return cell(one) if kind == "source" else f"{kind} `{name}`"


class Imprecise(SphinxDirective):
    """``{imprecise} projection``: what the texts say that a theorem of the chapter shows to need a correction."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (chapter,) = self.arguments
        rows = [
            (
                f"{{ref}}`{claim['id']} <claim-{claim['id']}>` {cell(claim['claim'])}",
                badge(claim),
                cell(claim["correction"]),
            )
            for claim in load(self.env.app, "claims.json")
            if claim["verdict"] in CORRECTED and any(id.startswith(f"{chapter}.") for id in settled(claim, "theorem"))
        ]
        if not rows:
            raise self.error(f"no theorem of chapter {chapter!r} corrects a claim")
        container = nodes.container(classes=["imprecise"])
        container += self.parse_text_to_nodes(
            f"::::{{dropdown}} Claims of the ledger that need a correction: {len(rows)}\n"
            f"{table(('claim', 'verdict', 'instead'), rows)}::::\n"
        )
        return [container]


class LedgerCounts(SphinxDirective):
    """``{ledger-counts}``: how many claims of each document have which verdict."""

    def run(self) -> list[nodes.Node]:
        claims = load(self.env.app, "claims.json")
        verdicts = list(dict.fromkeys(claim["verdict"] for claim in claims))
        rows = []
        for document in [*dict.fromkeys(claim["document"] for claim in claims), "all"]:
            chosen = [claim["verdict"] for claim in claims if document in ("all", claim["document"])]
            rows.append([cell(document), *(str(chosen.count(verdict)) for verdict in verdicts), str(len(chosen))])
        head = ["document", *map(worded, verdicts), "all"]
        return self.parse_text_to_nodes(table(head, rows, numbers=len(verdicts) + 1))


def setup(app: Sphinx) -> dict[str, Any]:
    for name, directive in (("ledger", Ledger), ("imprecise", Imprecise), ("ledger-counts", LedgerCounts)):
        app.add_directive(name, directive)
    return {"parallel_read_safe": True}
