import doctest
from pathlib import Path

import numpy as np
import pytest

from lngeom.cli import main
from lngeom.empirical.models import find_model, load_tokenizer
from lngeom.empirical.runs import RunDirectory

from ..empirical.conftest import smollm as smollm, wikipedia as wikipedia

DOCS = Path(__file__).parents[2] / "docs"
MEASURING = {"guides/sweep"}
"""Pages that run the bundled model on the bundled text."""

FLAGS = doctest.REPORT_NDIFF | doctest.ELLIPSIS


def names() -> list[str]:
    pages = [str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")]
    return sorted(name for name in [*pages, "../CONTRIBUTING"] if "\n>>> " in (DOCS / f"{name}.md").read_text("utf-8"))


def execute(name: str) -> None:
    failed, attempted = doctest.testfile(
        str(DOCS / f"{name}.md"), module_relative=False, encoding="utf-8", optionflags=FLAGS
    )
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("name", [name for name in names() if name not in MEASURING])
def test_page_prints_what_it_says(name: str) -> None:
    execute(name)


def test_the_first_screen_is_what_the_command_prints(tmp_path, monkeypatch, capsys) -> None:
    screens = [(DOCS / page).read_text(encoding="utf-8") for page in ("guides/check.md", "index.md", "../README.md")]
    beside = (
        (DOCS / "api/check.md").read_text(encoding="utf-8").partition("(two-kernels)=")[2].partition("\n## Other")[0]
    )
    blocks = [part.partition("END\n")[0] for part in (screens[0] + beside).split("<<'END'\n")[1:]]
    (tmp_path / "mykernels.py").write_text("".join(blocks))
    monkeypatch.chdir(tmp_path)
    two = "mykernels:fast_norm --spec mykernels:rms_norm"
    for asked, pages in (("mykernels:rms_norm", screens), (two, [beside])):
        assert main(["check", *asked.split()]) == 0
        printed = capsys.readouterr().out
        for screen in pages:
            shown = screen.partition(f"$ lngeom check {asked}\n")[2].partition("```")[0]
            assert doctest.OutputChecker().check_output(shown, printed, FLAGS), f"{shown}\n{printed}"


@pytest.mark.real_data
@pytest.mark.usefixtures("wikipedia")
@pytest.mark.parametrize("name", sorted(MEASURING))
def test_measuring_page_prints_what_it_says(name: str, smollm: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    execute(name)
    # That the tokens are those of English text: the first article, word for word.
    run = RunDirectory(tmp_path / "runs" / "first")
    assert run.manifest()["token_policy"]["separator"] == "<|im_end|>"
    text = load_tokenizer(find_model(str(smollm))).decode(np.load(run.path / "tokens.npy")[0])
    assert text.startswith("Anarchism is a political philosophy that advocates")


def test_every_guide_has_python_on_it() -> None:
    guides = {f"guides/{path.stem}" for path in (DOCS / "guides").glob("*.md") if path.stem != "index"}
    assert MEASURING < guides <= set(names())
