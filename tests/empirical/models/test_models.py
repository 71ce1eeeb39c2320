import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, ViTConfig

from lngeom.empirical import models
from lngeom.empirical.models import find_model, load_config, load_model

from ..conftest import POSITIONS, WIDTH, message, rewritten


def test_local_directory(model_directory: Path) -> None:
    loaded = load_model(find_model(str(model_directory)), device="cpu")
    assert (loaded.dtype, loaded.device.type, len(loaded.sites), loaded.topology) == ("float32", "cpu", 5, "sequential")
    assert loaded.revision.startswith("sha256:")
    assert not loaded.model.training
    stored = load_file(model_directory / "model.safetensors")
    assert torch.equal(loaded.model.state_dict()["norm.weight"], stored["norm.weight"])
    assert models.longest_sequence(loaded.config) == POSITIONS


def test_revision_of_a_directory_is_its_content(model_directory: Path, tmp_path) -> None:
    source = find_model(str(model_directory))
    copy = find_model(str(rewritten(shutil.copytree(model_directory, tmp_path / "copy"))))
    other = find_model(str(rewritten(shutil.copytree(model_directory, tmp_path / "other"), rms_norm_eps=1e-3)))
    config = load_config(source)
    assert other.resolved_revision(config) != source.resolved_revision(config)
    shutil.copy(model_directory / "config.json", tmp_path / "copy" / "config.json")
    assert copy.resolved_revision(config) == source.resolved_revision(config)


def test_dtypes(model_directory: Path) -> None:
    source = find_model(str(model_directory))
    for name in ("float32", "bfloat16", "float64"):
        assert load_model(source, dtype=name, device="cpu").dtype == name
    config = load_config(source)
    config.dtype = torch.float16
    assert models.resolve_dtype("auto", config, torch.device("cpu")) is torch.float32
    assert models.resolve_dtype("auto", config, torch.device("cuda")) is torch.float16


def test_random_weights_depend_on_the_seed_alone(model_directory: Path) -> None:
    source = find_model(str(model_directory))
    first, again, other = (
        load_model(source, device="cpu", random_weights=True, seed=seed).model.state_dict()["embed_tokens.weight"]
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape[1] == WIDTH
    assert load_model(source, device="cpu", random_weights=True, seed=1).revision.startswith("config sha256:")


def test_remote_code_is_never_trusted(model_directory: Path, tmp_path) -> None:
    directory = rewritten(
        shutil.copytree(model_directory, tmp_path / "remote"),
        auto_map={"AutoModel": "evil.Model"},
        model_type="evil-type",
    )
    (directory / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert "evil" in message(lambda: load_config(find_model(str(directory))))
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_only_when_asked(model_directory: Path, tmp_path) -> None:
    # The number of a status, or what is said of restricted models, may be part of a path.
    directory = rewritten(shutil.copytree(model_directory, tmp_path / "gated repo 401 Client Error"))
    torch.save(load_file(directory / "model.safetensors"), directory / "pytorch_model.bin")
    (directory / "model.safetensors").unlink()
    source = find_model(str(directory))
    assert message(lambda: load_model(source, device="cpu")) == (
        f"model {str(directory)!r} cannot be loaded: it has no safetensors weights; "
        "pickled weights run code; load them with --allow-pickle"
    )
    assert load_model(source, device="cpu", allow_pickle=True).dtype == "float32"


def test_models_that_are_not_there(tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "not.gguf").write_bytes(b"PK\x03\x04 something else")
    expected = {
        "./nowhere": "model './nowhere': no such file or directory, and not a hub id (owner/name); check the path",
        "a/b/c": "model 'a/b/c': no such file or directory, and not a hub id (owner/name); check the path",
        "nowhere.gguf": "model 'nowhere.gguf': no such file; "
        "give a .gguf file, a directory with config.json, or a hub id",
        str(tmp_path / "not.gguf"): f"model {str(tmp_path / 'not.gguf')!r}: begins with b'PK\\x03\\x04', "
        "GGUF files begin with b'GGUF'; download it again",
        str(tmp_path / "empty"): f"model {str(tmp_path / 'empty')!r}: the directory has no config.json; "
        "save it with model.save_pretrained",
    }
    for spec, text in expected.items():
        assert message(lambda spec=spec: find_model(spec)) == text
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert message(lambda: load_config(find_model("lngeom/absent-model"))) == (
        "model 'lngeom/absent-model' cannot be loaded: it is not in the local cache; "
        "HF_HUB_OFFLINE is set; unset it, or give a local directory"
    )


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (OSError("You are trying to access a gated repo.\nMake sure to have access"),
         "access is restricted; accept its licence on huggingface.co and set HF_TOKEN"),
        (OSError("gated-401/llama-403b is not a local folder and is not a valid model identifier"),
         "it was not found on the hub; check its name and the network, or give a local directory"),
        (RuntimeError("weird\n\nthing"), "RuntimeError: weird thing; check the files, or download them again"),
    ],
)  # fmt: skip
def test_what_the_hub_answers_is_told_in_one_line(monkeypatch, raised: Exception, text: str) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("lngeom.empirical.models.load.AutoConfig.from_pretrained", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert message(lambda: load_config(find_model("meta-llama/Llama-2-7b-hf"))) == (
        f"model 'meta-llama/Llama-2-7b-hf' cannot be loaded: {text}"
    )


def test_revision_of_a_local_model_is_refused(model_directory: Path) -> None:
    assert message(lambda: find_model(str(model_directory), "main")) == (
        f"--revision main: {str(model_directory)!r} is local and has no revisions; leave --revision out"
    )
    assert find_model("owner/name", "abc").arguments() == {"trust_remote_code": False, "revision": "abc"}


def test_models_that_read_no_text_are_told() -> None:
    vit = AutoModel.from_config(ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2))
    assert "ViTModel reads pixel_values, not text" in message(lambda: models.text_inputs(vit, torch.ones(1, 4)))


def test_a_missing_tokenizer_is_told(model_directory: Path) -> None:
    text = message(lambda: models.load_tokenizer(find_model(str(model_directory))))
    assert text.startswith(f"model {str(model_directory)!r} has no tokenizer that can be loaded (")
    assert text.endswith("for a model that does not read text, MODULE:FUNCTION")


def test_devices_and_dtypes_that_are_not_there(model_directory: Path) -> None:
    config = load_config(find_model(str(model_directory)))
    text = message(lambda: models.resolve_device("tpu"))
    assert text.startswith("--device tpu: cannot be used (")
    assert text.endswith("; use auto, cpu or cuda" if torch.cuda.is_available() else "; use auto or cpu")
    assert message(lambda: models.resolve_dtype("int8", config, torch.device("cpu"))) == (
        "--dtype int8: unknown; use auto, float32, bfloat16, float16, float64"
    )
    if not torch.cuda.is_available():
        assert message(lambda: models.resolve_device("cuda")).endswith("; use auto or cpu")
        assert models.resolve_device("auto") == torch.device("cpu")
