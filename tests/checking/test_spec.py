"""What the command line takes and writes: modules, models, bad names; the plugin; two forms of one model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, LlamaConfig

from empirical.checking import check, check_spec
from lngeom import InputError
from lngeom.cli import main

KERNELS = """
import torch
def layer(x, weight, bias, eps): return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
def gemma(x, weight, eps=1e-6): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (1 + weight)
class Half(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__(); self.weight = torch.nn.Parameter(torch.ones(dim)); self.eps = eps
    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return torch.nn.functional.layer_norm(x, x.shape[-1:])
    @staticmethod
    def backward(ctx, grad): return grad
def wrong_backward(x): return Wrong.apply(x)
"""


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "some_kernels", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_command_writes_the_verdict_and_exits_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--eps", "1e-6", "--d", "16", "--json", "found.json"]
    assert main(["check", "some_kernels:gemma", *options]) == 1
    record = json.loads(Path("found.json").read_text())
    assert list(record) == ["verdict", "cause", "kind", "eps", "gain", "dtype", "worst_ratio", "input"]
    assert (record["verdict"], record["kind"], record["gain"]) == ("variant", "rmsnorm", "1 + weight")
    assert record["worst_ratio"] > 1
    assert main(["check", "some_kernels:gemma", *options, "--allow", "Gemma"]) == 0
    assert main(["check", "some_kernels:layer", "--eps", "1e-5", "--d", "16", "--backward"]) == 0
    assert main(["check", "some_kernels:none"]) == 2
    assert "some_kernels has no 'none'" in capsys.readouterr().err


def test_classes_dtypes_and_derivatives_are_examined() -> None:
    found = check("some_kernels:Half", dtype="bfloat16", d=16)
    assert (found.verdict, found.kind, found.eps) == ("variant", "rmsnorm", 1e-6)
    assert "Llama" in (found.cause or "")
    backward = check("some_kernels:wrong_backward", kind="layernorm", eps=1e-5, d=16, backward=True)
    assert (backward.verdict, backward.cause) == ("bug", "backward pass wrong: d/dx")


def test_plugin_fails_a_test_and_loads_nothing_at_collection() -> None:
    Path("test_mine.py").write_text(
        "import sys\n"
        "assert 'torch' not in sys.modules\n"
        "def test_right(check_norm): check_norm('some_kernels:layer', eps=1e-5, d=8)\n"
        "def test_wrong(check_norm): check_norm('some_kernels:gemma', eps=1e-6, d=8)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "test_mine.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "variant: gain used as 1 + gain (as Gemma)" in done.stdout


def test_a_port_is_diagnosed_at_its_first_wrong_norm(capsys: pytest.CaptureFixture[str]) -> None:
    config = LlamaConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2, vocab_size=32
    )
    model = AutoModel.from_config(config)
    model.save_pretrained("source")
    with torch.no_grad():
        model.layers[1].input_layernorm.weight += 1
    model.save_pretrained("port")
    assert main(["doctor", "source", "source"]) == 0
    capsys.readouterr()
    assert main(["doctor", "source", "port"]) == 1
    out = capsys.readouterr().out
    assert "first norm that differs: layers.1.input_layernorm: variant: gain used as 1 + gain" in out
    findings = check_spec("source", dtype="float32")
    assert len(findings) == 5
    assert {finding.verdict for finding in findings.values()} == {"rounding"}
    with pytest.raises(InputError, match="neither module:name nor"):
        check_spec("nothing")


def test_onnx_files_are_checked() -> None:
    onnx = pytest.importorskip("onnx", reason="the packages onnx and onnxruntime are not installed")
    pytest.importorskip("onnxruntime", reason="the packages onnx and onnxruntime are not installed")
    helper, weights = onnx.helper, [0.5, -1.0, 2.0, 1.5]
    made = [onnx.numpy_helper.from_array(torch.tensor(weights).numpy(), name) for name in ("g", "b")]
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [None, 4]) for n in ("x", "y"))
    node = helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"], epsilon=1e-5)
    graph = helper.make_graph([node], "norm", [x], [y], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "norm.onnx")
    assert check_spec("norm.onnx")["norm.onnx"].verdict == "rounding"
