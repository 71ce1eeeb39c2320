"""The built site in a real browser: what the figure computes, how certificates open, and no serious hindrance."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import lngeom as lg

DOCS = Path(__file__).parents[2] / "docs"
SITE = DOCS / "_build" / "html"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium: install it to run the pages"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs the built site: run `make docs`"),
]


def seen(address: str) -> str:
    """The document after its scripts have run."""
    assert BROWSER is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000", "--dump-dom"]
    return subprocess.run([BROWSER, *options, address], capture_output=True, text=True, check=True).stdout


def npm() -> ModuleType:
    """The extension of the site that fetches pinned packages."""
    spec = importlib.util.spec_from_file_location("lngeom_formulas", DOCS / "_ext" / "lngeom_formulas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("x", "gain", "logeps"),
    [
        ((2.0, 0.5, -1.0), (1.0, 1.6, 0.6), -2.0),
        ((1.0, 2.0, 3.0), (-2.0, 0.5, 1.25), 1.0),
        ((0.1, -3.0, 2.5), (2.0, 2.0, 1.0), -6.0),
        ((0.1, -3.0, 2.5), (0.0, 1.0, 2.0), -6.0),
    ],
)
def test_the_figure_computes_what_the_library_does(x, gain, logeps: float) -> None:
    place = f"{(SITE / 'touch.html').as_uri()}#x={','.join(map(str, x))}&g={','.join(map(str, gain))}&logeps={logeps}"
    found = re.search(r'data-values="([^"]*)"', seen(place))
    assert found is not None
    shown = json.loads(html.unescape(found.group(1)))
    vector, g, eps = np.array(x), np.array(gain), 10.0**logeps
    axes = lg.principal_axes(g)
    # A dozen operations on numbers of at most 10 each in float64, and a root of a difference of such.
    near = 64 * np.finfo(float).eps
    np.testing.assert_allclose(shown["y"], lg.standardize(vector, eps=eps), rtol=near, atol=near)
    np.testing.assert_allclose(shown["z"], lg.layer_norm(vector, g, eps=eps), rtol=near, atol=near)
    np.testing.assert_allclose(shown["semiAxes"], axes.semi_axes, rtol=near, atol=near)
    for k, direction in enumerate(shown["directions"]):
        if axes.semi_axes[k] > 0:
            # Twice a vanishing gap of the poles is lost at most: the roots are known to `near`, the gaps are above 0.1.
            assert abs(float(np.dot(direction, axes.direction(k)))) >= 1 - 100 * near


def test_an_opened_certificate_is_typeset_without_a_network(tmp_path: Path) -> None:
    page = (SITE / "derivations" / "projection.html").read_text(encoding="utf-8")
    base = f'<base href="{(SITE / "derivations").as_uri()}/">'
    opens = (
        "<script>addEventListener('load', () => MathJax.startup.promise.then(() => "
        "{ document.querySelector('details.certificate').open = true; }))</script>"
    )
    changed = tmp_path / "projection.html"
    changed.write_text(
        page.replace("<head>", f"<head>{base}", 1).replace("</body>", f"{opens}</body>"), encoding="utf-8"
    )
    document = seen(changed.as_uri())
    first = document.partition('<ol class="certificate"')[2].partition("</ol>")[0]
    assert "<mjx-container" in first
    assert "cdn." not in re.sub(r"<a [^>]*>", "", page)


@pytest.mark.parametrize("page", ["index", "graph", "touch", "ledger/index", "derivations/projection", "results/index"])
def test_no_serious_hindrance_to_anyone(page: str, tmp_path: Path) -> None:
    module = npm()
    folder = DOCS / "_build" / "npm-tests" / "axe"
    folder.parent.mkdir(parents=True, exist_ok=True)
    missing = module.fetch(module.AXE, folder)
    if missing is not None:
        pytest.skip(f"needs axe-core from npm: {missing}")
    path = SITE / f"{page}.html"
    run = (
        f'<script src="{(folder / "axe.min.js").as_uri()}"></script>'
        '<script>addEventListener("load", () => axe.run().then((found) => '
        "{ document.body.dataset.axe = JSON.stringify(found.violations.map((one) => "
        "[one.impact, one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))])); }))</script>"
    )
    text = path.read_text(encoding="utf-8").replace("<head>", f'<head><base href="{path.parent.as_uri()}/">', 1)
    changed = tmp_path / "page.html"
    changed.write_text(text.replace("</body>", f"{run}</body>"), encoding="utf-8")
    found = re.search(r'data-axe="([^"]*)"', seen(changed.as_uri()))
    assert found is not None, "axe-core did not finish"
    serious = [one for one in json.loads(html.unescape(found.group(1))) if one[0] in ("serious", "critical")]
    assert serious == []
