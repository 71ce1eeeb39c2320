"""Kernels of Triton without a GPU and without Triton: proved for every block where right, and no fault is proved."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from empirical.check._target import resolve
from empirical.proving import Proof, _verdict, prove_target
from empirical.tracing.triton._whole import PROGRAM, Loop, Space, Whole, quotient, symbol, whole
from lngeom.checker import recheck

SOURCE = Path(__file__).with_name("kernels.py")
RIGHT = {
    "layer_norm": "weight∘LayerNorm(x; ε = eps) + bias",
    "rms_norm": "weight∘RMSNorm(x; ε = eps)",
    "blocked_layer_norm": "weight∘LayerNorm(x; ε = eps) + bias",
    "tiled_layer_norm": "weight∘LayerNorm(x; ε = eps) + bias",
    "strided_rms_norm": "weight∘RMSNorm(x; ε = eps)",
    "residual_rms_norm": "weight∘RMSNorm(x + residual; ε = eps)",
}
_NUMBERS = itertools.count()


def loaded(folder: Path, name: str, *changes: tuple[str, str]) -> Callable[..., Any]:
    """A program of the kernels' file, in a module of its own in which texts are changed."""
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
    return prove_target(target, name, "torch", kind="rmsnorm" if "rms" in name else "layernorm")


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_proved(name: str, tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, name), name)
    assert proof.status == ("variant" if name == "residual_rms_norm" else "proved"), str(proof)
    assert proof.text == f"{name} computes {RIGHT[name]}"
    assert not any("one after the other" in text for text in proof.unexamined), "rows may lie apart"
    assert proof.certificates
    assert all(recheck(data) for data in proof.certificates)
    assert any("races" in text for text in proof.unexamined)


