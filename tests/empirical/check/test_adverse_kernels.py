"""Kernels that are right by accident, or do what no norm does, and what is no kernel at all."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from empirical.check import check
from experiments.attack.scene import said
from experiments.attack.texts import onnx_norm
from lngeom.errors import LngeomError
from tests.kernels.derived import kernel, plain
from tests.support import refused


def _norm(x: Any, gain: Any = 1, bias: Any = 0, eps: float = 1e-5) -> Any:
    center = x - x.mean(-1, keepdims=True)
    return center / ((center * center).mean(-1, keepdims=True) + eps) ** 0.5 * gain + bias


def _doubled(when: Callable[..., Any]) -> Callable[..., Any]:
    """A norm whose outputs are doubled at some inputs and gains."""
    return lambda x, gain, bias: _norm(x, gain, bias) * (2 if when(x, gain) else 1)


class _Exits:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return _norm(x) if self.calls < 4 else sys.exit(0)


def _raises(x: np.ndarray) -> Any:
    if (x == 0).all(-1).any():
        raise ValueError("a row of zeros")
    return _norm(x)


def _hangs(x: np.ndarray) -> Any:
    while (x == 0).all(-1).any():
        pass
    return _norm(x)


class _Trained(nn.LayerNorm):
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) * (1 + self.training)


def _raised(*_: Any) -> Any:
    raise ValueError("no derivative")


def _written(h: Any, y: Any, *others: Any) -> Any:
    y.mul_(2)
    return plain(h, y, *others)


def _one_step(x: np.ndarray) -> Any:
    """Reads all rows with the step from the last but one to the last."""
    rows, step = x.size // x.shape[-1], x.strides[-2] if x.ndim > 1 else 0
    read = np.lib.stride_tricks.as_strided(x, (rows, x.shape[-1]), (step, x.strides[-1]))
    return _norm(read).reshape(x.shape) if x.base is not None and x.base.ndim == 2 else _norm(x)


_NOISE = np.random.default_rng(0)


KERNELS: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "exits": (_Exits, {"d": 8}, r"RuntimeError: a call .* ends the process by sys\.exit\(0\)"),
    "raises at zeros": (lambda: _raises, {"d": 8}, "refuses zero rows: ValueError: a row of zeros"),
    "never ends at zeros": (lambda: _hangs, {"d": 8, "seconds": 0.5}, r"of shape \(\d+, 8\) does not end within 0.5 s"),
    "noise": (lambda: lambda x: _norm(x) * _NOISE.normal(1, 0.01), {"d": 8}, r"two calls in a row differ .*\(noise"),
    "one step": (lambda: _one_step, {"d": 8}, "strides ignored.* wrong for the heads of a wider array"),
    "complex": (lambda: lambda x: _norm(x) + 1j, {"d": 8}, "its outputs are complex numbers"),
    "eps ignored": (lambda: lambda x, eps: _norm(x), {"d": 8}, "the eps that is given is ignored: 1e-05 and 0.00064"),
    "zero gain": (lambda: _doubled(lambda _, gain: (gain == 0).any()), {"d": 8}, "gains with zeros and large entries"),
    "large gain": (lambda: _doubled(lambda _, gain: abs(gain).max() > 8), {"d": 8}, "gains with zeros and large"),
    "four axes": (lambda: _doubled(lambda x, _: x.ndim == 4), {"d": 8}, r"batches of shape \(2, 2, n, d\)"),
    "70,000 rows": (lambda: _doubled(lambda x, _: len(x) > 65_535), {"d": 8}, "only for rows of a batch of 70000"),
    "d > 4096": (lambda: _doubled(lambda x, _: x.shape[-1] > 4096), {}, "only at d > 4096"),
    "training": (lambda: _Trained(8), {"kind": "layernorm"}, "only for training mode"),
    **{f"backward: {line}": (lambda norm=norm: norm, {"d": 8, "backward": True}, f"backward pass wrong: .*{line}")
       for line, norm in {
        "ValueError: no derivative": kernel(_raised),
        "d/dgain: no gradient": kernel(plain, lambda y, n, axes: None),
        "(cotangent is overwritten|single memory location)": kernel(_written),
        "Error": kernel(plain, lambda y, n, axes: (y * n).sum(axes)[:3]),
    }.items()},
}  # fmt: skip
"""What makes a kernel, how it is checked, and what its verdict, a bug, or the refusal says."""


@pytest.mark.parametrize("name", KERNELS)
def test_no_kernel_passes_by_accident(name: str) -> None:
    make, options, line = KERNELS[name]
    if name == "complex":
        with pytest.raises(LngeomError, match=line):
            check(make(), kind="layernorm", **options)
        return
    finding = check(make(), **{"kind": "layernorm", "eps": 1e-5, **options})
    assert finding.verdict == "bug", finding
    assert re.search(line, str(finding)), finding
    assert not finding.passes(("",))


def test_a_target_or_a_module_that_ends_the_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "script.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    refused(said("check", "script:f"), "the module 'script' cannot be imported from here: SystemExit: 0")
    (tmp_path / "loop.py").write_text("while True:\n    pass\n")
    monkeypatch.setattr("empirical.check._target._SECONDS", 0.5)
    refused(said("check", "loop:f"), "the module 'loop' cannot be imported .* does not end within 0.5 s")
    refused(said("sweep", "sys:exit", "--output", tmp_path / "run"), r"ends the process by sys\.exit")
    refused(said("check", "math:sqrt", "--d", 0), "d is 0: rows have at least one component")


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_an_onnx_norm_over_its_last_axis_is_right_however_the_axis_is_counted(rank: int, tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package, reason="the packages onnx and onnxruntime are not installed")
    shape, path = [*"abc"[: rank - 1], 8], tmp_path / "norm.onnx"

    def written(axis: int, *inputs: str) -> Path:
        path.write_bytes(onnx_norm(axis, *inputs, shape=shape))
        return path

    for axis in (rank - 1, -1):
        done, told = said("check", written(axis))
        assert done == "done", told
    for inputs, axis in ((("x",), -1), (("x", "g", "none"), -1), (("x", "g"), 7)):
        refused(said("check", written(axis, *inputs)), "ONNX|norm|cannot be called")
