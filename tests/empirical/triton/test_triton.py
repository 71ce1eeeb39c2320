"""Kernels of Triton without a GPU and without Triton: proved for every block where right, and no fault is proved."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from empirical.check._target import resolve
from empirical.proving import Proof, _verdict, prove_target
from empirical.tracing.triton._whole import PROGRAM, Space, Whole, quotient, symbol, whole
from lngeom.checker import recheck
from lngeom.cli import main

SOURCE = Path(__file__).with_name("kernels.py")
RIGHT = {
    **dict.fromkeys([f"{how}rms_norm" for how in ("", "strided_", "headed_", "seated_")], "weight∘RMSNorm(x; ε = eps)"),
    **{f"{how}layer_norm": "weight∘LayerNorm(x; ε = eps) + bias" for how in ("", "blocked_", "tiled_", "in_two_")},
    "residual_rms_norm": "weight∘RMSNorm(x + residual; ε = eps)",
}
_NUMBERS = itertools.count()


def loaded(folder: Path, name: str, *changes: tuple[str, str]) -> Callable[..., Any]:
    text = SOURCE.read_text(encoding="utf-8")
    start = text.rindex("\n\n\n@triton", 0, text.index(f"def {name}("))
    end = (text + "\n\n\n").index("\n\n\n", text.index(f"def {name}("))
    head, body, rest = text[:start], text[start:end], text[end:]
    for old, new in changes:
        assert old in body, (name, old)
        body = body.replace(old, new)
    path = folder / f"kernels_{next(_NUMBERS)}.py"
    path.write_text(head + body + rest + "\n", encoding="utf-8")
    return resolve(f"{path}:{name}")


def proof_of(target: Callable[..., Any], name: str) -> Proof:
    return prove_target(target, name, "torch", kind="rmsnorm" if "rms" in name else "layernorm", backward=True)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_proved(name: str, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, name), name)
    assert proof.status == ("variant" if name == "residual_rms_norm" else "proved"), str(proof)
    assert proof.text == f"{name} computes {RIGHT[name]}"
    assert not any("one after the other" in text for text in proof.unexamined), "rows may lie apart"
    assert proof.certificates
    assert all(recheck(data) for data in proof.certificates)
    assert any("races" in text for text in proof.unexamined)
    assert {each.text for each in proof.derivatives} == {"derivatives of Triton's kernels are not examined"}


_AROUND = """def around(LARGEST):
    @triton.jit
    def scaled(x, scale, w): return x * scale * w * LARGEST / 65536
    return scaled
