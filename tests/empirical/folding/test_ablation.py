import json
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from rich.console import Console
from torch import nn

import lngeom
from lngeom.cli import main
from lngeom.empirical.folding import Ablation, Change, Measurement, plan_changes, run_ablation, summarize
from lngeom.empirical.observe import random_directions
from lngeom.empirical.support import CorpusError, read_table
from lngeom.empirical.text import Passage, open_corpus, passages
from lngeom.errors import RunError
from lngeom.files import read_json, read_sealed, write_sealed
from tests.support import refused, said

from ..conftest import VOCABULARY, WIDTH
from ..networks import FAMILIES, RMS, ROUNDING, trained


def losses(network: Any, given: list[Passage]) -> torch.Tensor:
    with torch.inference_mode():
        ids = [torch.from_numpy(case.inputs["input_ids"])[None] for case in given]
        return torch.stack([network(input_ids=i, labels=i).loss.double() * (i.shape[1] - 1) for i in ids])


def replaced(network: Any, path: str, formula: Any) -> Any:
    class Changed(nn.Module):
        def __init__(self, old: Any) -> None:
            super().__init__()
            self.old = old

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            old = self.old
            eps = old.eps if hasattr(old, "eps") else old.variance_epsilon
            return formula(x, old.weight, getattr(old, "bias", None), eps=eps)

    parent, _, last = path.rpartition(".")
    setattr(network.get_submodule(parent), last, Changed(network.get_submodule(path)))
    return network


def _without(k: int) -> Any:
    u = torch.from_numpy(random_directions(WIDTH, k + 2, 0)[k])
    return lambda x, gain, bias, eps: lngeom.rms_norm(x - (x @ u)[..., None] * u, gain, bias, eps=eps)


