"""The fused reductions of hidden states, which PyTorch compiles to C++ and to Triton, beside the plain ones.

Triton needs no GPU here: its interpreter runs the very code that PyTorch writes, which is told that the CPU is what
it writes Triton for. That takes a process of its own.
"""

import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

from lngeom.empirical.models import NormSite
from lngeom.empirical.observe import Observer, observer as _observer, sketch
from lngeom.errors import InputError

from ..conftest import WIDTH, tiny_model
from ..oracle import IDS, disagreements, measured_and_stored
from .sketches import excess

D = WIDTH  # of the tiny models, for which these are compiled
SITE = NormSite("0", None, "final", "layernorm", 1e-5, D)
COMPILER = pytest.mark.skipif(
    not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="needs a C++ compiler on the path"
)
TRITON = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="needs triton: pip install triton (Linux, 280 MB)"
)


def apart(rows: int, dtype: torch.dtype) -> float:
    """How far the two paths are apart, in units of what one may be off by."""
    scales = torch.tensor([1.0, 1e-6, 1e6, 1e-20, 1e18])[torch.arange(rows) % 5, None]
    offsets = torch.tensor([3.0, 3000.0])[torch.arange(rows) % 2, None]  # far from 0 a difference of squares fails
    generator = torch.Generator().manual_seed(rows)
    # Not parallel, or either path would take the row in float64.
    signs = torch.ones(2, D) * torch.tensor([1.0, -1.0]).repeat(D // 2)[None] ** torch.tensor([[0], [1]])
    x, z = ((scales * (torch.randn(rows, D, generator=generator) + offsets * sign)).to(dtype) for sign in signs)
    directions = torch.eye(D)[:, :2].contiguous()
    plain, compiled = (sketch(x, z, directions, compiled=way) for way in (False, True))
    return excess(compiled, plain)


def through_triton() -> None:
    """In a process of its own: all that is compiled for the CPU becomes Triton, which is interpreted."""
    triton: Any = importlib.import_module("triton")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)

    class Driver:
        """The driver that PyTorch asks when it names compiled code; nothing is launched."""

        get_current_target = staticmethod(lambda: target)
        get_current_device = staticmethod(lambda: 0)

    triton.runtime.driver.set_active(Driver())
    inductor: Any = importlib.import_module("torch._inductor.config")
    inductor.cpu_backend = "triton"
    from torch._inductor.utils import run_and_get_code

    dtype = getattr(torch, sys.argv[1])
    worst, (code, *_) = run_and_get_code(apart, 7, dtype)
    assert code.count("@triton.jit") == 1, "both sides and all numbers in one loop"
    # Arc tangents are functions of NVIDIA's library: the interpreter, which has none, takes NumPy's.
    helpers: Any = importlib.import_module("torch._inductor.runtime.triton_helpers")
    helpers.libdevice = Functions()
    wrong, codes = run_and_get_code(wrong_cells, dtype)
    assert [code.count("@triton.jit") for code in codes] == [1, 1, 1], "one loop each for unit vectors and features"
    assert wrong == []
    print(worst)


class Functions:
    """The functions of a library of Triton, by NumPy."""

    def __getattr__(self, name: str) -> Any:
        function = {"atan2": np.arctan2, "hypot": np.hypot, "sqrt": np.sqrt}[name]
        language, interpreter = (
            importlib.import_module(f"triton.{part}") for part in ("language", "runtime.interpreter")
        )

        def apply(*tensors: Any) -> Any:
            found = function(*(tensor.handle.data for tensor in tensors))
            return language.core.tensor(interpreter.TensorHandle(found, tensors[0].handle.dtype), tensors[0].type)

        return apply


def wrong_cells(dtype: torch.dtype) -> list[str]:
    """The cells of the table of a tiny model, measured by the compiled observer, that are not what the oracle says."""
    return disagreements(*measured_and_stored(tiny_model("llama").to(dtype), IDS, 16, 3, compiled=True))


@COMPILER
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_loops_in_c_give_the_same_numbers(dtype: torch.dtype) -> None:
    assert max(apart(rows, dtype) for rows in (7, 40)) <= 2
    if dtype == torch.bfloat16:  # what is summed and reduced after that is the same
        assert wrong_cells(dtype) == []


@TRITON
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_loop_in_triton_gives_the_same_numbers(dtype: str) -> None:
    program = f"from {__name__} import through_triton; through_triton()"
    done = subprocess.run(
        [sys.executable, "-c", program, dtype], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 2


def observed(compiled: bool | None) -> Any:
    layer = nn.Sequential(nn.LayerNorm(D))
    with Observer(layer, [SITE], directions=3, compiled=compiled) as observer:
        layer(torch.randn(2, 5, D, generator=torch.Generator().manual_seed(0)))
    return observer.states["0", "output"]


@pytest.fixture
def nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        failure = RuntimeError("no working C++ compiler")
        raise BackendCompilerFailed(print, failure, None)

    monkeypatch.setattr("lngeom.empirical.observe.compiled._compiled", lambda _: refuse)


@pytest.mark.usefixtures("nothing_compiles")
def test_without_a_compiler_measuring_goes_on_and_what_was_asked_for_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InputError, match=r"no kernel could be compiled \(.*\): install a compiler"):
        observed(True)
    monkeypatch.setattr(_observer, "_fused_by_default", lambda _: True)
    with pytest.warns(UserWarning, match="measuring goes on without it"):
        found = observed(None)
    assert np.array_equal(found.mean, observed(False).mean)


def test_only_a_gpu_with_triton_compiles_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = _observer._fused_by_default
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    assert [chosen(torch.device(name)) for name in ("cpu", "cuda")] == [False, True]
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert not chosen(torch.device("cuda"))


SCRIPT = Path(__file__).parents[3] / "experiments" / "benchmarks" / "bench_gpu.py"


@pytest.mark.usefixtures("tiny_known")
def test_the_benchmark_of_a_gpu_runs_on_a_cpu_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    words = "--device cpu --dtype float32 --blocks 1 --batch-size 1 --sequence-length 16 --seconds 0 --models gpt2-xl"
    monkeypatch.setattr(sys, "argv", ["bench_gpu", *words.split(), "--json", str(tmp_path / "gpu.json")])
    assert runpy.run_path(str(SCRIPT))["main"]() == 0
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert len(found["error_over_bound"]) == 3, "three dtypes"
    assert all(0 < value <= 1 for value in found["error_over_bound"].values())
    (row,) = found["results"]
    assert (row["model"], row["norms"], row["batch"], row["waits"]) == ("gpt2-xl", 3, [1, 16], 0)
