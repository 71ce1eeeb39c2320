"""The claims ledger: what the documents say about LayerNorm and RMSNorm, and what is true.

Without arguments: every claim with its verdict and its correction; with the number of a document: its claims. With ids:
one claim explained, what is said, why it fails, the counterexample worked through with exact numbers, what is true
instead and what proves or measures it.
"""

import argparse
import json
import os
import shutil
import sys

from lngeom.verdicts import CLAIM_VERDICTS

from ..claims import COLORED, DOCUMENTS, PLAIN, Page, claims, document_of, find, select

_WIDEST = 116


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims (5-1) to explain, documents (5) to list")
    parser.add_argument(
        "--document",
        choices=[document.key for document in DOCUMENTS],
        help="only claims of this document: "
        + "; ".join(f"{document.key} ({document.title})" for document in DOCUMENTS),
    )
    parser.add_argument("--verdict", choices=CLAIM_VERDICTS, help="only claims with this verdict")
    parser.add_argument("--json", action="store_true", help="print the claims as a JSON list instead")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    chosen = select(document=arguments.document, verdict=arguments.verdict)
    numbers = {claim.id.partition("-")[0] for claim in claims()}.intersection(arguments.ids)
    named = [find(id) for id in arguments.ids if id not in numbers]
    if arguments.ids:
        chosen = [claim for claim in chosen if claim.id.partition("-")[0] in numbers]
    if arguments.json:
        records = [
            {
                "id": claim.id,
                "document": document_of(claim).title,
                "verdict": claim.verdict,
                "claim": claim.says,
                "place": claim.place,
                "correction": claim.correction,
                "settled_by": claim.settled_by,
            }
            for claim in [*chosen, *named]
        ]
        print(json.dumps(records, ensure_ascii=False, indent=1))
        return 0
    colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    page = Page(min(shutil.get_terminal_size().columns, _WIDEST), COLORED if colored else PLAIN)
    if numbers or not named:
        print("\n".join(page.ledger(chosen)))
    for k, claim in enumerate(named):
        print("\n" * (k > 0 or bool(numbers)) + "\n".join(page.explanation(claim)))
    return 0
