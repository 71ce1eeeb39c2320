import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from lngeom.empirical.porting import compare_models
from tests.support import refused, said

from .test_port import built, doctored, on

State = dict[str, Tensor]
LAYERS = range(2)
LINEAR = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
OF_META = {
    "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
    "model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output", "model.layers": "layers",
}  # fmt: skip


def fused(state: State) -> State:
    parts = {"self_attn.qkv": "self_attn.q self_attn.k self_attn.v", "mlp.gate_up": "mlp.gate mlp.up"}
    for layer in LAYERS:
        for whole, names in parts.items():
            taken = [state.pop(f"model.layers.{layer}.{name}_proj.weight") for name in names.split()]
            state[f"model.layers.{layer}.{whole}_proj.weight"] = torch.cat(taken)
    return state


def of_meta(state: State) -> State:
    """Two heads of 16: the rows of a pair, i and i + 8, side by side."""
    order = torch.tensor([16 * head + 8 * half + i for head in (0, 1) for i in range(8) for half in (0, 1)])
    found = {}
    for name, weight in state.items():
        their = re.sub("|".join(map(re.escape, OF_META)), lambda match: OF_META[match[0]], name)
        found[their] = weight[order] if re.search(r"\.w[qk]\.", their) else weight
    return found


def linear(state: State) -> State:
    return {name: weight.T if name.endswith(LINEAR) else weight for name, weight in state.items()}


def in_folder(state: State, path: Path) -> Path:
    save_file({name: weight.clone().contiguous() for name, weight in state.items()}, path / "model.safetensors")
    return path


def pickled(wrap: Callable[[State], Any]) -> Callable[[State, Path], Path]:
    def write(state: State, path: Path) -> Path:
        torch.save(wrap(state), path / "port.pt")
        return path / "port.pt"

    return write


def with_eps(eps: Any, heads: float = 2, keys: int = 2) -> Callable[[State, Path], Path]:
    """A folder as Meta ships it."""

    def write(state: State, path: Path) -> Path:
        torch.save(dict(state), path / "consolidated.00.pth")
        (path / "params.json").write_text(json.dumps({"n_heads": heads, "n_kv_heads": keys, "norm_eps": eps}))
        return path

    return write


def with_a_list(state: State, path: Path) -> Path:
    (path / "params.json").write_text("[]")
    return pickled(dict)(state, path)


def arrays(state: State, path: Path) -> Path:
    plain: Any = {name: weight.numpy() for name, weight in state.items()}
    np.savez(path / "weights.npz", **plain)
    return path


def headed(state: State) -> dict[str, Any]:
    return compiled(state) | {"model_args": {"n_head": 4}}


def compiled(state: State) -> Any:
    return {"model": {f"_orig_mod.{name}": weight for name, weight in linear(state).items()}, "iter_num": 1}


def wrapped(state: State) -> Any:
    return {"state_dict": {f"module.{name}": weight for name, weight in state.items()}, "epoch": 1}


def flipped(state: State) -> State:
    for layer in LAYERS:
        one, two = (f"model.layers.{layer}.mlp.{name}_proj.weight" for name in ("gate", "up"))
        state[one], state[two] = state[two], state[one]
    return fused(state)


def lacking(state: State) -> State:
    return {name: weight for name, weight in state.items() if name != "model.norm.weight"}


def unknown(state: State) -> State:
    return {name.replace("o_proj", "dense"): weight for name, weight in state.items()}


def integers(state: State) -> State:
    name = "model.layers.0.mlp.up_proj"
    return {f"{name}.qweight" if n == f"{name}.weight" else n: w.int() if name in n else w for n, w in state.items()}


def packed(state: State) -> State:
    return state | {"model.layers.0.mlp.up_proj.weight": torch.zeros(32, 4, dtype=torch.int32)}


def eighths(state: State) -> State:
    """As LLM.int8 stores a matrix."""
    name, kind = "model.layers.0.mlp.up_proj", torch.tensor(0, dtype=torch.uint8)
    levels = {f"{name}.weight": torch.zeros(32, 32, dtype=torch.int8), f"{name}.weight_format": kind}
    return state | levels | {f"{name}.SCB": torch.ones(32)}