_AROUND = """def around(LARGEST):
    @triton.jit
    def scaled(x, scale, w):
        return x * scale * w * LARGEST / 65536
    return scaled
_scaled = around(1)
@triton.jit
"""
FAULTS: dict[str, tuple[str, str, str]] = {
    "variance over the padding": ("layer_norm", "tl.where(mask, x - mean, 0.0)", "x - mean"),
    "mean over the block": ("layer_norm", "mean = tl.sum(x, axis=0) / N", "mean = tl.sum(x, axis=0) / BLOCK"),
    "variance over the block": ("layer_norm", "tl.sum(xc * xc, axis=0) / N", "tl.sum(xc * xc, axis=0) / BLOCK"),
    "padding of 1": ("layer_norm", "mask=mask, other=0.0)", "mask=mask, other=1.0)"),
    "padding undefined": ("layer_norm", "mask=mask, other=0.0)", "mask=mask)"),
    "load without a mask": ("layer_norm", "cols, mask=mask, other=0.0)", "cols)"),
    "store without a mask": ("layer_norm", "y, mask=mask)", "y)"),
    "mask one short": ("layer_norm", "mask = cols < N", "mask = cols < N - 1"),
    "mask one long": ("layer_norm", "mask = cols < N", "mask = cols <= N"),
    "mask of the block": ("layer_norm", "mask = cols < N", "mask = cols < BLOCK"),
    "a fixed block": ("layer_norm", "BLOCK = triton.next_power_of_2(N)", "BLOCK = 1024"),
    "half a block": ("layer_norm", "BLOCK=BLOCK,", "BLOCK=BLOCK // 2,"),
    "columns by one": ("layer_norm", "cols = tl.arange(0, BLOCK)", "cols = tl.arange(0, BLOCK) + 1"),
    "the next row": ("layer_norm", "X + row * stride_x", "X + (row + 1) * stride_x"),
    "always the first row": ("layer_norm", "X + row * stride_x + cols", "X + cols"),
    "one program too few": ("layer_norm", "_layer[(M,)]", "_layer[(M - 1,)]"),
    "a program for each column": ("layer_norm", "_layer[(M,)]", "_layer[(N,)]"),
    "sum of squares not divided": ("layer_norm", "tl.sum(xc * xc, axis=0) / N", "tl.sum(xc * xc, axis=0)"),
    "mean not in the variance": ("layer_norm", "tl.sum(xc * xc", "tl.sum(x * x"),
    "nothing stored": ("layer_norm", "tl.store(Y + row * stride_y + cols, y, mask=mask)", "pass"),
    "store of the input": ("layer_norm", "cols, y, mask", "cols, x, mask"),
    "bias twice": ("layer_norm", "if HAS_BIAS:\n", "for k in range(2):\n"),
    "stored twice": ("layer_norm", "tl.store(Mean + row, mean)", "tl.store(Y + row * stride_y + cols, x, mask=mask)"),
    "statistic in the output": ("layer_norm", "tl.store(Mean + row, mean)", "tl.store(Y + row, mean)"),
    "read after a store": ("residual_rms_norm", "wide = s", "wide = tl.load(S + row * N + cols, mask=mask, other=0.0)"),
    "a choice by data": ("layer_norm", "tl.where(mask, x - mean", "tl.where(x > 0, x - mean"),
    "block by the next block": ("rms_norm", 'args["n_cols"])', 'args["n_cols"]) // 2'),
    "squares of rounded numbers of columns": ("rms_norm", "wide * wide, axis=0", "wide * cols, axis=0"),
    "wrong divisor": ("rms_norm", "/ n_cols + eps", "/ (n_cols - 1) + eps"),
    "strides exchanged": ("rms_norm", "rows.stride(0), y.stride(0), rows.shape[1]", "rows.shape[1], 1, rows.shape[1]"),
    "accumulator starts at 1": ("blocked_layer_norm", "square = 0.0", "square = 1.0"),
    "block of sums starts at 1": ("blocked_layer_norm", "_mean = tl.zeros([BLOCK]", "_mean = tl.full([BLOCK], 1.0"),
    "loop from the second block": ("blocked_layer_norm", "in range(0, N, BLOCK)", "in range(BLOCK, N, BLOCK)"),
    "loop to the last block": ("blocked_layer_norm", "in range(0, N, BLOCK)", "in range(0, N - BLOCK, BLOCK)"),
    "every second block": ("blocked_layer_norm", "in range(0, N, BLOCK)", "in range(0, N, 2 * BLOCK)"),
    "blocks rounded down": ("blocked_layer_norm", "range(tl.cdiv(N, BLOCK))", "range(N // BLOCK)"),
    "the last block alone": ("blocked_layer_norm", "square += ", "square = "),
    "subtracted": ("blocked_layer_norm", "_mean += a", "_mean -= a"),
    "added twice": ("blocked_layer_norm", "_mean += a", "_mean += a\n        _mean += a"),
    "read while summed": ("blocked_layer_norm", "_mean += a", "_mean += a + tl.sum(_mean, axis=0)"),
    "loop without the choice": ("blocked_layer_norm", "tl.where(cols < N, x - mean, 0.0)", "x - mean"),
    "blocks overlap": ("blocked_layer_norm", "cols = k * BLOCK +", "cols = k * (BLOCK - 1) +"),
    "a step of the pointer": ("blocked_layer_norm", "_mean += a", "_mean += a\n        X += 1"),
    "no mask of rows": ("tiled_layer_norm", "(rows < M)[:, None] & inside[None, :]", "inside[None, :]"),
    "mask of rows one short": ("tiled_layer_norm", "rows < M", "rows < M - 1"),
    "tiles overlap": ("tiled_layer_norm", "rows = tl.program_id(0) * BT", "rows = tl.program_id(0) * (BT - 1)"),
    "tiles rounded down": ("tiled_layer_norm", "triton.cdiv(M, meta", "(lambda a, b: a // b)(M, meta"),
    "sum over rows": ("tiled_layer_norm", "tl.sum(x, axis=1)", "tl.sum(x, axis=0)"),
    "rows and columns exchanged": ("tiled_layer_norm", "rows[:, None] * N + cols", "rows[:, None] + N * cols"),
    "a lane for both": ("tiled_layer_norm", "BLOCK=triton.next_power_of_2(N)", "BLOCK=16"),
    "stride of the loop": ("strided_rms_norm", "M, tl.num_programs(0))", "M, 2 * tl.num_programs(0))"),
    "loop from the first row": ("strided_rms_norm", "range(tl.program_id(0), M", "range(0, M"),
    "loop to N": ("strided_rms_norm", "tl.program_id(0), M, tl", "tl.program_id(0), N, tl"),
    "another launch's array": ("residual_rms_norm", "tl.load(R + row * N", "tl.load(Y + row * N"),
    "gain of another row": ("residual_rms_norm", "tl.load(W + cols, mask=mask)", "tl.load(W + row, mask=mask)"),
    "output is the sum": ("residual_rms_norm", "return y.view(x.shape), s", "return s.view(x.shape), y"),
    "output of empty memory": ("residual_rms_norm", "return y.view", "return torch.empty_like(y).view"),
    "stored in no turn": ("layer_norm", "tl.store(Y +", "for k in range(0): tl.store(Y +"),
    "programs along a second axis": ("layer_norm", "_layer[(M,)]", "_layer[(M, 2)]"),
    "gain of one place": ("layer_norm", "rows, y, weight,", "rows, y, weight.new_ones(1).expand(N),"),
    "mask.T": ("tiled_layer_norm", "(rows < M)[:, None] & inside[None, :]", "(rows < M)[None, :] & inside[:, None]"),
    "format of a pointer": ("rms_norm", "load(w_ptr", "load((w_ptr if x_ptr.dtype == tl.float32 else y_ptr)"),
    "hook of tuning": ("tiled_layer_norm", 'key=["N"])', 'key=["N"], pre_hook=print)'),
    "hook of a configuration": ("tiled_layer_norm", '{"BT": 8})', '{"BT": 8}, pre_hook=print)'),
    "name around a kernel": ("residual_rms_norm", "@triton.jit\n", _AROUND),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_is_proved(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On terms alone: nothing that is executed could tell."""
    name, old, new = FAULTS[fault]
    monkeypatch.setattr(_verdict, "differs", lambda *_: None)
    monkeypatch.setattr(_verdict, "counterexample", lambda *_: None)
    proof = proof_of(loaded(tmp_path, name, (old, new)), name)
    assert proof.status != "proved", str(proof)
    assert proof.text != f"{name} computes {RIGHT[name]}", str(proof)


ROWS = {
    "program": (PROGRAM, lambda m, e: m),
    "tile": (PROGRAM.times(symbol("E")).plus(symbol("lane")), lambda m, e: -(-m // e)),
    "stride": (PROGRAM.plus(symbol("turn").times(symbol("G"))), lambda m, e: e),
}


def number(value: Whole, names: dict[str, int]) -> int:
    """A whole number with numbers for its names."""
    return sum(n * int(np.prod([names[name] for name in monomial])) for monomial, n in value.terms)


@pytest.mark.parametrize("way", ROWS)
def test_each_row_is_written_once(way: str) -> None:
    """Each accepted way to number rows, counted out; and none of its neighbours is accepted."""
    row, programs = ROWS[way]
    M, G, E = symbol("M"), symbol("G"), symbol("E")
    grid = {"program": M, "tile": quotient(M, E)}.get(way, G)
    loops = {"turn": Loop(PROGRAM, M, G)}
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


def test_an_access_beyond_the_end_is_seen(tmp_path: Path) -> None:
    kernel = loaded(
        tmp_path, "rms_norm", ("(wide * scale).to(y_ptr.dtype.element_ty) * w, mask=cols < n_cols", "wide * scale * w")
    )
    with pytest.raises(IndexError, match="memory is written beyond its end"):
        kernel(torch.ones(3, 5), torch.ones(5))


def test_what_runs_is_the_norm(tmp_path: Path) -> None:
    x, weight = torch.randn(2, 3, 70, dtype=torch.bfloat16), torch.randn(70, dtype=torch.bfloat16)
    got = loaded(tmp_path, "strided_rms_norm")(x, weight)
    wanted = torch.nn.functional.rms_norm(x.float(), (70,), weight.float(), 1e-6)
    assert ((got - wanted).abs() <= 2.0**-8 * wanted.abs()).all(), "one rounding to bfloat16"


def test_rows_that_lie_apart_are_named(tmp_path: Path) -> None:
    """A stride of the output that is the input's holds for inputs without gaps."""
    proof = proof_of(loaded(tmp_path, "rms_norm", ("row * y_row", "row * x_row")), "rms_norm")
    assert proof.status == "proved"
    assert any("rows of an input do not lie one after the other" in text for text in proof.unexamined)


@pytest.mark.parametrize(("row", "late"), [("row * x_row", False), ("(first * x_row).to(tl.int64)", True)])
def test_a_product_of_32_bits_is_named(row: str, late: bool, tmp_path: Path) -> None:
    first = "first = tl.program_id(0)\n    row = first.to(tl.int64)"
    changes = ("row = tl.program_id(0).to(tl.int64)", first), ("row * x_row", row)
    proof = proof_of(loaded(tmp_path, "rms_norm", *changes), "rms_norm")
    assert proof.status == "proved", str(proof)
    assert any("computed in 32 bits" in text for text in proof.unexamined) == late


def test_a_refusal_names_the_line(tmp_path: Path) -> None:
    proof = proof_of(loaded(tmp_path, "layer_norm", ("mask=mask, other=0.0)", "mask=mask)")), "layer_norm")
    assert "which nothing defines (kernels_" in proof.text
    assert "mean = tl.sum(x, axis=0) / N" in proof.text


@pytest.mark.parametrize("asks", ["x.stride(-1) == 1", "x.is_contiguous()"])
def test_plain_code_is_not_told_of_memory(asks: str) -> None:
    code = eval(f"lambda x, weight: x * weight if {asks} else x")
    assert "is not among the operations that are traced" in prove_target(code, "code", "torch").text


def test_empty_memory_is_no_zeros() -> None:
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-6) + 0 * torch.empty_like(x)

    assert "nothing was written into" in prove_target(norm, "norm", "torch").text
