"""All claims, document by document."""

import functools

from lngeom.errors import InputError
from lngeom.verdicts import Verdict

from .claim import Claim, Document
from .texts import TEXTS, document, read_claims

DOCUMENTS: tuple[Document, ...] = tuple(map(document, TEXTS))
"""The documents, in the order of the first number of the ids."""


@functools.cache
def claims() -> tuple[Claim, ...]:
    """Every claim of every document."""
    return tuple(claim for name in TEXTS for claim in read_claims(name))


def document_of(claim: Claim) -> Document:
    """The document that a claim is from, by the first number of its id."""
    return DOCUMENTS[int(claim.id.partition("-")[0])]


def find(id: str) -> Claim:
    """The claim called `id`."""
    for claim in claims():
        if claim.id == id:
            return claim
    known = ", ".join(f"{of[0].id} to {of[-1].id}" for of in (select(document=d.key) for d in DOCUMENTS))
    raise InputError(f"{id!r} is not a claim: ids are {known}; `lngeom claims` lists them all")


def select(*, document: str | None = None, verdict: Verdict | None = None) -> list[Claim]:
    """The claims of a document, with a verdict, or both; none if the document or verdict is not known.

    >>> from lngeom.proofs.claims import select
    >>> [claim.id for claim in select(document="riechers", verdict="false")][:2]
    ['3-2', '3-3']
    """
    return [
        claim for claim in claims() if document in (None, document_of(claim).key) and verdict in (None, claim.verdict)
    ]
