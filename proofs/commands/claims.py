"""The claims ledger: what the literature says about LayerNorm and RMSNorm, and what is true.

Without arguments, list every claim with its verdict and correction; with the name of a document, list its claims.
With ids, explain single claims: what is said, why it fails, the counterexample worked through with exact numbers, what
is true instead, and what proves or measures it.

Examples:
    lngeom claims
    lngeom claims gupta.42
    lngeom claims gupta --verdict false
"""

from dataclasses import dataclass

from rich.console import Group

from lngeom.options import argument, json_alone, json_option, option
from lngeom.verdicts import CLAIM_VERDICTS, Verdict

from .._terminal import show
from ..claims import DOCUMENTS, Claim, document_of, explanation, find, ledger, renamed, select

_WIDEST = 116
_DOCUMENTS = "; ".join(f"{document.key} ({document.title})" for document in DOCUMENTS)


@dataclass(frozen=True)
class Options:
    """The claims to show, and how."""

    ids: tuple[str, ...] = argument(
        "ID", f"claims (gupta.42) to explain, documents to list: {_DOCUMENTS}", default=(), nargs="*"
    )
    verdict: Verdict | None = option(None, "only claims with this verdict", choices=CLAIM_VERDICTS)
    json: str | None = json_option("the claims")


def run(options: Options) -> int:
    chosen = select(verdict=options.verdict)
    asked = [renamed(id) for id in options.ids]
    whole = {document.key for document in DOCUMENTS}.intersection(asked)
    named = [find(id) for id in asked if id not in whole]
    if options.ids:
        chosen = [claim for claim in chosen if document_of(claim).key in whole]
    if json_alone([_record(claim) for claim in (*chosen, *named)], options.json):
        return 0
    pages = [ledger(chosen)] if whole or not named else []
    for k, page in enumerate([*pages, *map(explanation, named)]):
        show(Group(*[""] * min(k, 1), page), widest=_WIDEST)
    return 0


def _record(claim: Claim) -> dict[str, object]:
    own = ("verdict", "place", "quote", "misprint", "repeats", "correction", "settled_by")
    told = {name: getattr(claim, name) for name in own}
    return {"id": claim.id, "document": document_of(claim).title, "claim": claim.says, **told}
