import json
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from lngeom.checker import digest
from lngeom.proofs import find, theorems
from lngeom.proofs.certificates import replayed
from lngeom.proofs.certificates.coq_text import source
from lngeom.theorems import Theorem


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.id)
def test_a_certificate_says_each_term_once_and_no_expression_twice_and_is_on_record(theorem: Theorem) -> None:
    made = theorem.certificates()
    assert all(map(replayed, made)), "run `make verify`"
    data = made[-1]
    assert json.loads(json.dumps(data)) == data
    assert len({json.dumps(node) for node in data["terms"]}) == len(data["terms"])
    kind, *sides = data["terms"][data["statement"]["conclusion"][0]]
    same = kind == "-" and len(set(sides)) < len(sides)
    assert theorem.kind == "definition" or not same, "both sides are one expression"
    assert f"Theorem {theorem.id.replace('.', '__')} (R : rcfType) (n : nat)" in source(data)


def leaves(node: Any, *path: Any) -> list[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [leaf for key, value in items for leaf in leaves(value, *path, key)] or [path]


def test_the_hash_notices_any_change() -> None:
    data: dict[str, Any] = {**find("projection.fixes_hyperplane").certificates()[-1]}
    assert digest(data) == data["sha256"]
    for *path, last in leaves({key: value for key, value in data.items() if key != "sha256"}):
        copy = json.loads(json.dumps(data))
        reduce(getitem, path, copy)[last] = "another"
        assert digest(copy) != data["sha256"], (*path, last)