_scaled = around(1)
@triton.jit
"""
FAULTS = r"""
layer_norm:
    tl.where(mask, x - mean, 0.0) → x - mean | mean = tl.sum(x, axis=0) / N → mean = tl.sum(x, axis=0) / BLOCK
    tl.sum(xc * xc, axis=0) / N → tl.sum(xc * xc, axis=0) / BLOCK → tl.sum(xc * xc, axis=0)
    var = tl.sum(xc * xc, axis=0) / N → (var,) = [tl.sum(xc * xc, axis=0) / n for n in (N,)]
    xc * (1 / → xc.inside * (1 / | mask=mask, other=0.0) → mask=mask, other=1.0) → mask=mask)
    cols, mask=mask, other=0.0) → cols) | y, mask=mask) → y)
    mask = cols < N → mask = cols < N - 1 → mask = cols <= N → mask = cols < BLOCK
    BLOCK = triton.next_power_of_2(N) → BLOCK = 1024 | BLOCK=BLOCK, → BLOCK=BLOCK // 2,
    cols = tl.arange(0, BLOCK) → cols = tl.arange(0, BLOCK) + 1 | X + row * stride_x → X + (row + 1) * stride_x
    X + row * stride_x + cols → X + cols | _layer[(M,)] → _layer[(M - 1,)] → _layer[(N,)] → _layer[(M, 2)]
    tl.sum(xc * xc → tl.sum(x * x | tl.store(Y + row * stride_y + cols, y, mask=mask) → pass
    cols, y, mask → cols, x, mask
    if HAS_BIAS:\n → for k in range(2):\n → if x:\n → if HAS_BIAS == x:\n → while HAS_BIAS:\n
    tl.store(Mean + row, mean) → tl.store(Y + row * stride_y + cols, x, mask=mask) → tl.store(Y + row, mean)
    tl.where(mask, x - mean → tl.where(x > 0, x - mean | tl.store(Y + → for k in range(0): tl.store(Y +
    rows, y, weight, → rows, y, weight.new_ones(1).expand(N), → rows, y, bias,
    next_power_of_2(N) → next_power_of_2(N) if N <= 4 else 4
residual_rms_norm:
    wide = s → wide = tl.load(S + row * N + cols, mask=mask, other=0.0) | tl.load(R + row * N → tl.load(Y + row * N
    tl.load(W + cols, mask=mask) → tl.load(W + row, mask=mask) | return y.view(x.shape), s → return s.view(x.shape), y
    return y.view → return torch.empty_like(y).view | @triton.jit\n → AROUND
rms_norm:
    args["n_cols"]) → args["n_cols"]) // 2 | wide * wide, axis=0 → wide * cols, axis=0
    / n_cols + eps → / (n_cols - 1) + eps
    rows.stride(0), y.stride(0), rows.shape[1] → rows.shape[1], 1, rows.shape[1]
    load(w_ptr → load((w_ptr if x_ptr.dtype == tl.float32 else y_ptr)
blocked_layer_norm:
    square = 0.0 → square = 1.0 | mean = tl.sum(_mean, axis=0) / N → mean = tl.sum(_mean, axis=0) / N + a
    _mean = tl.zeros([BLOCK] → _mean = tl.full([BLOCK], 1.0
    in range(0, N, BLOCK) → in range(BLOCK, N, BLOCK) → in range(0, N - BLOCK, BLOCK) → in range(0, N, 2 * BLOCK)
    range(tl.cdiv(N, BLOCK)) → range(N // BLOCK) | square += tl → square = tl
    _mean += a → _mean -= a → _mean += a\n        _mean += a → _mean += a\n        X += 1
    _mean += a → _mean += a + tl.sum(_mean, axis=0) | tl.where(cols < N, x - mean, 0.0) → x - mean
    cols = k * BLOCK + → cols = k * (BLOCK - 1) +
tiled_layer_norm:
    (rows < M)[:, None] & inside[None, :] → inside[None, :] → (rows < M)[None, :] & inside[:, None]
    rows < M → rows < M - 1 | rows = tl.program_id(0) * BT → rows = tl.program_id(0) * (BT - 1)
    triton.cdiv(M, meta → (lambda a, b: a // b)(M, meta | tl.sum(x, axis=1) → tl.sum(x, axis=0)
    rows[:, None] * N + cols → rows[:, None] + N * cols | BLOCK=triton.next_power_of_2(N) → BLOCK=16
    key=["N"]) → key=["N"], pre_hook=print) | {"BT": 8}) → {"BT": 8}, pre_hook=print)
strided_rms_norm:
    M, tl.num_programs(0)) → M, 2 * tl.num_programs(0)) | range(tl.program_id(0), M → range(0, M
    tl.program_id(0), M, tl → tl.program_id(0), N, tl
in_two_layer_norm:
    Mean + row → Mean + tl.program_id(1) → Mean | Rstd + row → Rstd | (M, triton.cdiv(N, 128)) → (M, N // 128)
    (M, triton.cdiv(N, 128)) → (triton.cdiv(N, 128), M) → (M, M) → (M, triton.cdiv(N, 128), 2) | BLOCK=128 → BLOCK=64
    cols = tl.program_id(1) * BLOCK → cols = tl.program_id(0) * BLOCK
    tl.store(Y → tl.store(Mean + row, 0)\n    tl.store(Y
headed_rms_norm:
    row // heads, row % heads → row % heads, row // heads → row // heads, row // heads → row // (heads + 1), row % heads
    rows, H, → rows, B, | rows, tl.num → rows - 1, tl.num | HOW == "mean" → HOW == "sum" | HOW="mean" → HOW=x
    tl.num_programs(0) → 64 | row // heads, → row ** heads, | min(rows, 64) → rows // 2
seated_rms_norm:
    (B, H)] → (B,)] → (H, B)] → (B, H - 1)] | b, h, cols = tl.program_id(0), tl. → h, b, cols = tl.program_id(0), tl.
"""
"""What each right kernel becomes: a text, and those that stand in its place, one after the other."""


def faults() -> Iterator[tuple[str, str, str]]:
    name = ""
    for line in FAULTS.strip().splitlines():
        name = name if line[0] == " " else line[:-1]
        for change in line.strip().split(" | ") if line[0] == " " else ():
            old, *made = change.replace("\\n", "\n").replace("AROUND", _AROUND).split(" → ")
            yield from ((name, old, new) for new in made)


@pytest.mark.parametrize(("name", "old", "new"), list(faults()))
def test_no_fault_is_proved(name: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_verdict, "differs", lambda *_: None)  # on terms alone: nothing that is executed could tell
    monkeypatch.setattr(_verdict, "counterexample", lambda *_: None)
    proof = proof_of(loaded(tmp_path, name, (old, new)), name)
    assert proof.status != "proved", str(proof)
    assert proof.text != f"{name} computes {RIGHT[name]}", str(proof)
    if proof.status == "not traced":
        assert re.search(r"\(kernels_\d+\.py:\d+: |no point was found|nothing was written", proof.text), proof.text


ROWS = {
    "program": (PROGRAM, lambda m, e: m),
    "tile": (PROGRAM.times(symbol("E")).plus(symbol("lane")), lambda m, e: -(-m // e)),
    "stride": (PROGRAM.plus(symbol("turn").times(symbol("G"))), lambda m, e: e),
}


def number(value: Whole, names: dict[str, int]) -> int:
    return sum(n * int(np.prod([names[name] for name in monomial])) for monomial, n in value.terms)


@pytest.mark.parametrize("way", ROWS)
def test_each_row_is_written_once(way: str) -> None:
    """Each accepted way to number rows, counted out; and none of its neighbours is accepted."""
    row, programs = ROWS[way]
    M, G, E = symbol("M"), symbol("G"), symbol("E")
    grid = {"program": M, "tile": quotient(M, E)}.get(way, G)
    loops = {"turn": (PROGRAM, M, G)}
    space = Space(grid, {"lane": E}, loops)
    assert space.covers_rows(row, M) == way
    assert space.covers_rows(row.plus(whole(1)), M) is None
    assert space.covers_rows(row, N := symbol("N")) is None, N
    assert Space(grid.plus(whole(1)), {"lane": E}, loops).covers_rows(row, M) is None
    for m, e in itertools.product(range(1, 12), range(1, 6)):
        names, seen = {"M": m, "E": e, "G": e}, []
        for program in range(programs(m, e)):
            turns = range(len(range(program, m, e))) if way == "stride" else [0]
            lanes = range(e) if way == "tile" else [0]
            places = ({"program0": program, "turn": t, "lane": k, **names} for t in turns for k in lanes)
            seen += [at for place in places if (at := number(row, place)) < m]
        assert sorted(seen) == list(range(m))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("eps)", "eps)"), "variant: normalized value cast to bfloat16 before the gain (as Llama)"),
        ((", other=0)\n    wide", ")\n    wide"), "variant: normalized value cast to bfloat16"),
        (("* w,", "* (w + 1),"), "gain used as 1 + gain, rounded to bfloat16 (as Nemotron)\n"),
        (("w_ptr + cols, mask=cols < n_cols", "w_ptr + cols"), "reads beyond the end of w_ptr at d = 3 (kernels_"),
        (("* w, mask=cols < n_cols", "* w"), "writes beyond the end of y_ptr at d = 3 (kernels_"),
    ],
)
def test_a_kernel_is_checked(change: tuple[str, str], told: str, tmp_path: Path, capsys: Any) -> None:
    code = loaded(tmp_path, "rms_norm", change).__code__
    ended = main(["check", f"{code.co_filename}:rms_norm", "--kind", "rmsnorm", "--dtype", "bfloat16"])
    shown = capsys.readouterr().out
    assert told in shown, shown
    assert ended == 1
    assert ("bug: " in shown) == ("beyond" in told)
    assert "interpreted: order and rounding of sums are not the GPU's, and a load without" in shown


_FIRST = ("row = tl.program_id(0).to(tl.int64)", "first = tl.program_id(0)\n    row = first.to(tl.int64)")


@pytest.mark.parametrize(
    ("change", "text", "named"),
    [
        (("row * y_row", "row * x_row"), "rows of an input do not lie one after the other", True),  # as without gaps
        (("row * x_row", "row * x_row"), "computed in 32 bits", False),
        (("row * x_row", "(first * x_row).to(tl.int64)"), "computed in 32 bits", True),
        (("wide * wide", "(wide * wide).to(tl.float16)"), "a cast to float16, which no array has", True),
    ],
)
def test_what_is_not_examined_is_named(change: tuple[str, str], text: str, named: bool, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, "rms_norm", _FIRST, change), "rms_norm")
    assert proof.status == "proved", str(proof)
    assert any(text in each for each in proof.unexamined) == named


def test_sizes_that_are_not_followed_are_named(tmp_path: Path) -> None:
    change = "next_power_of_2(N)", "next_power_of_2(N) if N <= 4096 else 4096"
    proof = proof_of(loaded(tmp_path, "layer_norm", change), "layer_norm")
    assert (proof.status, proof.dimensions) == ("proved", "every d ≥ 1 with d ≤ 4096 and next_power_of_2(d) ≤ 65536")
    assert any("d > 4096 (4096 lanes need not reach" in text for text in proof.unexamined)
    text = SOURCE.read_text(encoding="utf-8").replace("BLOCK > LARGEST", "BLOCK > LARGEST and N > 9")
    (tmp_path / "kernels_of_sizes.py").write_text(text, encoding="utf-8")
    proof = proof_of(resolve(f"{tmp_path}/kernels_of_sizes.py:layer_norm"), "layer_norm")
    assert proof.dimensions == "every d ≥ 1 but for sizes that are not examined"


@pytest.mark.parametrize("asks", ["x.stride(-1) == 1", "x.is_contiguous()"])
def test_plain_code_is_not_told_of_memory(asks: str) -> None:
    code = eval(f"lambda x, weight: x * weight if {asks} else x")
    assert "is not among the operations that are traced" in prove_target(code, "code", "torch").text


def test_empty_memory_is_no_zeros() -> None:
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-6) + 0 * torch.empty_like(x)

    assert "nothing was written into" in prove_target(norm, "norm", "torch").text