def declared(state: State, path: Path) -> Path:
    """With the configuration that such a folder has."""
    config = path / "config.json"
    entry = {"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}
    config.write_text(json.dumps(json.loads(config.read_text()) | entry))
    return in_folder(state, path)


def adapted(size: float) -> Callable[[State], State]:
    """As PEFT names a model with an adapter, whose second factor has numbers of this size."""

    def change(state: State) -> State:
        name = "model.layers.0.self_attn.q_proj"
        parts = {"base_layer.weight": state.pop(f"{name}.weight")} | adapter(size)
        return {f"base_model.model.{n}": w for n, w in (state | {f"{name}.{n}": w for n, w in parts.items()}).items()}

    return change


def adapter(size: float = 1.0) -> State:
    return {"lora_A.default.weight": torch.ones(4, 32), "lora_B.default.weight": torch.full((32, 4), size)}


PORTS: dict[str, tuple[str, Callable[[State], State], Callable[[State, Path], Path], str]] = {
    "vLLM": ("llama", fused, in_folder, r"PASS same function.*the fused gate_up_proj and qkv_proj split"),
    "Meta": ("llama", of_meta, pickled(dict), "PASS same function.*named as by Meta, with the rotary pairs"),
    "Meta, eps": ("llama", of_meta, with_eps(1e-6), "PASS same function.*not tested: .*but for norm_eps, n_heads"),
    "Meta, another eps": ("llama", of_meta, with_eps(1e-5), "FAIL different.*rms_norm_eps is 1e-05, expected 1e-06"),
    "Meta, no eps": ("llama", of_meta, with_eps("none"), "params.json: norm_eps is 'none', which is no number"),
    "Meta, other heads": ("llama", of_meta, with_eps(1e-6, 4, 4), "FAIL different.*num_attention_heads is 4, exp"),
    "Meta, a list": ("llama", of_meta, with_a_list, "params.json: is no JSON object; correct it, or take it away"),
    "Meta, half a head": ("llama", of_meta, with_eps(1e-6, 2.5), "n_heads is 2.5, which is no whole number above 0"),
    "Meta, no such heads": ("llama", of_meta, with_eps(1e-6, 4), r"k_proj.weight has shape \(32, 32\), and the file"),
    "MLX": ("llama", of_meta, arrays, "PASS same function.*named as by Meta"),
    "wrapped": ("llama", dict, pickled(wrapped), "PASS same"),
    "nanoGPT": ("gpt2", dict, pickled(compiled), "PASS same function.*the 8 weights of Conv1D are transposed"),
    "nanoGPT, other heads": ("gpt2", dict, pickled(headed), "FAIL different.*n_head is 4, expected 2"),
    "Linear": ("gpt2", linear, in_folder, "PASS same function.*the 8 weights of Conv1D are transposed"),
    "halves": ("llama", flipped, in_folder, "FAIL different: the first .*gate_proj, .*exchanged with .*up_proj"),
    "no norm": ("llama", lacking, in_folder, "the norm model.norm.weight is missing; the other 20 weights are there"),
    "dense": ("llama", unknown, in_folder, "your file has `model.layers.N.self_attn.dense.weight`, which is no name"),
    "whole module": ("gpt2", lambda _: built("gpt2"), pickled(lambda held: held), r"alone \([^.]*failed\); save its"),
    "packed": ("llama", packed, in_folder, r"is stored quantized: model.layers.0.mlp.up_proj.weight is int32;"),
    "integers": ("llama", integers, in_folder, "is stored quantized: model.layers.0.mlp.up_proj.qweight is int32;"),
    "int8": ("llama", eighths, arrays, "model.layers.0.mlp.up_proj.weight is int8 with scales SCB; give floats"),
    "LLM.int8": ("llama", eighths, declared, r"is stored quantized \(bitsandbytes\); give a checkpoint"),
    "LoRA": ("llama", adapted(1.0), arrays, r"LoRA adapters that are not merged; call merge_and_unload\(\) first"),
    "LoRA of 0": ("llama", adapted(0.0), arrays, "PASS same function.*LoRA adapters are 0, and change nothing"),
    "LoRA alone": ("llama", lambda _: adapter(), arrays, "are only the adapters of a model, not its weights; merge"),
}  # fmt: skip


@pytest.mark.parametrize("held", [b"", b"GGUF"])
def test_a_gguf_file_without_tensors_is_refused_in_one_line(held: bytes, tmp_path) -> None:
    built("gpt2").save_pretrained(tmp_path / "source")
    (port := tmp_path / "port.gguf").write_bytes(held)
    for words in (("norms", port), ("doctor", tmp_path / "source", port)):
        refused(said(*words), r"port\.gguf'?:? (begins with|cannot be loaded)" if not held else "cannot be")


@pytest.mark.parametrize("name", PORTS)
def test_a_port_is_read_or_the_cause_is_named(name: str, tmp_path) -> None:
    kind, change, write, line = PORTS[name]
    source, folder = built(kind), tmp_path / "port"
    folder.mkdir()
    source.save_pretrained(tmp_path / "source")
    if kind == "llama" and name[:4] not in ("MLX", "Meta"):
        (folder / "config.json").write_text((tmp_path / "source" / "config.json").read_text())
    state = {n: weight.clone() for n, weight in source.state_dict().items()}
    done, told = said("doctor", tmp_path / "source", write(change(state), folder))
    assert (done == "refused") is not line.startswith(("PASS", "FAIL"))
    assert re.search(line, told, re.DOTALL), told
    assert done != "refused" or "download" not in told


CONFIGURED: dict[str, tuple[str, str]] = {
    "a list": ("[]", "Unrecognized model"),
    "cut off": ('{"rms_norm_eps": 0.5,', "not a valid JSON file"),
    "type": ('"rms_norm_eps": "a"', "expected float, got str"),
    "architecture": ('"model_type": "nope"', "has model type `nope`"),
    "blocks": ('"num_hidden_layers": -1', "num_hidden_layers is -1"),
    "epsilon": ('"rms_norm_eps": 0.5', "FAIL different"),
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_configuration_beside_weights_of_other_names_is_used(name: str, tmp_path) -> None:
    source, folder, (entry, words) = built("llama"), tmp_path / "port", CONFIGURED[name]
    folder.mkdir()
    source.save_pretrained(tmp_path / "source")
    held = json.loads((tmp_path / "source" / "config.json").read_text())
    text = entry if entry[0] in "[{" else json.dumps(held | json.loads(f"{{{entry}}}"))
    (folder / "config.json").write_text(text)
    in_folder(fused({n: weight.clone() for n, weight in source.state_dict().items()}), folder)
    told = said("doctor", tmp_path / "source", folder)
    if name == "epsilon":
        assert words in told[1]
    else:
        refused(told, words)


def moved_gain(ones: bool, forget: str = "") -> Callable[[Any], None]:
    """What the gains of the first norm of each block lose, its readers get."""

    def change(network: Any) -> None:
        for layer in LAYERS:
            norm = network.get_parameter(f"model.layers.{layer}.input_layernorm.weight")
            factor = norm.data.clone() if ones else torch.linspace(0.5, 1.5, len(norm))
            norm.data /= factor
            for reader in "qkv":
                if f"{layer}.{reader}" != forget:
                    on(f"model.layers.{layer}.self_attn.{reader}_proj.weight", lambda w, s=factor: w * s)(network)

    return change


def zeroed_gain(network: Any) -> None:
    """A gain of the first norm is lost, which no multiple of a column gives back."""
    network.get_parameter("model.layers.0.input_layernorm.weight").data[0] = 0
    network.get_parameter("model.layers.0.self_attn.q_proj.weight").data[:, 0] *= 2


MOVED: dict[str, tuple[Callable[[Any], None], bool, str]] = {
    "ones": (moved_gain(ones=True), True, "all ones, its gain multiplied into self_attn.q_proj, self_attn.k_proj, "),
    "s": (moved_gain(ones=False), True, "divided by s, and the columns times s of self_attn.q_proj, self_attn.k_proj"),
    "forgotten": (moved_gain(ones=True, forget="0.q"), False, "v_proj, but not into self_attn.q_proj"),
    "zero": (zeroed_gain, False, "input_layernorm.weight: off in 1 of"),
    "bfloat16": (on(r".*norm.weight", lambda w: w.bfloat16().float()), False, "5 weights rounded to bfloat16"),
    "back": (on(r".*q_proj.weight", lambda w: w * 1.7 / 1.7), False, "q_proj.weight: off by a rounding or two, by"),
    "int8": (on(r".*up_proj.weight", lambda w: (w / (s := w.abs().amax(1, True) / 127)).round() * s), False,
             "2 weights rounded to int8"),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_what_was_done_to_a_weight_is_said_and_a_fold_is_no_bug(name: str, tmp_path) -> None:
    change, same, line = MOVED[name]
    source, port = built("llama"), built("llama")
    change(port)
    done, printed = doctored(tmp_path, source, port, "--json", "-")
    assert done.startswith("done" if same else "exit code 1")
    found = json.loads(printed)
    assert line in "\n".join([found["reason"], *found["evidence"]])
    assert not same or "bug" not in "\n".join(found["evidence"])


def test_a_norm_that_a_port_leaves_out_is_named() -> None:
    source = nn.Sequential(nn.Embedding(9, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.RMSNorm(8))
    assert compare_models(source, source[:2], [[1, 2, 3]]).differences == (("3", "is missing in the port"),)


def test_a_changed_gain_is_named_with_its_component() -> None:
    source = nn.Sequential(nn.Embedding(9, 8), nn.LayerNorm(8))
    port = copy.deepcopy(source)
    port.get_parameter("1.weight").data[3] *= 1.01
    assert re.search("gain off by up to .* at component 3", compare_models(source, port, [[1, 2, 3]]).cause or "")
