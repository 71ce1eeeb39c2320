"""``lngeom report`` makes the page of a run again from its table."""

from pathlib import Path

import pytest
import torch

from empirical.pages import write_report
from empirical.runs import RunDirectory
from lngeom.cli import main

from ..conftest import Refused, Words, tiny_model


def page_of(architecture: str, words: Words, tmp_path: Path) -> str:
    """The page of a run of a tiny model, in the folder `run`."""
    tiny_model(architecture).save_pretrained(tmp_path / architecture)
    assert main(words(model=tmp_path / architecture)) == 0
    return (tmp_path / "run" / "report.html").read_text()


def test_a_page_without_a_stream_has_no_figure_of_its_growth(words: Words, tmp_path: Path) -> None:
    page = page_of("bert", words, tmp_path)
    assert "sets its length anew (Post-LN)" in page
    assert "<h2>Growth over depth</h2>" not in page
    assert not (tmp_path / "run" / "growth.svg").exists()
    assert (tmp_path / "run" / "growth.csv").exists()


def test_report_is_rebuilt(words: Words, refused: Refused, tmp_path: Path) -> None:
    run, page = tmp_path / "run", page_of("gptj", words, tmp_path)
    assert '<figure id="growth">' in page
    assert '<figure id="gains">' in page
    spectrum = RunDirectory(run).manifest()["gains"][0]
    assert spectrum["site"] == "h.0.ln_1"
    low, *_, high = spectrum["gain"]
    assert low <= spectrum["axes"][0] <= spectrum["axes"][-1] <= high  # interlacing
    assert "<h2>Growth over depth</h2>" in page
    made = {path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".html", ".svg")}
    assert {"report.html", "growth.svg"} <= made.keys()
    for name in made:
        (run / name).unlink()
    assert main(["report", str(run)]) == 0
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.suffix in (".html", ".svg")} == made
    RunDirectory(run).amend(unused_weights=["lm_head.weight"])
    assert "no place for 1 weight of the checkpoint: lm_head.weight." in write_report(run).read_text()
    (run / "DONE").unlink()
    assert refused("report", run).startswith(
        f"lngeom report: {run}: is not finished; run its command again first: lngeom sweep "
    )


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
