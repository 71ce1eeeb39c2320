"""Kernels of Triton on a machine without a GPU, from the command line."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None or torch.cuda.is_available(),
    reason="needs triton and no GPU: pip install triton (Linux, 200 MB)",
)

KERNELS = """
import torch, triton
import triton.language as tl
from triton.language.extra.libdevice import rsqrt
from triton.language.math import sqrt
@triton.autotune([triton.Config({}, num_warps=1), triton.Config({}, num_warps=2)], key=["d"])
@triton.jit
def kernel(y, x, w, eps, stride, d, ONE: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    given = tl.load(x + row * stride + at, mask=at < d, other=0.0).to(tl.float32)
    r = rsqrt(tl.sum(given * given, 0) / d + eps.to(tl.float32))
    gain = tl.load(w + at, mask=at < d) + (sqrt(r * 0 + 1) if ONE else 0.0)
    tl.store(y + row * d + at, (given * r).to(y.dtype.element_ty) * gain.to(y.dtype.element_ty), mask=at < d)
def run(x, weight, eps, one):
    rows = x.reshape(-1, x.shape[-1])
    y, d = rows.new_empty(rows.shape), x.shape[-1]
    if len(rows):
        with torch.cuda.device(x.device.index):
            kernel[(len(rows),)](y, rows.contiguous(), weight, eps, d, d, one, triton.next_power_of_2(d))
    return y.reshape(x.shape)
@triton.jit
def short(y, x, eps, d, HOW: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    given = tl.load(x + row * d + at, mask=at < d, other=0.0)
    halves = tl.reshape(given, (2, BLOCK // 2))
    if HOW == 0:  # sums in bfloat16 of a number and of zeros are exact
        one = tl.where(at == 0, given, 0.0)
        sums = tl.sum(one, 0) * 0 + tl.max(tl.cumsum(one * 0, 0), 0) + tl.sum(tl.sum(halves * 0, 1, keep_dims=True))
        scale = tl.where(sums + tl.sum(one, 0) == tl.sum(one.to(tl.float32)), 1.0, 0.0)
    else:
        scale = tl.load(x + 1_000_000_000)
    wide = given.to(tl.float32)
    r = scale / tl.sqrt(tl.sum(wide * wide, 0) / d + eps)
    tl.store(y + row * d + at, (wide * r).to(y.dtype.element_ty), mask=at < d)
def in_short(x, eps, how):
    y, d = torch.empty_like(rows := x.reshape(-1, x.shape[-1]).contiguous()), x.shape[-1]
    if len(rows):
        short[(len(rows),)](y, rows, eps, d, how, max(2, triton.next_power_of_2(d)))
    return y.reshape(x.shape)
def sums(x, eps): return in_short(x, eps, 0)
def outside(x, eps): return in_short(x, eps, 1)
def llama(x, weight, eps): return run(x, weight, eps, False)
def gemma(x, weight, eps): return run(x, weight, eps, True)
"""


_NOTE = "interpreted: order and rounding of sums are not the GPU's"


@pytest.mark.parametrize(
    ("name", "told", "more"),
    [
        ("llama", "ok: within rounding", _NOTE),
        ("gemma", "variant: gain used as 1 + gain", _NOTE),
        ("sums", "ok: within rounding", _NOTE),
        ("outside", "bug: a call with x of shape (3, 8) ends the process by signal 11 (SIGSEGV)", "--reproducer FILE"),
    ],
)
def test_a_kernel_is_interpreted(name: str, told: str, more: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    spec = "torch" if name in ("sums", "outside") else "llama"
    asked = f"check kernels:{name} --kind rmsnorm --eps 1e-5 --d 8 --dtype bfloat16 --spec {spec}".split()
    done = subprocess.run([sys.executable, "-m", "lngeom", *asked], cwd=tmp_path, capture_output=True, text=True)
    assert told in done.stdout, done
    assert more in done.stdout
