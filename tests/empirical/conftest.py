"""Tiny models of every architecture, with random weights, and the files of the two data packages."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.nn.functional import layer_norm, rms_norm
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

from lngeom.empirical.models import KNOWN_MODELS, bundled_model, sites_of, topology_of
from lngeom.empirical.text import bundled_wikipedia
from lngeom.errors import LngeomError
from tests.empirical.scene import Scene

# Tiny models gain nothing from threads, and test processes run side by side.
torch.set_num_threads(1)

Words = Callable[..., list[str]]
Weights = dict[str, torch.Tensor]
VOCABULARY = 64
BLOCKS = 2
WIDTH = 16
POSITIONS = 64

_SPECIAL: dict[str, Any] = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SHARED: dict[str, Any] = {"vocab_size": VOCABULARY, "max_position_embeddings": POSITIONS, **_SPECIAL}
GROUPED: dict[str, Any] = {"intermediate_size": 32, "num_key_value_heads": 2}
WIDE: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": BLOCKS, "num_attention_heads": 2, **SHARED}
_GPT: dict[str, Any] = {"n_embd": WIDTH, "n_layer": BLOCKS, "n_head": 2, "n_positions": POSITIONS}
_GPT |= {"vocab_size": VOCABULARY, **_SPECIAL}
HEADS: dict[str, Any] = {"head_dim": WIDTH // 2}
_OPTIONS: dict[str, dict[str, Any]] = {
    "gpt2": _GPT,
    "gpt_neo": {
        "hidden_size": WIDTH, "num_layers": BLOCKS, "num_heads": 2, "attention_types": [[["global", "local"], 1]],
        **SHARED,
    },
    "gpt_neox": {"intermediate_size": 32, **WIDE},
    "gptj": {"rotary_dim": 4, **_GPT},
    "llama": {"rms_norm_eps": 1e-5, **WIDE, **GROUPED, **HEADS},
    "mistral": {**WIDE, **GROUPED, **HEADS},
    "qwen2": {**WIDE, **GROUPED},
    "qwen3": {**WIDE, **GROUPED, **HEADS},
    "gemma": {**WIDE, **GROUPED, **HEADS},
    "opt": {"ffn_dim": 32, "word_embed_proj_dim": WIDTH, **WIDE},
    "olmo2": {**WIDE, **GROUPED},
    "bert": {"intermediate_size": 32, **WIDE},
}  # fmt: skip
ARCHITECTURES = tuple(_OPTIONS)


def tiny_config(architecture: str) -> Any:
    return AutoConfig.for_model(architecture, **_OPTIONS[architecture])


def tiny_model(architecture: str, seed: int = 0) -> Any:
    """A base model of `architecture` with d = 16, two blocks and random weights, its norms' gains and biases too."""
    torch.manual_seed(seed)
    model = AutoModel.from_config(tiny_config(architecture), dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Fresh norms have gain 1 and bias 0, and weights of size 0.02 leave the stream almost unchanged.
            parameter.add_(torch.randn_like(parameter) * (0.1 if "norm" in name.lower() or "ln_" in name else 0.2))
    return model.eval()


def loaded(model: Any) -> Any:
    """A model built here, with the parts that predictions read; its table of norms is made now."""
    return SimpleNamespace(
        model=model, sites=sites_of(model), topology=topology_of(model.config), device=torch.device("cpu")
    )


def uncentred(module: Any) -> None:
    """Makes an RMSNorm of a LayerNorm, behind its name."""
    module.forward = lambda x: rms_norm(x, x.shape[-1:], module.weight, module.eps) + module.bias


def centred(module: Any) -> None:
    module.forward = lambda x: layer_norm(x, x.shape[-1:], module.weight, None, module.variance_epsilon)


def rewritten(model: Path, change: Callable[[Weights], Weights | None] | None = None, **config: Any) -> Path:
    """A saved model, with other weights and other entries of config.json from now on."""
    if change is not None:
        weights = load_file(model / "model.safetensors")
        save_file(change(weights) or weights, model / "model.safetensors", {"format": "pt"})
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return model


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory) -> Path:
    """A tiny Llama saved as users save theirs, without a tokenizer."""
    directory = tmp_path_factory.mktemp("models") / "tiny-llama"
    tiny_model("llama").save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def token_file(tmp_path_factory) -> Path:
    """4,096 token ids as nanoGPT writes them."""
    import numpy as np

    path = tmp_path_factory.mktemp("corpora") / "tokens.bin"
    np.random.default_rng(0).integers(0, VOCABULARY, 4096).astype("<u2").tofile(path)
    return path


@pytest.fixture
def words(model_directory: Path, token_file: Path, tmp_path) -> Words:
    """The command of a sweep: into a folder of this name, with options by their names."""

    def made(name: str = "run", *more: object, model: object = model_directory, **options: object) -> list[str]:
        given = {"corpus": token_file, "output": tmp_path / name, "device": "cpu", "directions": 4, **options}
        given = {"tokens": 64, "sequence_length": 32, **given}
        named = (word for option, value in given.items() for word in (f"--{option.replace('_', '-')}", value))
        return ["sweep", *map(str, (model, *named, *more))]

    return made


def word_tokenizer(*words: str, start: bool = False, **special: str) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words: the first is for unknown ones, the second stands before a text if asked for."""
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=words[0]))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    if start:
        inner.post_processor = processors.TemplateProcessing(single=f"{words[1]} $A", special_tokens=[(words[1], 1)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, **special)


def message(action: Callable[[], object]) -> str:
    """The one line of the error of this project that `action` raises."""
    with pytest.raises(LngeomError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def tiny_known(monkeypatch) -> None:
    for name, known in list(KNOWN_MODELS.items()):
        shape = tiny_config(str(known.shape["model_type"])).to_dict()
        entries = {key: value for key, value in shape.items() if key not in ("transformers_version", "dtype")}
        monkeypatch.setitem(KNOWN_MODELS, name, replace(known, shape=MappingProxyType(entries)))


@pytest.fixture
def without_pages(monkeypatch) -> None:
    """Runs without figures and report, which take most of the time of a tiny run."""
    monkeypatch.setattr("lngeom.empirical.pages.draw_figures", lambda *_: None)
    monkeypatch.setattr("lngeom.empirical.pages.write_report", lambda *_: None)


@pytest.fixture
def one_figure(monkeypatch) -> None:
    """Runs whose figures are empty but for that of the energies, since drawing takes most of the time of a tiny run."""
    from lngeom.empirical.pages import sweep_figures

    write = sweep_figures.write_figure

    def written(figure: Any, path: Path) -> None:
        write(figure if path.stem == "energy" else type(figure)(), path)

    monkeypatch.setattr(sweep_figures, "write_figure", written)


def _installed(find: Callable[[], Path]) -> Path:
    try:
        return find()
    except LngeomError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def smollm() -> Path:
    return _installed(bundled_model)


@pytest.fixture(scope="session")
def wikipedia() -> Path:
    return _installed(bundled_wikipedia)


@pytest.fixture(scope="session")
def scene(tmp_path_factory) -> Scene:
    """A model, and what a sweep and a fold make of it."""
    return Scene(tmp_path_factory.mktemp("scene"), fold=True)