@pytest.mark.parametrize(("family", "formula"), [("gpt2", lngeom.rms_norm), ("llama", lngeom.layer_norm)])
def test_each_change_costs_what_the_changed_network_loses(family: str, formula: Any) -> None:
    make = (FAMILIES | RMS)[family]
    network, ids = trained(make), np.random.default_rng(0).integers(3, VOCABULARY, (6, 12))
    given = [Passage.of_ids(number // 2, row) for number, row in enumerate(ids)]
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    base, measure = losses(network, given), Measurement(network, given, batch=24)
    changes, reason = plan_changes(network, directions=2)
    assert reason == ""
    paths = [change.site for change in changes if len(change.norms) == 1]
    assert len(paths) == 5
    for change in changes:
        measured = torch.from_numpy(measure(change)[:, 2])
        if change.name == "none":
            expected = base
        elif change.name == "folded":
            expected = torch.zeros_like(base)
        elif not change.norms:
            changed = trained(make)
            if change.site == "writers":
                # Centring all that is written is centring at every norm.
                for path in paths:
                    replaced(changed, path, formula)
            else:
                table = changed.model.embed_tokens.weight.data
                table -= table.mean(1, keepdim=True)
            expected = losses(changed, given) - base
        else:
            changed = trained(make)
            for norm in change.norms:
                replaced(changed, norm.path, formula if change.index is None else _without(change.index))
            expected = losses(changed, given) - base
        # Logits are made log-probabilities in float32: 2^-24 of at most 20 nats at each of 11 tokens, with room for 4.
        assert torch.allclose(measured, expected, rtol=0, atol=4 * 11 * 20 * 2.0**-24), (change.name, change.site)
        assert change.name in ("none", "folded") or measured.abs().max() > 1e-3
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_stacks_of_whisper_are_changed_apart() -> None:
    changes, _ = plan_changes(trained(FAMILIES["whisper"]), directions=1, sites=False)
    assert [change.site for change in changes if change.name == "rms_norm"] == [
        "all", "model.encoder", "model.decoder",
    ]  # fmt: skip


def test_interval_takes_documents_as_units() -> None:
    # Document, tokens, difference: two documents with means 1 and 3; four sequences would be far too sure.
    rows = np.array([[0, 10, 10.0, 0, 10], [0, 10, 10, 0, 10], [1, 10, 30, 0, 0], [1, 10, 30, 0, 0]])
    row = summarize(Change("rms_norm", "all"), rows)
    assert (row["nats"], row["top1"], row["tokens"]) == (2, 0.5, 40)
    # Student's 97.5 % point with one degree of freedom, where it is Cauchy's; the standard error of 1 and 3 is 1.
    assert row["nats_high"] - row["nats"] == pytest.approx(np.tan(0.475 * np.pi))
    assert row["nats_low"] < 0


def test_run_resumes_and_says_what_the_columns_are(tmp_path, monkeypatch, capsys) -> None:
    trained(FAMILIES["gpt2"], torch.float32).save_pretrained(tmp_path / "model")
    np.save(tmp_path / "ids.npy", np.random.default_rng(0).integers(3, VOCABULARY, 96))
    ablation = Ablation(
        str(tmp_path / "model"), str(tmp_path / "ids.npy"), sequence_length=12, site_tokens=22, shard_tokens=22,
        directions=1, output=str(tmp_path / "run"),
    )  # fmt: skip
    quiet, calls = Console(quiet=True), []
    whole = Measurement.__call__

    def interrupted(self: Measurement, change: Change, seed: int = 0) -> np.ndarray:
        calls.append(change.site)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return whole(self, change, seed)

    monkeypatch.setattr(Measurement, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_ablation(ablation, console=quiet)
    assert not (tmp_path / "run" / "DONE").exists()
    foreign, damaged, *_ = sorted((tmp_path / "run" / "shards").iterdir())
    write_sealed(foreign, read_sealed(foreign) | {"measured_sha256": "another"})
    damaged.write_text(damaged.read_text().replace('"rows": [', '"rows": [[0, 9, 9, 9, 9],'))
    run = run_ablation(ablation, console=quiet)
    # Four shards of four changes, and in the first shard five norms. Three are done again: the one that was
    # interrupted, one of another run, and one that its seal does not fit.
    assert len(calls) == 4 * 4 + 5 + 3
    rows = read_table(run.path / "ablation.csv")
    assert list(rows[0]) == ["change", "site", "nats", "nats_low", "nats_high", "kl", "top1", "tokens"]
    assert [row["change"] for row in rows] == ["none", "folded", "rms_norm", "u_norm", *["rms_norm"] * 5]
    assert [row["tokens"] for row in rows] == [88] * 4 + [22] * 5
    assert abs(rows[1]["nats"]) <= ROUNDING < rows[2]["kl"]
    assert read_json(run.manifest_path)["nats_per_token"] > 0
    assert run.is_done
    words = [
        f"--{name.replace('_', '-')}={value}" for name, value in vars(ablation).items() if value and name != "model"
    ]
    assert main(["ablate", str(tmp_path / "model"), *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows
    with pytest.raises(RunError, match="holds another run"):
        run_ablation(Ablation(**{**vars(ablation), "seed": 1}), console=quiet)


def test_folder_of_cases_and_bad_corpora(tmp_path) -> None:
    with pytest.raises(CorpusError, match="is a directory"):
        open_corpus(str(tmp_path))
    np.savez(tmp_path / "0.npz", input_ids=np.arange(4), labels=np.array([1, 2, 3, -100]), document=7, speech=True)
    (case,) = passages(open_corpus(str(tmp_path)), None, tokens=9, length=9, per_document=1)
    assert (case.document, case.tokens, list(case.inputs)) == (7, 3, ["input_ids"])
    hf.GPT2LMHeadModel(hf.GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=16)).save_pretrained(tmp_path / "m")
    np.save(tmp_path / "short.npy", np.arange(3))
    for command in ("ablate", "fold", "gauge --shift 1"):  # the model has no tokenizer, which is not what is wrong
        words = (*command.split(), tmp_path / "m", "--corpus", "random")
        refused(said(*words), "losses and predictions on random tokens mean nothing")
    refused(said("ablate", tmp_path / "m", "--corpus", tmp_path / "short.npy"), "holds no passage")
    with pytest.raises(CorpusError, match=r"labels \(1, 5\) for logits \(1, 4, 64\); give one label for each position"):
        Measurement(trained(FAMILIES["gpt2"]), [Passage(0, {"input_ids": np.arange(4)}, np.arange(5))], 8)(
            Change("none", "all")
        )
