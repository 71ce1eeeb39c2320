import re
import shutil
from pathlib import Path

import pytest
import torch

from lngeom.cli import main
from lngeom.empirical.observe import read_sites
from lngeom.empirical.pages import figures, write_report
from lngeom.empirical.runs import RunDirectory

from ..conftest import Words, tiny_model


@pytest.fixture(scope="module")
def finished(token_file: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    tiny_model("gptj").save_pretrained(folder / "gptj")
    options = ["--device", "cpu", "--directions", "4", "--tokens", "64", "--sequence-length", "32", "--output"]
    assert main(["sweep", str(folder / "gptj"), "--corpus", str(token_file), *options, str(folder / "run")]) == 0
    return folder / "run"


def test_what_no_affine_gauge_changes_comes_first_and_a_floor_is_not_called_a_bound(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings[1:5] == [
        "What no affine gauge changes", "What a shift does to this network",
        "Identities of a norm layer, recomputed", "How this checkpoint is stored",
    ]  # fmt: skip
    columns = re.findall("<th [^>]*>(.*?)</th>", page.partition('aria-label="table of norm layers"')[2])
    assert columns[:5] == ["norm layer", "side", "relative radius", "mean cosine", "angle °"]
    assert "bound" not in page.partition(headings[2])[2].partition(headings[3])[0]
    assert "<dfn>all-ones vector</dfn> is <b>1</b> = (1, …, 1)." in page
    assert "uniform" not in page
    assert not re.search(r"[_^]\{", re.sub("(?s)<(style|script|svg).*?</\\1>", "", page))


def test_every_panel_says_what_its_axes_are(finished: Path) -> None:
    drawn = figures(read_sites(finished / "sites.csv"), "tiny")
    panels = [axes for figure in drawn.values() for axes in figure.axes]
    assert len(drawn) == 6
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    ranks = next(axes for axes in panels if axes.get_ylabel().startswith("rank"))
    assert ranks.collections[0].get_label() == "95 % interval of a rank"
    ordered = [axes for axes in panels if axes.get_xlabel().startswith("norm layer")]
    counted = [*(axes.xaxis for axes in ordered), *(axes.yaxis for axes in panels if "rank" in axes.get_ylabel())]
    assert len(counted) == 6 + 2
    assert all(place == round(place) for each in counted for place in each.get_majorticklocs())


def test_unused_weights_are_named(finished: Path, tmp_path) -> None:
    run = shutil.copytree(finished, tmp_path / "run")
    RunDirectory(run).amend(unused_weights=["lm_head.weight"])
    page = write_report(run).read_text()
    assert "1 weight of the checkpoint was not needed: lm_head.weight." in page
    assert "&lt;small" not in page


@pytest.mark.usefixtures("one_figure")
def test_a_run_without_a_finite_hidden_state_has_a_page_that_says_so(words: Words, tmp_path, capsys) -> None:
    model = tiny_model("gpt2")
    with torch.no_grad():
        model.wte.weight.fill_(torch.inf)
    model.save_pretrained(tmp_path / "model")
    run = tmp_path / "run"
    assert main(words(model=tmp_path / "model")) == 0
    assert "left out as not finite: " in capsys.readouterr().out
    assert (run / "DONE").exists()
    assert "no finite hidden state" in (run / "energy.svg").read_text(encoding="utf-8")
