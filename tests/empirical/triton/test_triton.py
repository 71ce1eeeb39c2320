"""Kernels of Triton without a GPU and without Triton: proved for every block where right, and no fault is proved."""

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from empirical.check._target import resolve
from empirical.proving import Proof, _backward, _verdict, prove_target
from empirical.tracing.triton._whole import PROGRAM, Space, Whole, least, quotient, symbol, whole
from lngeom.checker import recheck
from lngeom.cli import main

SOURCE = Path(__file__).with_name("kernels.py")
RIGHT = {
    **dict.fromkeys([f"{how}rms_norm" for how in ("", "headed_", "seated_")], "weight∘RMSNorm(x; ε = eps)"),
    **{f"{how}layer_norm": "weight∘LayerNorm(x; ε = eps) + bias" for how in ("", "blocked_", "tiled_", "in_two_")},
    "residual_rms_norm": "weight∘RMSNorm(x + residual; ε = eps)",
    **dict.fromkeys(["in_tiles_rms_norm", "atomic_rms_norm"], "weight∘RMSNorm(x; ε = eps)"),
    "pulled_layer_norm": "weight∘LayerNorm(x; ε = eps) + bias",
}
FIRST = {"pulled_layer_norm": "_pull", "in_tiles_rms_norm": "_pull_tiles", "atomic_rms_norm": "_pull_row"}
"""Those with a backward pass, and the first kernel that is theirs."""
_NUMBERS = itertools.count()


