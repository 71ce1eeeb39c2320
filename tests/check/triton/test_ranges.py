"""Sizes: those that a wrapper rejects, those that nothing is proved for, and the words for both."""

from pathlib import Path
from typing import Any

import pytest

from lngeom.check import check
from lngeom.check._proving.path import _by_d
from lngeom.check._tracing.triton import stand_in
from lngeom.cli import main

from .test_triton import loaded, proof_of

GUARD = "BLOCK = triton.next_power_of_2(N)\n    if BLOCK > LARGEST:\n        raise RuntimeError"
TUTORIAL = GUARD.replace("tri", "min(65536 // x.element_size(), tri").replace("(N)", "(N))").replace("BLOCK >", "N >")


def test_a_guard_hides_no_refutation(tmp_path: Path) -> None:
    change = GUARD, TUTORIAL.replace("LARGEST", "BLOCK")
    padding = "tl.where(mask, x - mean, 0.0)", "x - mean"
    assert proof_of(loaded(tmp_path, "layer_norm", change), "layer_norm").status == "proved"
    proof = proof_of(loaded(tmp_path, "layer_norm", change, padding), "layer_norm")
    assert (proof.status, (proof.counterexample or {})["d"]) == ("refuted", 3)


@pytest.mark.parametrize(
    ("block", "dimensions", "passes"),
    [
        ("BLOCK = next_power(N)\n    if BLOCK > 1024:\n        raise ValueError(N)", "d ≤ 1024", True),
        ('BLOCK = next_power(N)\n    if N > 99:\n        raise ValueError(f"{N} columns")', "d ≤ 99", True),
        ("assert N <= 1000\n    BLOCK = next_power(N)", "d ≤ 1000", True),
        ("BLOCK = min(1024, next_power(N))", "d ≤ 512", False),
    ],
)
def test_a_size_that_is_rejected_is_none_that_is_not_covered(block, dimensions, passes, tmp_path, capsys) -> None:
    guard = GUARD + '("too wide")'
    code = loaded(tmp_path, "layer_norm", (guard, block)).__code__
    target = f"{code.co_filename}:layer_norm"
    assert main(["check", target, "--d", "8", "--proved"]) == (not passes)
    told = capsys.readouterr().out
    assert f"proved only for {dimensions}; forward pass only" in told
    assert ("which it rejects" in told, "not for all sizes proved" in told) == (passes, not passes)


@pytest.mark.parametrize(
    ("text", "told", "limit"),
    [
        ("next_power_of_2(d) < {}", "d ≤ {}", lambda k: [d for d in range(1, 99) if stand_in.next_power_of_2(d) < k]),
        ("next_power_of_2(d) ≤ {}", "d ≤ {}", lambda k: [d for d in range(1, 99) if stand_in.next_power_of_2(d) <= k]),
        ("next_power_of_2(d // 3) < {}", "d ≤ {}", lambda k: [d for d in range(99) if next_power(d // 3) < k]),
    ],
)
def test_bounds_of_a_power_are_bounds_of_d(text: str, told: str, limit: Any) -> None:
    for k in range(1 + ("//" not in text), 17):
        assert _by_d(text.format(k)) == told.format(max(limit(k)))
        assert _by_d(text.format(k).translate(str.maketrans("<≤", "≥>"))) == told.format(max(limit(k))).replace(
            "≤", ">"
        )


def next_power(n: int) -> int:
    return stand_in.next_power_of_2(n) if n else 0


def test_a_number_of_the_backward_pass_is_positive(tmp_path: Path) -> None:
    """Its root is defined, so that the point at which the derivative is wrong is found."""
    old = "mean, rstd = tl.load(Mean + row), tl.load(Rstd + row)"
    own = "tl.sqrt(tl.sum(tl.where(mask, x - mean, 0.0) * (x - mean), axis=0) / N + 1e-5)"
    change = old, f"{old}\n        rstd = 1 / {own}"
    proof = proof_of(loaded(tmp_path, "pulled_layer_norm", change), "layer_norm")
    assert "refuted" in proof.gradients


def test_a_kernel_of_three_axes_alone_is_called(tmp_path: Path) -> None:
    change = "rows, y, M, N = in_rows(x)", "B, L, N = x.shape\n    rows, y, M, N = in_rows(x)"
    code = loaded(tmp_path, "layer_norm", change).__code__
    finding = check(f"{code.co_filename}:layer_norm", d=8)
    assert finding.proof is not None
    assert (finding.verdict, finding.proof.status, finding.proof.shape) == ("rounding", "proved", "(B, L, d)")
    change = change[0], "B, L, N = x.shape\n    rows, M = x.view(B * L, N), B * L\n    y = torch.empty_like(rows)"
    code = loaded(tmp_path, "layer_norm", change, ("rows.stride(0), y.stride(0)", "N, N")).__code__
    finding = check(f"{code.co_filename}:layer_norm", d=8)
    assert "strides ignored" in str(finding)
    assert "the first components of a wider array" in str(finding)
