from typing import Any

import pytest
import torch

from lngeom import sentences
from lngeom.check import Finding
from tests.kernels.derived import kernel, mean, plain, square
from tests.kernels.reported import STAND_INS
from tests.kernels.rows import EPS, Row
from tests.kernels.seeded import faults

SEEDED = ("ddof", "one pass and 1 + gain", "eps outside and ddof", "whole array", "tail ignored", "approximate root")
KERNELS = {
    **{name: fault for name, fault in faults(torch).items() if name in SEEDED},
    **dict(list(STAND_INS.items())[::12]),
    "llama": Row(lambda x, weight: weight * (x.float() * (square(x.float()) + EPS).rsqrt()).to(x.dtype),
                 options={"dtype": "bfloat16"}),
    "gemma": Row(lambda x, w: x * (square(x) + EPS).rsqrt() * (1 + w)),
    "exchanged": Row(kernel(plain, lambda y, n, axes: y.sum(axes)), options={"backward": True}),
    "no mean": Row(kernel(lambda h, y, g, n, r: r * (h - n * mean(h * n))), options={"backward": True}),
}  # fmt: skip
_WORDS = {"cause", "layout", "notes", "same_bits"}


def decided(finding: Finding) -> tuple[Any, ...]:
    kinds = sorted(finding.named.kinds) if finding.named else []
    passed = [finding.passes(tuple(some)) for some in ([], kinds[:1], kinds, ["no such variant"])]
    record = {name: value for name, value in finding.record().items() if name not in _WORDS}
    return finding.named, passed, [finding.tells(kind) for kind in kinds], record, len(finding.notes)


@pytest.mark.parametrize("name", KERNELS)
def test_sentences_may_be_exchanged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    before = decided(KERNELS[name].finding(name))
    for kind in sentences.SENTENCES:
        monkeypatch.setitem(sentences.SENTENCES, kind, f"<{kind}>")
    torch.manual_seed(0)
    assert decided(KERNELS[name].finding(name)) == before
