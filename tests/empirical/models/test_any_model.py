import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from lngeom.cli import main
from lngeom.empirical.models import norms
from lngeom.empirical.observe import random_directions, sign_directions
from lngeom.empirical.sweep import MeasureOptions, compare_runs, measure, read_finished

from ..conftest import GROUPED, HEADS, WIDE
from ..networks import VISION, WHISPER
from ..oracle import Oracle, disagreements, observed

IDS = torch.arange(60).reshape(3, 20) * 7 % 61 + 3
TEXT = {"input_ids": IDS}
PAIRS = {"input_ids": IDS, "decoder_input_ids": IDS[:, :12]}
GENERATOR = torch.Generator().manual_seed(0)
PIXELS = {"pixel_values": torch.randn(3, 3, 8, 8, generator=GENERATOR)}
AUDIO = {"input_features": torch.randn(3, 4, 12, generator=GENERATOR), "decoder_input_ids": IDS[:, :9]}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "starcoder2": (WIDE | GROUPED, TEXT, 5),
    "gemma3_text": (WIDE | GROUPED | HEADS, TEXT, 13),
    "bloom": ({"hidden_size": 16, "n_layer": 2, "n_head": 2, "vocab_size": 64}, TEXT, 6),
    "mamba2": ({"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 64, "state_size": 4, "head_dim": 8,
                "num_heads": 4, "n_groups": 1, "expand": 2, "chunk_size": 4}, TEXT, 3),
    "t5": ({"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "vocab_size": 64}, PAIRS, 12),
    "whisper": (WHISPER, AUDIO, 12),
    "dinov2": (VISION, PIXELS, 5),
}  # fmt: skip
"""Configuration, input and number of norms: by heads, after embeddings, gated, on both sides, of sound, of images."""


def built(name: str) -> tuple[Any, dict[str, Any], int]:
    options, batch, count = MODELS[name]
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(name, **options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model, batch, count


@pytest.mark.parametrize("name", MODELS)
def test_every_column_of_an_architecture_of_no_table(name: str) -> None:
    model, batch, count = built(name)
    sites = norms(model, batch).sites
    assert len(sites) == count
    table, stored = observed(model, batch, sites, directions=8, seed=3)
    expected = []
    for site in sites:
        (seen,) = stored[site.path]
        sides = [side.movedim(site.axis, -1) for side in seen]
        # Heads of a token are vectors at its position.
        sides = [side.transpose(1, 2) if side.ndim == 4 and side.shape[2] == IDS.shape[1] else side for side in sides]
        heads = sides[0].shape[2] if sides[0].ndim == 4 and sides[0].shape[1] == IDS.shape[1] else 1
        x, z = (side.reshape(3, -1, site.d) for side in sides)
        directions = random_directions(site.d, 8, 3)
        expected += Oracle(
            model.get_submodule(site.path), site, x, z, (directions, sign_directions(site.d, 8, 3)), first=heads
        ).rows()
    assert disagreements(table, expected) == []


class RMS(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale


def by_hand() -> tuple[nn.Module, list[Tensor]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), RMS(16), nn.GELU(), nn.Linear(16, 16), nn.LayerNorm(16))
    return model, [torch.randn(4, 10, 8) for _ in range(5)]


def test_a_model_in_memory_is_measured_resumed_and_compared(tmp_path, without_pages: None) -> None:
    model: Any
    model, batches = by_hand()
    run = measure(model, batches, tmp_path / "whole", MeasureOptions(shard_batches=2))
    whole = read_finished(run.path)
    assert [(row["site"], row["norm"], row["tokens"]) for row in whole.rows if row["bucket"] == "all"] == [
        ("1", "rmsnorm", 200), ("1", "rmsnorm", 200), ("4", "layernorm", 200), ("4", "layernorm", 200),
    ]  # fmt: skip
    assert {each.verdict for each in whole.predictions if "cos²" not in each.prediction} <= {"holds", "undecided"}
    assert any(each.verdict == "holds" for each in whole.predictions)

    frame = whole.to_pandas()
    assert list(frame.columns) == list(whole.rows[0])
    assert frame["tokens"].sum() == sum(row["tokens"] for row in whole.rows)

    def dying() -> Any:
        yield from batches[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(model, dying(), tmp_path / "cut", MeasureOptions(shard_batches=2))
    assert not (tmp_path / "cut" / "DONE").exists()
    measure(model, batches, tmp_path / "cut", MeasureOptions(shard_batches=2))
    assert (tmp_path / "cut" / "sites.csv").read_bytes() == (run.path / "sites.csv").read_bytes()
    with torch.no_grad():
        model[4].weight.mul_(2.0)
    measure(model, batches, tmp_path / "after", MeasureOptions(shard_batches=2))
    table = compare_runs([run.path, tmp_path / "after"])
    changes = {(row["site"], row["side"]): row["norm_mean_2"] / row["norm_mean_1"] for row in table}
    assert changes == {("1", "input"): 1, ("1", "output"): 1, ("4", "input"): 1, ("4", "output"): 2}
    measure(nn.Sequential(*(nn.LayerNorm(8) for _ in range(4))), batches, tmp_path / "deeper")
    assert main(["compare", *map(str, (run.path, tmp_path / "deeper")), "--html", str(tmp_path / "page.html")]) == 0
    assert "<td>1</td><td>0</td><td>in</td>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    beside = {row["site"]: row["site_2"] for row in compare_runs([run.path, tmp_path / "deeper"])}
    assert beside == {"1": "0", "4": "3"}, "the first beside the first, the last beside the last"


def test_a_function_is_measured_from_the_command_line(tmp_path, monkeypatch, capsys, without_pages: None) -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    begin, end = source.index("class RMS"), source.index("def test_a_model_in_memory")
    (tmp_path / "mine.py").write_text("import torch\nfrom torch import Tensor, nn\n" + source[begin:end])
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "mine:by_hand", "--json"]) == 0
    assert {row["site"] for row in json.loads(capsys.readouterr().out)} == {"1", "4"}
    assert main(["norms", "mine:by_hand", "--json"]) == 0
    assert {row["path"]: row["gain"] for row in json.loads(capsys.readouterr().out)} == {"1": "scale", "4": "weight"}
    gemma = (tmp_path / "mine.py").read_text().replace("* self.scale", "* (1 + self.scale)")
    (tmp_path / "more.py").write_text(f"{gemma}\n\ndef none():\n    return nn.Linear(8, 8), [torch.ones(1, 8)]\n")
    assert [main(["norms", f"more:{name}"]) for name in ("by_hand", "none")] == [0, 0]
    assert capsys.readouterr().out.partition("1 + scale")[2].endswith("no norm was found\n")
    assert main(["compare", "runs/mine.by_hand", "runs/mine.by_hand", "--json"]) == 0
    assert {row["d_cos2_change_2"] for row in json.loads(capsys.readouterr().out)} == {0}
    assert main(["sweep", "mine:by_hand", "--tokens", "5"]) == 2
    assert main(["sweep", "mine:none"]) == 2
    odd = {"meta": "m.to('meta'), b", "empty": "m, [b[0][:0]]", "whole": "m, [b[0].long()]", "words": "m, ['x']"}
    with (tmp_path / "mine.py").open("a") as file:
        file.writelines(f"def {name}():\n    m, b = by_hand()\n    return {pair}\n" for name, pair in odd.items())
    monkeypatch.delitem(sys.modules, "mine")
    assert [main([command, f"mine:{name}"]) for command in ("sweep", "norms") for name in odd] == [2] * 5 + [0, 2, 2]
    errors = capsys.readouterr().err
    assert errors.count("a pass raises") == 3
    assert "--tokens: has no meaning for mine:by_hand" in errors
    assert "give MODULE:FUNCTION of a module in this folder" in errors


def test_an_encoder_decoder_is_swept_with_the_text_on_both_sides(tmp_path, without_pages: None) -> None:
    model, _, count = built("t5")
    model.save_pretrained(tmp_path / "t5")
    words = ["--corpus", "random", "--tokens", "64", "--sequence-length", "16", "--output", str(tmp_path / "run")]
    assert main(["sweep", str(tmp_path / "t5"), *words, "--quiet"]) == 0
    run = read_finished(tmp_path / "run")
    assert run.manifest["input"] == "the same text on both sides"
    assert len(run.rows) == count * 2 * 3
    assert {row["tokens"] for row in run.rows if row["bucket"] == "all"} == {64}