def loaded(folder: Path, name: str, *changes: tuple[str, str]) -> Callable[..., Any]:
    text = SOURCE.read_text(encoding="utf-8")
    first = text.index(f"def {FIRST[name]}(") if name in FIRST else text.index(f"def {name}(")
    start = text.rindex("\n\n\n@triton", 0, first)
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
    own = name in FIRST
    assert {(each.status, each.text) for each in proof.derivatives} == {
        ("proved", "") if own else ("not traced", "it has no backward pass")
    }


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
in_two_layer_norm:
    Mean + row → Mean + tl.program_id(1) → Mean | Rstd + row → Rstd | (M, triton.cdiv(N, 128)) → (M, N // 128)
    (M, triton.cdiv(N, 128)) → (triton.cdiv(N, 128), M) → (M, M) → (M, triton.cdiv(N, 128), 2) | BLOCK=128 → BLOCK=64
    cols = tl.program_id(1) * BLOCK → cols = tl.program_id(0) * BLOCK
    tl.store(Y → tl.store(Mean + row, 0)\n    tl.store(Y
headed_rms_norm:
    row // heads, row % heads → row % heads, row // heads → row // heads, row // heads → row // (heads + 1), row % heads
    rows, H, → rows, B, | rows, tl.num → rows - 1, tl.num | HOW == "mean" → HOW == "sum" | HOW="mean" → HOW=x
    tl.num_programs(0) → 64 → 2 * tl.num_programs(0) | range(tl.program_id(0), → range(0,
    row // heads, → row ** heads, | min(rows, 64) → rows // 2
pulled_layer_norm:
    xhat * wdy, axis=0) / N → xhat * wdy, axis=0) → xhat * wdy, axis=0) / BLOCK → xhat * dy, axis=0) / N
    xhat * c1 + c2 → xhat * c2 + c1 → xhat * c1 - c2 → xhat * c1 | c2)) * rstd → c2)) | wdy = w * dy → wdy = dy
    dw += dy * xhat → dw += wdy * xhat → dw = dy * xhat → dw += dy * x → dw += dy * xhat + dw
    db += dy → db += wdy → db += dy\n        db += dy
    db += dy → db += dy\n        tl.store(DB + program * N + cols, db, mask=mask)
    (x - mean) * rstd → (x - mean) / rstd → x * rstd | Mean + row → Mean + program → Mean
    X += stride\n → pass\n → X += N + stride\n → X += stride\n        X += stride\n → X = X\n
    DY += first * N → DY += N
    X += stride\n        DY → X += stride * (row > 0)\n        DY → X += row\n        DY → X += tl.load(X)\n        DY
    DY += N → DY += first
    if HAS_BIAS:\n            DX += N → if x:\n            DX += N → while N:\n            DX += N
    first = program * share → first = program * (share - 1) → first = program | program = tl.program_id(0) → program = 0
    min(first + share, M) → first + share → min(first + share, M - 1) → M → min(first + share, N) → min(first, M)
    tl.store(DW + program → tl.store(DW + 2 * program → tl.store(DB + program | DW + program * N → DW + N
    cols, dw, mask=mask → cols, dw, mask=cols < N - 1 → cols, dw | math.ceil(M / programs) → M // programs
    math.ceil(M / programs) → math.ceil(programs / M) → math.ceil(N / programs) → math.ceil(M / 8)
    dw.sum(0) → dw.mean(0) → dw[0] → dw.sum(1) → (2 * dw.sum(0)) → dw.sum(0).square() → dw
    [(programs,)] → [(programs - 1,)] → [(2 * programs,)] → [(M,)] → [(N,)] → [(programs, 2)]
    (rows, weight, mean → (x, weight, mean | mean, rstd)\n        return → rstd, mean)\n        return
    dw, db, dy → db, dw, dy
    db.sum(0).to(weight.dtype), None → dw.sum(0).to(weight.dtype), None → None, None
    Pulled.apply(x → Pulled.apply(x.square() → x + Pulled.apply(x → 2 * Pulled.apply(x → Pulled.apply(x, x[0, 0]
in_tiles_rms_norm:
    axis=1)[:, None] / N → axis=1)[:, None] → axis=1)[:, None] / BLOCK → axis=0)[None, :] / N
    tl.program_id(0) * BT, M → tl.program_id(0), M → 0, M | M, tl.num_programs(0) * BT → M, tl.num_programs(0) → M, BT
    mask=there, other=0.0 → mask=there → other=0.0 | (X + at, mask=mask, other=0.0 → (X + at, mask=mask
    (DY + at, mask=mask, other=0.0 → (DY + at, mask=mask | wdy - xhat * c → wdy + xhat * c → wdy - c
    dw += tl.sum(dy * xhat, axis=0) → dw += tl.sum(dy * xhat, axis=1) → dw += w → dw += tl.sum(dy * x, axis=0)
    dw += tl.sum(dy * xhat, axis=0) → dw += tl.sum(dy * xhat + w[None, :], axis=0) → dw += tl.sum(dy * xhat)
    there = rows < M → there = rows < M - 1 → there = rows <= M → there = rows < M + BT → there = cols < M
    DW + tl.program_id(0) * N + cols, dw → DW + cols, dw | (8, N) → (M, N) → (16, N)
    parts, 8, → parts, 7, → parts, 16,
    tl.program_id(0) * BLOCK + tl → tl | range(0, P, BT) → range(0, P, 2 * BT) → range(BT, P, BT) → range(0, P - 1, BT)
    total += tl.load → total = tl.load | tl.sum(total, axis=0) → tl.sum(total, axis=1) → total
    _tiles[(8,)] → _tiles[(7,)]
    triton.cdiv(N, 32) → N // 32 → triton.cdiv(N, 64) → 1 | tl.zeros((BT, BLOCK) → tl.full((BT, BLOCK), 1.0
    tl.store(DW + cols, tl.sum(total, axis=0), mask=cols < N)
    tl.store(DW + cols, tl.sum(total → tl.atomic_add(DW + cols, tl.sum(total
atomic_rms_norm:
    torch.zeros(N → torch.zeros((4, N) | DW + cols, dy → DW + row % 4 * N + cols, dy
    torch.zeros(N → torch.empty(N → torch.ones(N | tl.atomic_add → tl.store
    dy * xhat, mask → dy * x, mask → wdy * xhat, mask
    tl.atomic_add(DW → if row < 1: tl.atomic_add(DW → for k in range(2): tl.atomic_add(DW
    DW + cols, dy → DW + row * N + cols, dy → DW + cols + 1, dy | [(M,)] → [(M - 1,)] → [(M, 2)] → [(N,)]
    mask=mask, other=0.0)\n    wdy → mask=mask)\n    wdy | xhat * tl.sum → tl.sum
    (Rstd + row)\n    tl → (Rstd)\n    tl
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
    monkeypatch.setattr(_backward, "_executed", lambda *_: "")
    proof = proof_of(loaded(tmp_path, name, (old, new)), name)
    if name in FIRST and proof.derivatives:
        statuses = {each.name: each.status for each in proof.derivatives}
        assert set(statuses.values()) != {"proved"}, str(proof)
        return
    assert proof.status != "proved", str(proof)
    assert proof.text != f"{name} computes {RIGHT[name]}", str(proof)
    if proof.status == "not traced":
        assert re.search(r"\(kernels_\d+\.py:\d+: |no point was found|nothing was written", proof.text), proof.text


ROWS = {  # way: row, first and step of its turns, programs
    "program": ("program0", None, lambda m, e, g: m),
    "tile": ("program0·E + lane", None, lambda m, e, g: -(-m // e)),
    "stride": ("program0 + turn·G", ("program0", "M", "G"), lambda m, e, g: g),
    "strides of tiles": ("program0·E + turn·E·G + lane", ("program0·E", "M", "E·G"), lambda m, e, g: g),
    "every": ("turn", ("", "M", "1"), lambda m, e, g: g),
    "every tile": ("turn·E + lane", ("", "M", "E"), lambda m, e, g: g),
    "share": ("program0·S + turn", ("program0·S", "least", "1"), lambda m, e, g: g),
}


def polynomial(text: str) -> Whole:
    terms = (symbol(*term.split("·")) if term not in ("1", "") else whole(int(term or 0)) for term in text.split(" + "))
    return functools.reduce(Whole.plus, terms)


def number(value: Whole, names: dict[str, int]) -> int:
    return sum(n * int(np.prod([names[name] for name in monomial])) for monomial, n in value.terms)


@pytest.mark.parametrize("way", ROWS)
def test_each_row_is_counted_once(way: str) -> None:
    """Each accepted way to number rows, counted out; and none of its neighbours is accepted."""
    text, bounds, programs = ROWS[way]
    row, M, G, E = polynomial(text), symbol("M"), symbol("G"), symbol("E")
    grid = {"program": M, "tile": quotient(M, E)}.get(way, G)
    share = quotient(M, G)
    row = row if way != "share" else PROGRAM.times(share).plus(symbol("turn"))
    start, stop, step = map(polynomial, bounds or ("", "M", "1"))
    if way == "share":
        start, stop = PROGRAM.times(share), least(PROGRAM.times(share).plus(share), M)
    space = Space(grid, {"lane": E}, {"turn": (start, stop, step)})
    assert space.covers_rows(row, M)
    assert space.covers_rows(row.plus(whole(1)), M) is None
    if "every" not in way:  # there, all have all
        assert Space(grid.plus(whole(1)), {"lane": E}, space.loops).covers_rows(row, M) is None
    if bounds:
        for changed in (
            (start.plus(whole(1)), stop, step),
            (start, stop.plus(whole(1)), step),
            (start, stop, step.times(E)),
        ):
            assert Space(grid, {"lane": E}, {"turn": changed}).covers_rows(row, M) is None
    assert space.covers_rows(row, symbol("N")) is None
    for m, e, g in itertools.product(range(1, 10), range(1, 5), range(1, 5)):
        names, seen = {"M": m, "E": e, "G": g, "S": -(-m // g)}, []
        for program in range(programs(m, e, g)):
            first, by = (
                number(polynomial(one), names | {"program0": program}) for one in (bounds or ("", "", "1"))[::2]
            )
            last = min(first + names["S"], m) if way == "share" else m
            turns = range(len(range(first, last, by))) if bounds else [0]
            places = (
                {"program0": program, "turn": t, "lane": k} | names
                for t in turns
                for k in range(("lane" in text and e) or 1)
            )
            own = [at for place in places if (at := number(polynomial(text), place)) < m]
            assert "every" not in way or sorted(own) == list(range(m))
            seen = own if "every" in way else seen + own
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


_OWN = (
    ("_scales[(M,)](rows, y,", "y = torch.empty_like(x)\n        _scales[(M,)](rows, y,"),
    ("return y.view(x.shape)", "return y"),
    ("return InTiles.apply(x, weight, eps)", "return InTiles.apply(x, weight, eps).mul_(1)"),
)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("pulled_layer_norm", [("Pulled.apply(x", "Pulled.apply(x.detach()")], "autograd gives no derivative by x"),
        ("in_tiles_rms_norm", _OWN, "computed beside a function"),
        ("pulled_layer_norm", [("M / programs), dy", "M / programs) if M < 64 else 1, dy")], "proved, where 64 > B·L"),
        (
            "pulled_layer_norm",
            [("for row in", "for k in range(2):\n      for row in")],
            "dw lives longer than the loop",
        ),
        ("pulled_layer_norm", [("mean, rstd, x.str", "mean, mean, x.str")], "as it runs is not the one|d = "),
    ],
)
def test_what_is_wrong_around_a_backward_pass_is_told(name: str, changes: Any, told: str, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, name, *changes), name)
    assert any(re.search(told, str(each), re.IGNORECASE) for each in proof.derivatives), str(proof)


def test_an_autotuned_kernel_that_adds_to_memory_is_not_followed(tmp_path: Path) -> None:
    tuned = 'triton.autotune([triton.Config({"BLOCK": 2**k}) for k in (8, 9)], key=[])\n@triton.jit\ndef _pull_row'
    changes = (
        ("triton.jit\ndef _pull_row", tuned),
        ("rstd, N, BLOCK=next_power(N))\n        return dx", "rstd, N)\n        return dx"),
    )
    (text,) = {
        each.text for each in proof_of(loaded(tmp_path, "atomic_rms_norm", *changes), "atomic_rms_norm").derivatives
    }
    assert "need not reach the end of a row" in text or "adds to what it wrote" in text


_FEW = ("multi_processor_count\n", "multi_processor_count\n        programs = max(1, min(programs, M))\n")
_GROUPS = (
    ("torch.zeros(N", "torch.zeros((4, N)"),
    ("DW + cols, dy", "DW + row % 4 * N + cols, dy"),
    ("dy.shape), dw", "dy.shape), dw.sum(0)"),
)


@pytest.mark.parametrize(
    ("name", "changes", "right"),
    [
        ("pulled_layer_norm", [_FEW], True),
        ("pulled_layer_norm", [_FEW, ("math.ceil(M / programs)", "M // programs")], False),
        ("atomic_rms_norm", _GROUPS, True),
        ("atomic_rms_norm", [*_GROUPS, ("row % 4", "row % 5")], False),
        ("atomic_rms_norm", [*_GROUPS, ("row % 4", "row // 4")], False),
    ],
)
def test_sums_by_few_programs_and_in_groups(name: str, changes: Any, right: bool, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, name, *changes), name)
    assert ({each.status for each in proof.derivatives} == {"proved"}) == right, str(proof)


@pytest.mark.parametrize("asks", ["x.stride(-1) == 1", "x.is_contiguous()"])
def test_plain_code_is_not_told_of_memory(asks: str) -> None:
    code = eval(f"lambda x, weight: x * weight if {asks} else x")
    assert "is not among the operations that are traced" in prove_target(code, "code", "torch").text


def test_empty_memory_is_no_zeros() -> None:
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-6) + 0 * torch.empty_like(x)

    assert "nothing was written into" in prove_target(norm, "norm", "torch").text
