"""``lngeom report`` makes the page of a run again from its table."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from empirical.capture import Observer
from empirical.models import NormSite
from empirical.report import figures
from empirical.statistics import rows
from lngeom.cli import main

from .conftest import Refused, Words, tiny_model


def test_report_is_rebuilt(words: Words, refused: Refused, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(words()) == 0
    made = {path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".html", ".svg")}
    assert "report.html" in made
    for name in made:
        (run / name).unlink()
    assert main(["report", str(run)]) == 0
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".html", ".svg")} == made
    (run / "DONE").unlink()
    assert refused("report", run).startswith(
        f"lngeom report: {run}: is not finished; run its command again first: lngeom sweep "
    )


def test_gains_that_are_all_zero_give_figures_with_empty_panels() -> None:
    norms = torch.nn.ModuleList([torch.nn.LayerNorm(8), torch.nn.LayerNorm(8)])
    for parameter in norms.parameters():
        torch.nn.init.zeros_(parameter)
    roles = ("pre_attn", "pre_mlp")
    sites = [NormSite(str(k), 0, role, "layernorm", 1e-5, 8) for k, role in enumerate(roles)]
    with Observer(norms, sites) as observer:
        for norm in norms:
            norm(torch.arange(80.0).sin().reshape(2, 5, 8))
    drawn = figures(rows(observer.states, sites), "zero gains")
    for figure in (drawn["energy"], drawn["angle_after"]):
        assert [any(text.get_text() == "no finite hidden state" for text in axes.texts) for axes in figure.axes][
            -2:
        ] == [True, True]


def test_a_run_without_a_finite_hidden_state_has_a_page_that_says_so(
    words: Words, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_model("gpt2")
    with torch.no_grad():
        model.wte.weight.fill_(torch.inf)
    model.save_pretrained(tmp_path / "model")
    run = tmp_path / "run"
    assert main(words(model=tmp_path / "model")) == 0
    assert "left out as not finite: " in capsys.readouterr().out
    assert (run / "DONE").exists()
    for name in ("angle_before", "angle_after", "energy"):
        assert "no finite hidden state" in (run / f"{name}.svg").read_text(encoding="utf-8")
