"""The built site in a real browser: what keys reach, and no serious hindrance to anyone."""

import hashlib
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from empirical.sweep import MeasureOptions, measure

from ._browser import BROWSER, Page, browse
from .conftest import DOCS

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium: install it to run the pages")

AXE = "axe-core@4.12.0"
AXE_SHA512 = (
    "1536afaffec16b4229b7018e3f19d0bddc96dad02c74b04c4c15f3eeb287eb12"
    "76b24a72c69071c87903741b3895febdc91a98a64a8275f867c12f1850b18e9a"
)

PAGES = (
    "index",
    "graph",
    "trust",
    "conventions",
    "derivations/index",
    "derivations/projection",
    "ledger/index",
    "ledger/gupta",
    "guides/sweep",
    "guides/port",
    "results/index",
    "results/smollm2",
    "results/whisper",
    "results/training/index",
    "results/norms_in_the_wild",
    "api/norms",
    "api/commands",
)
"""One of every kind at least."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browse(str(tmp_path_factory.mktemp("profile"))) as opened:
        opened.show(1300, dark=False)
        yield opened


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, of the pinned version."""
    folder = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run(["npm", "pack", AXE], cwd=folder, capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs axe-core from npm: {error}")
    (packed,) = folder.glob("*.tgz")
    assert hashlib.sha512(packed.read_bytes()).hexdigest() == AXE_SHA512, "npm delivers what was pinned"
    with tarfile.open(packed) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def test_an_opened_certificate_is_typeset_without_a_network(page: Page, site: Path) -> None:
    page.open((site / "derivations" / "projection.html").as_uri())
    opened = (
        "(async () => { const box = document.querySelector('details.certificate'); box.open = true;"
        "for (let k = 0; k < 200 && !box.querySelector('mjx-container'); k++)"
        " await new Promise((on) => setTimeout(on, 50));"
        "return box.querySelectorAll('mjx-container').length; })()"
    )
    assert page.evaluate(opened) > 0
    loaded = "[...document.querySelectorAll('script[src], link[rel=stylesheet]')].map((one) => one.src || one.href)"
    assert all(one.startswith("file:") for one in page.evaluate(loaded))


def reach(page: Page, selector: str) -> None:
    """Press Tab until something is reached."""
    for _ in range(400):
        page.press("Tab")
        if page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    pytest.fail(f"no key reaches {selector}")


def test_keys_filter_the_ledger(page: Page, site: Path) -> None:
    page.open((site / "ledger" / "index.html").as_uri())
    visible = "document.querySelectorAll('table.ledger tbody tr:not([hidden])').length"
    whole = page.evaluate(visible)
    reach(page, ".ledger-filter select")
    page.press("ArrowDown")
    assert 0 < page.evaluate(visible) < whole
    assert page.evaluate("document.querySelector('.ledger-filter [aria-live]').textContent").endswith(
        f"of {whole} claims"
    )


def test_keys_choose_in_the_graph_and_follow(page: Page, site: Path) -> None:
    page.open((site / "graph.html").as_uri())
    reach(page, "svg.theorem-graph a.theorem")
    card = page.evaluate("document.querySelector('.graph-card:not([hidden])').textContent")
    assert card.startswith(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert card.endswith(page.evaluate("document.activeElement.dataset.statement"))
    page.press("Enter")
    assert page.evaluate("document.querySelectorAll('.edge.on').length") > 0
    assert page.evaluate("location.pathname").endswith("/graph.html")
    target = page.evaluate("document.activeElement.getAttribute('href')")
    page.evaluate("window.gone = new Promise((on) => addEventListener('pagehide', on)), 0")
    page.press("Enter")
    page.evaluate("new Promise((on) => setTimeout(on, 300)).then(() => 0)")
    assert page.evaluate("location.href").endswith(target)


def hindrances(page: Page, axe: str) -> list[Any]:
    """Violations that axe-core calls serious, with every box open but the long certificates."""
    page.evaluate("document.querySelectorAll('details:not(.certificate)').forEach((box) => { box.open = true; })")
    page.evaluate(f"{axe}; 0")
    return page.evaluate(
        "axe.run().then((found) => found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))"
        ".map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]))"
    )


# Colours do not depend on the width, nor does the layout on the theme: two looks show both of each.
LOOKS = pytest.mark.parametrize(("width", "dark"), [(1300, False), (400, True)], ids=["wide-light", "narrow-dark"])


@LOOKS
@pytest.mark.parametrize("name", PAGES)
def test_no_serious_hindrance_to_anyone(name: str, width: int, *, dark: bool, page: Page, site: Path, axe: str) -> None:
    page.show(width, dark=dark)
    page.open((site / f"{name}.html").as_uri())
    assert hindrances(page, axe) == []
    # Nothing makes the whole page scroll sideways.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@LOOKS
def test_no_serious_hindrance_in_a_report(width: int, *, dark: bool, page: Page, axe: str) -> None:
    page.show(width, dark=dark)
    page.open((DOCS / "results" / "smollm2" / "report.html").as_uri())
    assert hindrances(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert width > 400 or not page.evaluate("document.querySelectorAll('.wider').length")


def test_a_point_of_a_figure_tells_its_numbers(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.LayerNorm(8))
    run = measure(model, [torch.randn(4, 6, 8)], tmp_path / "run", MeasureOptions(directions=2))
    page.show(1280, dark=False)
    page.open((run.path / "report.html").as_uri())
    names = page.evaluate("[...document.querySelectorAll('#energy svg a')].map((a) => a.getAttribute('aria-label'))")
    assert [name[:13] for name in names] == ["0, in, angle ", "2, in, angle "]
    assert [name for role, name in page.read_aloud() if role == "link" and name in names][:2] == names
    under_the_mouse = """(() => {
        const link = document.querySelector("#energy svg a");
        link.scrollIntoView({ block: "center" });
        const box = link.getBoundingClientRect();
        const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2).closest("a");
        return hit.querySelector("title").textContent;
    })()"""
    assert page.evaluate(under_the_mouse) == names[0]
    page.evaluate("document.querySelector('#energy svg a[tabindex=\"0\"]').focus()")
    page.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == names[1]
    page.press("Enter")
    assert page.evaluate("location.hash") == "#row-2-input"
