import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MixtralConfig,
)

from lngeom.empirical.models import find_model, load_model, load_network
from lngeom.empirical.porting import Drawn, compare_weights, examine
from lngeom.empirical.porting.change import change
from tests.support import refused, said

SIZES: dict[str, Any] = {
    "vocab_size": 48, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "head_dim": 16, "max_position_embeddings": 64, "num_key_value_heads": 2, "pad_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
GPT2: dict[str, Any] = {"vocab_size": 48, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
WINDOW: dict[str, Any] = {"max_position_embeddings": 128, "sliding_window": 80}
EXPERTS: dict[str, Any] = {"num_local_experts": 2}
CONFIGS: dict[str, Callable[..., Any]] = {
    "gpt2": lambda **more: GPT2Config(**GPT2 | more),
    "llama": lambda **more: LlamaConfig(**SIZES | more),
    "neox": lambda **more: GPTNeoXConfig(**SIZES | more),
    "gemma": lambda **more: GemmaConfig(**SIZES | more),
    "mistral": lambda **more: MistralConfig(**SIZES | WINDOW | more),
    "mixtral": lambda **more: MixtralConfig(**SIZES | EXPERTS | more),
}
GAIN, DOWN = "model.layers.0.input_layernorm.weight", "model.layers.1.mlp.down_proj.weight"
QUERY, OTHER = "model.layers.1.self_attn.q_proj.weight", GAIN.replace("input", "post_attention")


def built(kind: str, **more: Any) -> Any:
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(CONFIGS[kind](**more))
    for weight in (weight for weight in network.parameters() if weight.ndim == 1):
        weight.data += 0.3 * torch.randn(weight.shape)
    return network


def on(name: str, how: Callable[[Tensor], Tensor]) -> Callable[[Any], None]:
    def changed(network: Any) -> None:
        for weight in (weight for own, weight in network.named_parameters() if re.fullmatch(name, own)):
            weight.data = how(weight.data).contiguous()

    return changed


def doctored(folder: Path, source: Any, port: Any, *words: object) -> tuple[str, str]:
    """What is said of two networks that are saved."""
    for network, place in ((source, "source"), (port, "port")):
        network.save_pretrained(folder / place)
    return said("doctor", folder / "source", folder / "port", *words)


def exchanged(network: Any) -> None:
    one, two = network.get_parameter(GAIN), network.get_parameter(OTHER)
    one.data, two.data = two.data, one.data


def rescaled(network: Any) -> None:
    """Into the readers of a norm goes what its gains lose: the same function."""
    factor = torch.linspace(0.5, 1.5, 32)
    on(GAIN, lambda w: w * factor)(network)
    on(r"model.layers.0.self_attn.[qkv]_proj.weight", lambda w: w / factor)(network)


def one_number(factor: float) -> Callable[[Any], Any]:
    """In bfloat16, one entry of a matrix multiplied."""

    def changed(network: Any) -> None:
        network.bfloat16().get_parameter(DOWN).data[1, 2] *= factor

    return changed


def one_neuron(network: Any) -> None:
    """One row that its column makes up for, in bfloat16."""
    network.get_parameter(DOWN.replace("down", "up")).data[3] *= 3
    network.get_parameter(DOWN).data[:, 3] /= 3
    network.bfloat16()


def rows(w: Tensor, heads: int, *parts: int) -> Tensor:
    """The rows of each head with the parts of the first axis and those of the second exchanged."""
    return w.unflatten(0, (heads, *parts)).transpose(1, 2).reshape(w.shape)


def one_token(w: Tensor) -> Tensor:
    return torch.cat([w[:40], w[40:41] * 1.1, w[41:]])


CHANGED: dict[str, tuple[str, Any, str]] = {
    "zeroed": ("llama", on(DOWN, torch.zeros_like), "1.mlp.down_proj, .*all zero"),
    "negated": ("llama", on(DOWN, torch.neg), "1.mlp.down_proj, .*negated"),
    "scaled": ("llama", on(DOWN, lambda w: 1.01 * w), r"1.mlp.down_proj, .*multiplied by 1.01$"),
    **{f"one number times {f}": ("llama", one_number(f), r"1.mlp.down_proj, .*off in 1 of 1024.* at \[1, 2\]")
       for f in (1.01, -1)},
    "one gain": ("llama", lambda n: n.bfloat16().get_parameter(GAIN).data[5:6].mul_(1.02), r"0.input_l.* at \[5\]"),
    "transposed": ("llama", on(QUERY, torch.t), "1.self_attn.q_proj, .*transposed"),
    "experts": ("mixtral", on(r".*1.mlp.experts.down_proj", lambda w: w.mT), r"1.mlp.experts, .*down_proj transposed"),
    "pairs": ("llama", on(QUERY, lambda w: rows(w, 2, 2, 8)), "permuted: the two rows of each rotary pair side "),
    "no pairs": ("llama", on(QUERY, lambda w: rows(w, 2, 8, 2)), "permuted: the even rows of each head before the odd"),
    "pairs of 1 head": ("llama", on(QUERY, lambda w: rows(rows(w, 1, 2, 16), 2, 8, 2)),
                        "different numbers of heads, 1 and 2"),
    "heads": ("llama", on(QUERY, lambda w: w.roll(16, 0)), "permuted: the 2 heads in another order"),
    "packed": ("neox", on(r".*query_key_value.(weight|bias)", lambda w: rows(w, 1, 2, 3, 16)),
               "weight permuted: all queries, all keys, all values, one after the other; bias permuted: all queries"),
    "drawn": ("llama", on("lm_head.weight", lambda w: torch.randn(w.shape) / 50), r"unrelated to the source's \(corr"),
    "permuted": ("llama", on(GAIN, lambda w: w.roll(3)), "0.input_layernorm, .*weight permuted"),
    "exchanged": ("llama", exchanged, f"0.input_layernorm, .*weight exchanged with {OTHER}"),
    "1 + w for w": ("llama", on(r".*norm.weight", lambda w: w + 1), r"0.input_layernorm, .*1 \+ w for w.*as Gemma"),
    "w for 1 + w": ("gemma", on(r".*norm.weight", lambda w: w - 1), r"0.input_layernorm, .*w for 1 \+ w"),
    "no biases": ("neox", on(r".*norm.bias", torch.zeros_like), "0.input_layernorm, .*bias all zero"),
    "one token": ("gemma", on("model.embed_tokens.weight", one_token), r"embed_tokens, .*first at \[40, 0\]"),
    "one position": ("gpt2", on("transformer.wpe.weight", one_token), r"wpe, .*first at \[40, 0\]"),
    "a NaN": ("llama", on(DOWN, lambda w: w * torch.nan), "1.mlp.down_proj, .*nan"),
    "eps": ("llama", {"rms_norm_eps": 1e-5}, "0.input_layernorm, .*eps = 1e-05.*rms_norm_eps is 1e-05, expected 1e-06"),
    "parallel": ("neox", {"use_parallel_residual": False}, "layers.0, .*use_parallel_residual is False, expected True"),
    "angles": ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, "rotary_emb, .*rope_theta"),
    "activation": ("gpt2", {"activation_function": "gelu"}, "h.0.mlp.act, .*activation_function is gelu, expected"),
    "no bias": ("llama", ("llama", {"attention_bias": True}), "0.self_attn.q_proj, .*bias missing in the source"),
    "vocabulary": ("llama", ("llama", {"vocab_size": 56}), "vocab_size is 56, expected 48"),
    "window": ("mistral", {"sliding_window": None}, "sliding_window is None, expected 80"),
    "as Llama": ("gemma", ("llama", {"hidden_act": "gelu_pytorch_tanh"}), r"gain w for 1 \+ w"),
}  # fmt: skip
SAME: dict[str, tuple[str, Any, str]] = {
    "itself": ("gemma", {}, "same function"),
    "bfloat16": ("llama", lambda network: network.bfloat16(), r"same up to the stored format \(bfloat16\)"),
    "bfloat16 and back": ("neox", lambda network: network.bfloat16().float(), r"same up to .* \(bfloat16\)"),
    "float16": ("gpt2", lambda network: network.half(), r"same up to the stored format \(float16\)"),
    "rescaled": ("llama", rescaled, "same function: .* though weights differ"),
    "one neuron": ("llama", one_neuron, r"same up to the stored format \(bfloat16\)"),
    "dropout": ("gpt2", {"attn_pdrop": 0.3}, "same function"),
    "1 + w in float32": ("gemma", on(r".*norm.weight", lambda w: (w + 1) - 1), r"same up to .* \(1 \+ w in float32\)"),
}


@pytest.mark.parametrize("name", [*CHANGED, *SAME])
def test_the_doctor_ends_in_one_verdict(name: str, tmp_path) -> None:
    kind, change, line = (CHANGED | SAME)[name]
    source, port = built(kind), built(kind)
    if isinstance(change, tuple):
        port = built(change[0], **change[1])
        own = source.state_dict()
        port.load_state_dict(
            {n: own[n] if n in own and own[n].shape == w.shape else w for n, w in port.state_dict().items()}
        )
    elif isinstance(change, dict):
        port.config.update(change)
    else:
        change(port)
    done, printed = doctored(tmp_path, source, port)
    assert done.startswith("exit code 1" if name in CHANGED else "done")
    verdict, *_, left = printed.splitlines()
    assert re.match(f"FAIL different: the first .*{line}" if name in CHANGED else f"PASS {line}", verdict), verdict
    assert left.startswith("not tested: ")


def test_a_pass_that_fails_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built("llama").save_pretrained(tmp_path)
    monkeypatch.setattr(LlamaForCausalLM, "forward", lambda self, input_ids: 1 / 0)
    refused(said("doctor", tmp_path, tmp_path), "LlamaForCausalLM: a pass raises ZeroDivisionError: division by zero; ")


def test_networks_of_experts_run_in_float64(tmp_path: Path) -> None:
    built("mixtral").save_pretrained(tmp_path)
    source, ids = find_model(str(tmp_path)), torch.tensor([[1, 2, 3]])
    read = (load_model(source, device="cpu", dtype="float64", random_weights=drawn).model for drawn in (False, True))
    for network in (load_network(source).double(), *read):
        assert all(value.isfinite().all() for value in network(input_ids=ids)[:1])


def test_models_of_different_architectures_are_not_compared_weight_by_weight() -> None:
    verdict = examine(built("llama"), built("gpt2"), Drawn(64, 32))
    assert not verdict.same
    assert re.fullmatch(
        "different architectures: LlamaForCausalLM and GPT2LMHeadModel share 1 of 21 weights", verdict.reason
    )
    assert verdict.evidence == ()


@pytest.mark.parametrize("kind", ["Q8_0", "Q5_0", "Q4_1", "Q4_0"])
def test_quantization_is_told_from_a_change_block_by_block(kind: str) -> None:
    quants = pytest.importorskip("gguf", reason="the package gguf is not installed").quants
    torch.manual_seed(0)
    source, number = torch.nn.Linear(64, 64, bias=False), getattr(quants.GGMLQuantizationType, kind)

    def state(how: Callable[[Tensor], Tensor], moved: float = 0.0) -> str:
        port, w = copy.deepcopy(source), source.weight.detach()
        port.weight.data = torch.tensor(quants.dequantize(quants.quantize(how(w).numpy(), number), number))
        if moved:  # one entry, by so many steps of its block
            port.weight.data[0, 0] = w[0, 0] + moved * 2 * w[0, :32].abs().max() / (2 ** int(kind[1]) - 1)
        (weight,) = compare_weights(source, port, {"weight": kind})
        return f"{weight.state}: {weight.text}"

    one_block = torch.ones(64, 64)
    one_block[5, 32:] = 0
    assert state(torch.clone) == f"rounded: {kind}"
    assert state(torch.clone, 1.5).startswith("changed: ")
    assert state(torch.zeros_like) == "changed: all zero"
    assert state(torch.neg).startswith("changed: negated")
    assert state(lambda w: 1.05 * w).startswith("changed: multiplied by 1.0")
    assert state(lambda w: w * one_block).startswith("changed: ")
    assert state(lambda w: w * (2 * one_block - 1)).startswith("changed: ")


def test_of_a_weight_that_is_zero_in_the_source_the_size_in_the_port_is_told() -> None:
    source, port = torch.zeros(3, dtype=torch.float64), torch.tensor([0.1, -0.5, 0.0], dtype=torch.float64)
    assert change(source, port, 2.0**-20) == "0 in the source, up to 0.5 in the port"
