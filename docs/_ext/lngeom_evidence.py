"""Sphinx directives that put on the page what the checks found, so that no page can say more than they do.

``evidence`` shows the machine-checked side of one theorem, ``ledger`` the claims of one document, ``imprecise`` those
that the theorems of one chapter correct. They read the JSON files that ``lngeom prove --json`` and ``lngeom claims
--json`` wrote just before the build. ``command`` shows the help of a command, ``drawn`` a picture of ``lngeom figure``.
"""

import argparse
import csv
import html
import importlib
import json
import logging
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from lngeom_certificates import as_html
from lngeom_records import address, columns, coq_record, items, ledger_pages, load, predicts, settled, users
from sphinx.application import Sphinx
from sphinx.directives.patches import Figure
from sphinx.util.docutils import SphinxDirective

from empirical.pages import save
from lngeom.cli import COMMANDS, command_parser
from lngeom.errors import LngeomError
from proofs.claims import as_text, explanation, find as find_claim

BADGES = {
    "true": "success",
    "true_under": "info",
    "false": "danger",
    "false_by_source": "danger",
    "non_sequitur": "warning",
    "empirical": "primary",
    "convention": "secondary",
}
"""Color of each verdict."""
HEADS = {
    "proved": "Proved for every d",
    "proved in Coq": "Proved for every d, the last step in Coq",
    "up to cited fact": "Proved for every d up to a last step in words",
    "failed": "NOT PROVED",
}
"""What the box of a theorem says first."""
KINDS = {
    "theorem": "a theorem",
    "identity": "an identity: both sides have one normal form",
    "definition": "a definition of the library written out",
}
MEASURED = ("prediction", "page")
CORRECTED = ("false", "false_by_source", "true_under", "non_sequitur")
"""Verdicts on statements that cannot be repeated as they stand."""
DRAWN = "_build/figures"
"""Folder of the pictures, below that of the sources."""


def cell(text: str) -> str:
    """`text` as it must stand in a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("\n", " ")


class Evidence(SphinxDirective):
    """``{evidence} chapter.slug``: status, hypotheses, refuted variants and last step of a theorem."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Insert the evidence as a folded block."""
        by_id = {theorem["id"]: theorem for theorem in load(self.env.app, "theorems.json")["theorems"]}
        if self.arguments[0] not in by_id:
            raise self.error(f"{self.arguments[0]!r} is not a theorem; known: {', '.join(by_id)}")
        container = nodes.container(classes=["evidence"])
        container += self.parse_text_to_nodes(self._text(by_id[self.arguments[0]]))
        container[-1] += nodes.raw("", self._certificate(self.arguments[0]), format="html")
        return [container]

    def _certificate(self, id: str) -> str:
        certificate = load(self.env.app, f"certificates/{id}.json")
        steps = len(certificate["steps"])
        return (
            f'<details class="certificate"><summary>The certificate, {steps} step{"s" * (steps != 1)}</summary>'
            f"<p>S is the sum of all components, and 1/0 = 0. Read from <code>{id}.json</code>, "
            f"SHA-256 <code>{certificate['sha256'][:16]}…</code></p>{as_html(certificate)}</details>"
        )

    def _text(self, theorem: dict[str, Any]) -> str:
        refuted = theorem["mutants_refuted"]
        variants = f" · {refuted} wrong variant{'s' * (refuted != 1)} refuted" if refuted else ""
        lines = [
            f"::::{{dropdown}} {HEADS[theorem['status']]}{variants}",
            f"**Claim** `{theorem['statement']}`",
            "",
            f"**Source** {cell(theorem['source'])}: {cell(theorem['says'])}",
            "",
            *_table(f"{theorem['status']}, {KINDS[theorem['kind']]} | found", self._checks(theorem)),
        ]
        if theorem["hypotheses"]:
            without = ((said, theorem["necessary"].get(said, "")) for said in theorem["hypotheses"])
            lines += _table("hypothesis, as the kernel uses it | without it", without)
        else:
            lines += ["**Hypotheses** none.", ""]
        if theorem["mutants"]:
            lines += _table("wrong variant | counterexample", theorem["mutants"].items())
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
            coq += "; the last step proved on top of it" * (theorem["status"] == "proved in Coq")
        else:
            coq = "replayed in an earlier form, not as it is now" * (theorem["id"] in record["certificates"])
            coq = (coq or "not replayed") + "; `make verify` does it"
        return [
            ("kernel", f"proved from exactly these hypotheses in {theorem['proof_ms']} ms"),
            ("second checker", f"{steps} derived again from the certificate alone"),
            (f"Coq {record['coq']}", coq),
            ("exact models", f"true at {theorem['models']}"),
            ("floats", f"within the derived error bound {theorem['measured']} times"),
        ]

    def _neighbours(self, id: str) -> list[str]:
        """What the theorem uses, and what rests on it, as the graph has it."""
        found = items(self.env.app)
        by = [(name, found[name]) for name in users(found)[id]]
        lines = []
        for title, names in (
            ("Uses", found[id].rests_on),
            ("Used by", [name for name, item in by if item.kind == "theorem"]),
        ):
            linked = ", ".join(f"{{prf:ref}}`{name} <{name}>`" for name in names)
            lines += [f"**{title}** {linked or 'no other theorem'}", ""]
        claims = [(name.removeprefix("claim "), item) for name, item in by if item.kind == "claim"]
        if claims:
            said = (
                f"{{ref}}`claim {claim} <claim-{claim}>`, {item.status.replace('_', ' ')}"
                + f" (with {', '.join(f'`{one}`' for one in item.columns)})" * bool(item.columns)
                for claim, item in claims
            )
            lines += [f"**Claims that rest on it** {'; '.join(said)}", ""]
        measured = [
            f"{item.title} ({{doc}}`/{item.link.removesuffix('.html')}`)" for _, item in by if item.kind in MEASURED
        ]
        if predicts(id):
            measured = ["judged at every norm that it speaks of by {doc}`lngeom sweep </guides/sweep>`", *measured]
        if read := columns(id):
            measured.append(f"columns {', '.join(f'`{one}`' for one in read)} of `sites.csv`")
        return [*lines, *([f"**Measured** {'; '.join(measured)}", ""] if measured else [])]


