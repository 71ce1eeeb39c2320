"""The command line's input and output: modules, models, bad names; the plugin; two forms of one model."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from transformers import AutoModel, LlamaConfig

from empirical import check as checking
from empirical.check import check, check_spec, compare_models
from empirical.tracing import likely_frameworks
from lngeom.cli import main
from lngeom.errors import InputError

KERNELS = """
import torch
def layer(x, weight, bias, eps): return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
def gemma(x, weight, eps=1e-6): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (1 + weight)
def scales(x, eps=1e-6): return 0 * x + torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
class Half(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__(); self.weight = torch.nn.Parameter(torch.ones(dim)); self.eps = eps
    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
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
    written = json.loads(Path("found.json").read_text())
    jsonschema.validate(written, json.loads((Path(checking.__file__).parent / "schema.json").read_text()))
    assert not written["passed"]
    (record,) = written["results"]
    assert (record["verdict"], record["kind"], record["gain"]) == ("variant", "rmsnorm", "1 + weight")
    assert record["worst_ratio"] > 1
    assert record["proof"]["status"] == "variant"
    assert main(["check", "some_kernels:gemma", *options, "--allow", "Gemma"]) == 0
    assert main(["check", "some_kernels:layer", "--eps", "1e-5", "--d", "16", "--backward"]) == 0
    assert main(["check", "some_kernels:none"]) == 2
    assert "some_kernels has no 'none'" in capsys.readouterr().err
    Path("types.py").write_text(KERNELS)
    for spec, told in (
        ("types.py:gemma", "another module called types is loaded"),
        ("no.py:f", "there is no file no.py"),
    ):
        assert main(["check", spec]) == 2
        assert told in capsys.readouterr().err


IN_PUBLIC = """
import numpy as np
import torch
from torch.nn import functional as F
class Flagged(torch.nn.Module):  # as nanoGPT's
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(ndim))
        self.bias = torch.nn.Parameter(torch.zeros(ndim)) if bias else None
    def forward(self, input): return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)
@torch.jit.script
def scripted(x, weight, eps: float = 1e-6): return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
def unit(x, eps=1e-12): return F.normalize(x, dim=-1, eps=eps)
def loop(x, weight, eps=1e-6):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] / np.sqrt(np.mean(x[i] ** 2) + np.float32(eps)) * weight
    return out
def divided(x, eps=1e-6): return x / np.sqrt((x**2).sum(-1, keepdims=True) / (x.shape[-1] - 1) + np.float32(eps))
def methods(x, eps=1e-6):  # right in NumPy alone: PyTorch takes the same names and divides by d - 1
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) ** 2 + eps) ** 0.5
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("methods", r"PROVED: methods computes LayerNorm\(x; ε = eps\).*ok: within rounding.*\n  checked as layernorm"),
        ("Flagged", r"PROVED: Flagged computes weight∘LayerNorm\(x; ε = 1e-05\) \+ bias.*ok: within rounding"),
        ("scripted", "NOT TRACED: it is compiled.*ok: within rounding, not proved"),
        ("unit", r"bug: divided by the norm, factor sqrt\(d\) and eps missing"),
        ("loop", r"bug: statistics over the wrong axis \(axes 1, 2 instead of the last"),
        ("divided", r"bug: sum of squares divided by d - 1.*note: NaN or infinite at d = 1\n"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_norms_as_they_stand_in_public_code(name: str, told: str) -> None:
    Path("in_public.py").write_text(IN_PUBLIC)
    sys.modules.pop("in_public", None)
    kind = None if "layernorm" in told.lower() else "rmsnorm"
    assert re.search(told, f"{check(f'in_public:{name}', kind=kind)}\n", re.DOTALL)


@pytest.mark.parametrize(("option", "framework"), [("keepdims", "numpy"), ("keepdim", "torch")])
def test_options_tell_the_framework(option: str, framework: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("empirical.tracing._frameworks.sys", type("", (), {"modules": {}}))
    assert likely_frameworks(eval(f"lambda x: x / x.std(-1, {option}=True)")) == [framework]


def test_the_script_shows_the_fault_without_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "some_kernels:gemma", "--eps", "1e-6", "--d", "16", "--reproducer", "show.py"]) == 1
    assert "lngeom" not in Path("show.py").read_text()
    done = subprocess.run([sys.executable, "show.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
    assert done.stdout.startswith("got [[")
    assert main(["check", "some_kernels:layer", "--eps", "1e-5", "--d", "16", "--reproducer", "none.py"]) == 0
    assert "no output was wrong" in capsys.readouterr().err
    assert main(["check", "some_kernels:Half", "--dtype", "bfloat16", "--reproducer", "none.py"]) == 2
    assert "the fault of some_kernels:Half is another" in capsys.readouterr().err
    assert main(["check", "some_kernels:scales"]) == 2
    assert "scales computes 1/√(mean square of x + eps), which is neither norm" in capsys.readouterr().err
    assert main(["check", "some_kernels:nothing", "--reproducer", "none.py"]) == 2
    assert "not written" not in capsys.readouterr().err
    by_path = [f"{Path('some_kernels.py').resolve()}:gemma", "--eps", "1e-6", "--d", "16"]
    assert main(["check", *by_path, "--reproducer", "show.py"]) == 1
    done = subprocess.run([sys.executable, "show.py"], capture_output=True, text=True, check=False)
    assert "AssertionError" in done.stderr


def test_evidence_has_gain_1_and_bias_0_where_the_fault_survives_them() -> None:
    gemma = check("some_kernels:gemma", kind="rmsnorm", eps=1e-6, d=16)
    assert set(gemma.point.gain or ()) == {1.0}
    assert "gain = 1, component" in str(gemma)


def test_classes_and_dtypes_are_examined() -> None:
    finding = check("some_kernels:Half", dtype="bfloat16", d=16)
    assert (finding.verdict, finding.kind, finding.eps) == ("variant", "rmsnorm", 1e-6)
    assert "Llama" in (finding.cause or "")


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


def llama(folder: str) -> Any:
    """A saved network of five RMSNorms with gains around 1."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = dict.fromkeys(("hidden_size", "intermediate_size", "vocab_size"), 32)
    model = AutoModel.from_config(LlamaConfig(**sizes, num_hidden_layers=2, num_attention_heads=2))
    with torch.no_grad():
        for norm in norms(model):
            norm.weight.normal_(1, 0.3)
    model.save_pretrained(folder)
    return model


def norms(model: Any) -> list[Any]:
    return [module for module in model.modules() if type(module).__name__ == "LlamaRMSNorm"]


def as_directory(model: Any) -> str:
    model.save_pretrained("port")
    return "port"


def as_gguf(model: Any) -> str:
    gguf, config, place = pytest.importorskip("gguf", reason="the package gguf is not installed"), model.config, {}
    for name in ("q", "k", "v"):
        place[f"attn_{name}"] = f"self_attn.{name}_proj"
    place |= {"attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    place |= {f"ffn_{name}": f"mlp.{name}_proj" for name in ("gate", "up", "down")}
    writer = gguf.GGUFWriter("port.gguf", "llama")
    writer.add_block_count(2)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    weights = model.state_dict()
    tensors = {"token_embd": "embed_tokens", "output_norm": "norm"}
    tensors |= {f"blk.{i}.{ours}": f"layers.{i}.{theirs}" for i in range(2) for ours, theirs in place.items()}
    for ours, theirs in tensors.items():
        writer.add_tensor(f"{ours}.weight", weights[f"{theirs}.weight"].numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return "port.gguf"


def as_onnx(model: Any) -> str:
    """Its norms alone, one after another."""
    onnx = pytest.importorskip("onnx", reason="the packages onnx and onnxruntime are not installed")
    pytest.importorskip("onnxruntime", reason="the packages onnx and onnxruntime are not installed")
    helper, gains = onnx.helper, [norm.weight.detach().numpy() for norm in norms(model)]
    made = [onnx.numpy_helper.from_array(gain, f"g{i}") for i, gain in enumerate(gains)]
    eps = model.config.rms_norm_eps
    nodes = [
        helper.make_node("RMSNormalization", [f"x{i}", f"g{i}"], [f"x{i + 1}"], name=f"norm {i}", epsilon=eps)
        for i in range(len(gains))
    ]
    x, y = (helper.make_tensor_value_info(f"x{i}", onnx.TensorProto.FLOAT, [None, 32]) for i in (0, len(gains)))
    graph = helper.make_graph(nodes, "norms", [x], [y], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), "port.onnx")
    return "port.onnx"


@pytest.mark.parametrize("saved", [as_directory, as_gguf, as_onnx])
def test_a_port_is_diagnosed_at_its_first_wrong_norm(saved: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model = llama("source")
    alone = saved is as_onnx  # of norms alone, whose outputs are none of a model
    assert main(["doctor", "source", saved(model)]) == alone
    assert ("not shown to be the same: the outputs" in capsys.readouterr().out) == alone
    with torch.no_grad():
        model.layers[1].input_layernorm.weight += 1
    capsys.readouterr()
    assert main(["doctor", "source", saved(model)]) == 1
    out = capsys.readouterr().out
    assert "first norm that differs: layers.1.input_layernorm: variant: gain used as 1 + gain" in out
    assert "1 of 5 norms differ" in out


class NoNorm(torch.nn.LayerNorm):
    """Divides the variance by d - 1, which no discovery takes for a norm of its parameters."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return (input - input.mean(-1, keepdim=True)) / (input.var(-1, keepdim=True) + self.eps).sqrt() * self.weight


class AnnotatedTransformer(torch.nn.Module):
    """The norm of the Annotated Transformer, whose parameters have names of their own."""

    def __init__(self, features: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.a_2, self.b_2 = torch.nn.Parameter(torch.ones(features)), torch.nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.b_2


def test_a_variant_under_names_of_its_own_is_named_and_shown_where_it_is_defined() -> None:
    finding = check(AnnotatedTransformer)
    assert (finding.verdict, finding.cause) == ("variant", "eps outside the root; variance divided by d - 1 (ddof=1)")
    assert len(finding.input) > 1
    assert abs(finding.wrong) < float("inf")


def test_a_norm_that_is_none_is_found_by_its_place_in_a_port_and_by_its_name_in_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = torch.nn.Embedding(9, 8), torch.nn.LayerNorm(8, bias=False), torch.nn.GroupNorm(2, 8)
    source, port = torch.nn.Sequential(*parts[:2]), torch.nn.Sequential(parts[0], NoNorm(8, bias=False))
    diagnosis = compare_models(source, port, [[1, 2, 3]])
    assert (diagnosis.sites, diagnosis.first) == (1, "1")
    assert "ddof" in (diagnosis.cause or "")
    with pytest.raises(InputError, match="the source runs 1 norms and the port 2"):
        compare_models(source, torch.nn.Sequential(*parts[:2], torch.nn.LayerNorm(8)), [[1, 2, 3]])
    model = torch.nn.Sequential(*parts, NoNorm(8, bias=False))
    monkeypatch.setattr("empirical.models.load_network", lambda _: model)
    llama("source")
    findings = check_spec("source")
    assert {path: finding.verdict for path, finding in findings.items()} == {"1": "rounding", "3": "variant"}


def test_every_norm_of_a_model_is_checked() -> None:
    llama("source")
    findings = check_spec("source", dtype="float32")
    assert len(findings) == 5
    assert {finding.verdict for finding in findings.values()} == {"rounding"}
    with pytest.raises(InputError, match="neither module:name nor"):
        check_spec("nothing")
