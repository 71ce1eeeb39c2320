import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, LlamaConfig

from lngeom.check import check_spec
from lngeom.check._tracing.frameworks import likely_frameworks
from lngeom.cli import main
from lngeom.empirical.porting import compare_models
from lngeom.errors import InputError

from .conftest import recorded

KERNELS = """
import torch
def layer(x, weight, bias, eps): return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
def gemma(x, weight, eps=1e-6): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (1 + weight)
def plain(x, weight, eps=1e-6): return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
def scales(x, eps=1e-6): return 0 * x + torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
class Half(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__(); self.weight = torch.nn.Parameter(torch.ones(dim)); self.eps = eps
    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)
"""


pytestmark = pytest.mark.usefixtures("some_kernels")


def test_command_writes_the_verdict_and_exits_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--eps", "1e-6", "--d", "16", "--json", "found.json"]
    assert main(["check", "some_kernels:gemma", *options]) == 1
    written = recorded()
    assert not written["passed"]
    (record,) = written["results"]
    assert (record["verdict"], record["kind"], record["gain"]) == ("variant", "rmsnorm", "1 + weight")
    assert record["worst_ratio"] > 1
    assert record["proof"]["status"] == "variant"
    assert set(record["gain_values"]) == {1.0}  # where the fault survives them
    told = capsys.readouterr().out
    assert "gain = 1, component" in told
    allowing = shlex.split(told.partition("to allow it ")[2].partition("\n")[0])
    assert main(["check", "some_kernels:gemma", *options, *allowing]) == 0
    assert "  example  " in capsys.readouterr().out
    assert main(["check", "some_kernels:gemma", *options, "--spec", "gemma"]) == 0
    assert "  example  " not in capsys.readouterr().out
    assert main(["check", "some_kernels:layer", "--eps", "1e-5", "--d", "16", "--backward"]) == 0
    assert main(["check", "some_kernels:none"]) == 2
    assert "some_kernels has no 'none'" in capsys.readouterr().err
    Path("types.py").write_text(KERNELS)
    wrong = {"types.py:gemma": "another module called types is loaded", "no.py:f": "there is no file no.py"}
    for spec, told in (wrong | {"nothing": "neither module:name nor"}).items():
        assert main(["check", spec]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_usual_eps_of_a_half_format_is_that_of_float32(dtype: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "torch.nn:RMSNorm", "--d", "8", "--dtype", dtype]) == 0
    assert f"eps = {torch.finfo(torch.float32).eps:.6g}" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "framework"), [("keepdims", "numpy"), ("keepdim", "torch")])
def test_options_tell_the_framework(option: str, framework: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lngeom.check._tracing.frameworks.sys", type("", (), {"modules": {}}))
    assert likely_frameworks(eval(f"lambda x: x / x.std(-1, {option}=True)")) == [framework]


def test_the_script_shows_the_fault_without_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    gemma, half = ["gemma", "--eps", "1e-6", "--d", "16"], ["plain", "--dtype", "bfloat16"]
    for file, (name, *options) in (
        ("some_kernels", gemma),
        (Path("some_kernels.py").resolve(), gemma),
        ("some_kernels", half),
    ):
        assert main(["check", f"{file}:{name}", *options, "--reproducer", "show.py"]) == 1
        script = Path("show.py").read_text()
        assert "lngeom" not in script
        with pytest.raises(AssertionError):
            exec(script, {})
        assert "\ngot [[" in capsys.readouterr().out
    assert main(["check", "some_kernels:layer", "--eps", "1e-5", "--d", "8", "--reproducer", "none.py"]) == 0
    assert "no output was wrong" in capsys.readouterr().err
    asked = ["some_kernels:Half", "--dtype", "bfloat16", "--d", "16", "--reproducer", "none.py"]
    assert main(["check", *asked]) == 1
    assert "the fault of some_kernels:Half is another" in capsys.readouterr().err
    assert main(["check", "some_kernels:scales"]) == 2
    assert "scales computes 1/√(mean square of x + eps), which is neither norm" in capsys.readouterr().err
    assert main(["check", "some_kernels:nothing", "--reproducer", "none.py"]) == 2
    assert "not written" not in capsys.readouterr().err


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
    gguf, config = pytest.importorskip("gguf", reason="the package gguf is not installed"), model.config
    place = {f"attn_{name}": f"self_attn.{name}_proj" for name in "qkv"}
    place |= {"attn_output": "self_attn.o_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    place |= {f"ffn_{name}": f"mlp.{name}_proj" for name in ("gate", "up", "down")}
    tensors = {"token_embd": "embed_tokens", "output_norm": "norm"}
    tensors |= {f"blk.{i}.{ours}": f"layers.{i}.{theirs}" for i in range(2) for ours, theirs in place.items()}
    writer, weights = gguf.GGUFWriter("port.gguf", "llama"), model.state_dict()
    for what, value in {
        "block_count": 2, "context_length": config.max_position_embeddings, "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size, "head_count": config.num_attention_heads,
        "layer_norm_rms_eps": config.rms_norm_eps, "vocab_size": config.vocab_size,
    }.items():  # fmt: skip
        getattr(writer, f"add_{what}")(value)
    for ours, theirs in tensors.items():
        writer.add_tensor(f"{ours}.weight", weights[f"{theirs}.weight"].numpy())
    for part in ("header", "kv_data", "tensors"):
        getattr(writer, f"write_{part}_to_file")()
    writer.close()
    return "port.gguf"


@pytest.mark.parametrize("saved", [as_directory, as_gguf])
def test_a_port_is_diagnosed_at_its_first_wrong_norm(saved: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model = llama("source")
    assert main(["doctor", "source", saved(model)]) == 0
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


def test_a_norm_that_is_none_is_found_by_its_place_in_a_port_and_by_its_name_in_a_model(monkeypatch) -> None:
    parts = torch.nn.Embedding(9, 8), torch.nn.LayerNorm(8, bias=False), torch.nn.GroupNorm(2, 8)
    source, port = torch.nn.Sequential(*parts[:2]), torch.nn.Sequential(parts[0], NoNorm(8, bias=False))
    diagnosis = compare_models(source, port, [[1, 2, 3]])
    assert (diagnosis.sites, diagnosis.first) == (1, "1")
    assert "ddof" in (diagnosis.cause or "")
    with pytest.raises(InputError, match="the source runs 1 norms and the port 2"):
        compare_models(source, torch.nn.Sequential(*parts[:2], torch.nn.LayerNorm(8)), [[1, 2, 3]])
    model = torch.nn.Sequential(*parts, NoNorm(8, bias=False))
    monkeypatch.setattr("lngeom.empirical.models.load_network", lambda _: model)
    llama("source")
    findings = check_spec("source")
    assert {path: finding.verdict for path, finding in findings.items()} == {"1": "rounding", "3": "variant"}


def test_every_norm_of_a_model_is_checked() -> None:
    llama("source")
    assert [finding.verdict for finding in check_spec("source").values()] == ["rounding"] * 5
