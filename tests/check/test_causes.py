"""No decision of a check is taken on the English of its sentences."""

from typing import Any

import pytest
import torch

from lngeom import sentences
from lngeom.check import Finding, check
from tests.kernels.derived import EPS, kernel, plain
from tests.kernels.reported import STAND_INS
from tests.kernels.seeded import FAULTS, size

SEEDED = ("ddof", "one pass and 1 + gain", "eps outside and ddof", "whole array", "tail ignored", "approximate root")
KERNELS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (fault.make(torch), {"kind": fault.kind, "eps": EPS, "d": size(fault), "name": name})
       for name, fault in FAULTS.items() if name in SEEDED},
    **{fault.name: (fault.kernel, dict(fault.options)) for fault in STAND_INS[::12]},
    "llama": (lambda x, weight: weight * (x.float() * (x.float().square().mean(-1, True) + EPS).rsqrt()).to(x.dtype),
              {"kind": "rmsnorm", "eps": EPS, "d": 16, "dtype": "bfloat16"}),
    "gemma": (lambda x, w: x * (x.square().mean(-1, True) + EPS).rsqrt() * (1 + w), {"kind": "rmsnorm", "eps": EPS}),
    "exchanged": (kernel(plain, lambda y, n, axes: y.sum(axes)), {"kind": "layernorm", "eps": EPS, "backward": True}),
    "no mean": (kernel(lambda h, y, g, n, r: r * (h - n * (h * n).mean(-1, True))),
                {"kind": "layernorm", "eps": EPS, "backward": True}),
}  # fmt: skip
_WORDS = {"cause", "layout", "notes"}


def decided(finding: Finding) -> tuple[Any, ...]:
    """Everything that a check decides, without its sentences."""
    kinds = sorted(finding.named.kinds) if finding.named else []
    passed = [finding.passes(tuple(some)) for some in ([], kinds[:1], kinds, ["no such variant"])]
    record = {name: value for name, value in finding.record().items() if name not in _WORDS}
    return finding.named, passed, [finding.tells(kind) for kind in kinds], record, len(finding.notes)


@pytest.mark.parametrize("name", KERNELS)
def test_sentences_may_be_exchanged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, options = KERNELS[name]
    options = {"d": 16, "name": "norm", **options}
    torch.manual_seed(0)
    before = decided(check(target, **options))
    for kind in sentences.SENTENCES:
        monkeypatch.setitem(sentences.SENTENCES, kind, f"<{kind}>")
    torch.manual_seed(0)
    assert decided(check(target, **options)) == before
