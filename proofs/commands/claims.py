"""The claims ledger: what the documents say about LayerNorm and RMSNorm, and what is true.

Without arguments: every claim with its verdict and its correction. With ids: one claim explained, what is said, why it
fails, the counterexample worked through with exact numbers, what is true instead and what proves or measures it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys

from ..claims import COLORED, DOCUMENTS, PLAIN, VERDICTS, Page, document_of, find, select

_WIDEST = 116


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims to explain, for example 5-1")
    parser.add_argument(
        "--document",
        choices=[document.key for document in DOCUMENTS],
        help="only claims of this document: "
        + "; ".join(f"{document.key} ({document.title})" for document in DOCUMENTS),
    )
    parser.add_argument("--verdict", choices=VERDICTS, help="only claims with this verdict")
    parser.add_argument("--json", action="store_true", help="print the claims as a JSON list instead")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    chosen = select(document=arguments.document, verdict=arguments.verdict)
    named = [find(id) for id in arguments.ids]
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
            for claim in (named or chosen)
        ]
        print(json.dumps(records, ensure_ascii=False, indent=1))
        return 0
    colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    page = Page(min(shutil.get_terminal_size().columns, _WIDEST), COLORED if colored else PLAIN)
    if not named:
        print("\n".join(page.ledger(chosen)))
    for k, claim in enumerate(named):
        print("\n" * (k > 0) + "\n".join(page.explanation(claim)))
    return 0