def _table(head: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """Lines of a table of two columns."""
    return [f"| {head} |", "|---|---|", *(f"| {cell(left)} | {cell(right)} |" for left, right in rows), ""]


class Ledger(SphinxDirective):
    """``{ledger} document``: the claims of a document with verdict, correction and what settles them."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Insert one block per claim."""
        claims = [c for c in load(self.env.app, "claims.json") if c["document"] == self.arguments[0]]
        if not claims:
            known = sorted({c["document"] for c in load(self.env.app, "claims.json")})
            raise self.error(f"no claims of {self.arguments[0]!r}; documents: {', '.join(known)}")
        return self.parse_text_to_nodes("\n".join(map(self._text, claims)), allow_section_headings=True)

    def _text(self, claim: dict[str, Any]) -> str:
        verdict = claim["verdict"].replace("_", " ")
        settled = "; ".join(self._settled(claim["id"], one) for one in claim["settled_by"])
        label = "Instead" if claim["verdict"] in CORRECTED else "Answer"
        correction = f"\n\n**{label}** {cell(claim['correction'])}" if claim["correction"] else ""
        badge = f"{{bdg-{BADGES[claim['verdict']]}}}`{verdict}`"
        explained = as_text(explanation(find_claim(claim["id"])), 84)
        return (
            f"(claim-{claim['id']})=\n## {cell(claim['claim'])} {badge}\n\n"
            f"**{claim['id']}**{correction}\n\n**Settled by** {settled or 'convention'}\n\n"
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
    """``{imprecise} projection``: what the five texts say that a theorem of the chapter shows to need a correction."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Insert the claims as a folded table that leads to the ledger."""
        (chapter,) = self.arguments
        claims = [
            claim
            for claim in load(self.env.app, "claims.json")
            if claim["verdict"] in CORRECTED and any(id.startswith(f"{chapter}.") for id in settled(claim, "theorem"))
        ]
        if not claims:
            raise self.error(f"no theorem of chapter {chapter!r} corrects a claim")
        lines = [f"::::{{dropdown}} Claims of the five texts that need a correction: {len(claims)}"]
        lines += ["| claim | verdict | instead |", "|---|---|---|"]
        lines += [
            f"| {{ref}}`{claim['id']} <claim-{claim['id']}>` {cell(claim['claim'])} "
            f"| {{bdg-{BADGES[claim['verdict']]}}}`{claim['verdict'].replace('_', ' ')}` "
            f"| {cell(claim['correction'] or '')} |"
            for claim in claims
        ]
        container = nodes.container(classes=["imprecise"])
        container += self.parse_text_to_nodes("\n".join([*lines, "::::", ""]))
        return [container]


class LedgerTable(SphinxDirective):
    """``{ledger-table}``: all claims in one table, which the script of the site filters."""

    def run(self) -> list[nodes.Node]:
        """Insert the table as it is, whole for whoever has no script."""
        pages = ledger_pages(self.env.app)
        rows = []
        for claim in load(self.env.app, "claims.json"):
            link = f"{pages[claim['document']]}.html#claim-{claim['id']}"
            verdict = claim["verdict"].replace("_", " ")
            theorems = ", ".join(f'<a href="../{address(id)}">{id}</a>' for id in settled(claim, "theorem"))
            rows.append(
                f'<tr data-verdict="{verdict}" data-text="{html.escape(claim["document"])}">'
                f'<td><a href="{link}">{claim["id"]}</a></td>'
                f"<td>{html.escape(claim['claim'])}</td><td>{html.escape(claim.get('place', ''))}</td>"
                f'<td><span class="verdict {claim["verdict"]}">{verdict}</span></td><td>{theorems}</td></tr>'
            )
        head = "".join(
            f'<th scope="col">{name}</th>' for name in ("claim", "what it says", "section", "verdict", "theorems")
        )
        return [
            nodes.raw(
                "",
                (
                    '<div class="ledger-filter"></div><div class="scrolls"><table class="ledger"><thead><tr>'
                    f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
                ),
                format="html",
            )
        ]


class Numbers(SphinxDirective):
    """``{numbers}``: what a newcomer should know first, four numbers that the checks and the committed runs give."""

    def run(self) -> list[nodes.Node]:
        """Insert four cards, each a link."""
        theorems = [one for one in load(self.env.app, "theorems.json")["theorems"] if one["status"] != "failed"]
        status, kinds = (Counter(theorem[key] for theorem in theorems) for key in ("status", "kind"))
        claims = Counter(claim["verdict"] for claim in load(self.env.app, "claims.json"))
        by_status = ", ".join(f"{count} {name}" for name, count in status.most_common())
        whole = {row["change"]: row for row in self._table("whisper/ablation.csv") if row["site"] == "all"}
        price, folded = (float(whole[change]["nats"]) for change in ("rms_norm", "folded"))
        shapes = json.loads(self._read("benchmarks.json"))["shapes"]["results"]
        cards = [
            (
                f"{kinds['theorem']} theorems",
                "graph",
                f"and {kinds.total() - kinds['theorem']} identities and definitions about LayerNorm and RMSNorm, for "
                f"every dimension: {by_status}",
            ),
            (
                f"{claims['false']} false",
                "ledger/index",
                f"of {sum(claims.values())} claims of the literature; {claims['true']} are true, "
                f"{claims['true_under']} true under hypotheses left out",
            ),
            (
                f"{price:.2f} nats",
                "results/whisper",
                "a token: what it costs Whisper to have RMSNorms for its LayerNorms. With mean subtraction folded "
                f"into the weights around them it costs less than {_power_above(abs(folded))}",
            ),
            (
                f"+{100 * (max(shape['ratio'] for shape in shapes) - 1):.1f} %",
                "results/cost",
                f"at most: the time that measuring every norm adds to a forward pass, over {len(shapes)} shapes of "
                "published models",
            ),
        ]
        text = ["::::::{grid} 2 2 4 4", ":gutter: 2", ":class-container: numbers", ""]
        for number, page, said in cards:
            text += [f":::::{{grid-item-card}} {number}", f":link: {page}", ":link-type: doc", said, ":::::", ""]
        return self.parse_text_to_nodes("\n".join([*text, "::::::", ""]))

    def _read(self, name: str) -> str:
        path = Path(self.env.srcdir) / "results" / name
        self.env.note_dependency(str(path))
        return path.read_text(encoding="utf-8")

    def _table(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(self._read(name).splitlines()))


def _power_above(value: float) -> str:
    """The least power of ten above a small number."""
    return f"$10^{{{math.floor(math.log10(value)) + 1}}}$"


class LedgerCounts(SphinxDirective):
    """``{ledger-counts}``: how many claims of each document have which verdict."""

    def run(self) -> list[nodes.Node]:
        """Insert the table, generated from the records."""
        claims = load(self.env.app, "claims.json")
        documents = list(dict.fromkeys(c["document"] for c in claims))
        verdicts = list(dict.fromkeys(c["verdict"] for c in claims))
        rows = [f"| document | {' | '.join(v.replace('_', ' ') for v in verdicts)} | all |"]
        rows += ["|---|" + "---:|" * (len(verdicts) + 1)]
        for document in [*documents, None]:
            chosen = [c for c in claims if document in (None, c["document"])]
            counts = [sum(c["verdict"] == verdict for c in chosen) for verdict in verdicts]
            cells = " | ".join(map(str, [*counts, len(chosen)]))
            rows += [f"| {cell(document or 'all')} | {cells} |"]
        return self.parse_text_to_nodes("\n".join(rows) + "\n")


class StatusCounts(SphinxDirective):
    """``{status-counts}``: how many theorems have which status and kind, and how many were replayed in Coq."""

    def run(self) -> list[nodes.Node]:
        """Insert the table, generated from the evidence."""
        theorems = [one for one in load(self.env.app, "theorems.json")["theorems"] if one["status"] != "failed"]
        kinds = {"theorem": "theorems", "identity": "identities", "definition": "definitions"}
        rows = [f"| status | {' | '.join(kinds.values())} | all | replayed in Coq |", "|---|---:|---:|---:|---:|---:|"]
        for status in [*dict.fromkeys(one["status"] for one in theorems), None]:
            chosen = [one for one in theorems if status in (None, one["status"])]
            replayed = sum(bool(one["replayed"]) for one in chosen)
            counts = " | ".join(str(sum(one["kind"] == kind for one in chosen)) for kind in kinds)
            rows += [f"| {status or 'all'} | {counts} | {len(chosen)} | {replayed} |"]
        return self.parse_text_to_nodes("\n".join(rows) + "\n")


class CommandHelp(SphinxDirective):
    """``{command} sweep``: what ``lngeom sweep --help`` prints."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Insert what the command says of itself, and what argparse makes of its options."""
        name = self.arguments[0]
        if name not in COMMANDS:
            raise self.error(f"{name!r} is not a command; known: {', '.join(COMMANDS)}")
        module = importlib.import_module(COMMANDS[name].module)
        parser = command_parser(name, module)
        parser.description = None  # stands above the block
        parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=84)
        block = nodes.literal_block(text=parser.format_help())
        block["language"] = "text"
        return [*self.parse_text_to_nodes(module.__doc__ or ""), block]


class Drawn(Figure, SphinxDirective):
    """``{drawn} axes``: what ``lngeom figure axes`` draws, made anew for the page, with a caption.

    ``:run:`` names the directory, relative to the sources, of the run that the picture shows.
    """

    option_spec = Figure.option_spec | {"run": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Draw the picture, then insert it as any figure."""
        sources = Path(self.env.srcdir)
        named = self.options.pop("run", None)
        if named is not None:
            self.env.note_dependency(str(sources / named / "sites.csv"))
        try:
            picture = save(self.arguments[0], sources / DRAWN, run=None if named is None else sources / named)
        except LngeomError as error:
            raise self.error(str(error)) from None
        self.arguments[0] = f"/{DRAWN}/{picture.name}"
        return super().run()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # from which font it takes a symbol is not news
    app.add_config_value("lngeom_evidence", "_build/evidence", "env")
    app.add_directive("command", CommandHelp)
    app.add_directive("drawn", Drawn)
    app.add_directive("evidence", Evidence)
    app.add_directive("imprecise", Imprecise)
    app.add_directive("ledger", Ledger)
    app.add_directive("ledger-counts", LedgerCounts)
    app.add_directive("status-counts", StatusCounts)
    app.add_directive("ledger-table", LedgerTable)
    app.add_directive("numbers", Numbers)
    return {"parallel_read_safe": True}
