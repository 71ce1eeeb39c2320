"""The functions of the figure that is dragged are those of the library."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lngeom as lg

SCRIPT = Path(__file__).parents[2] / "docs/_static/figure.js"
# Some twenty operations: ROUNDING units of the last place of what is largest in them.
ROUNDING = 32 * np.finfo(float).eps


def test_the_script_computes_what_the_library_computes() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js, which runs the script of the page")
    rng = np.random.default_rng(0)
    x, gain, eps = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)), 10 ** rng.uniform(-6, 1, 200)
    code = (
        f"const norm = require({json.dumps(str(SCRIPT))});"
        "const cases = JSON.parse(require('fs').readFileSync(0));"
        "console.log(JSON.stringify(cases.map(([x, gain, eps]) => [norm.project(x), norm.variance(x),"
        "norm.standardize(x, eps),norm.layerNorm(x, gain, eps), norm.relativeRadius(x, eps),"
        "norm.principalAxes(gain)])))"
    )
    cases = json.dumps([[a.tolist(), g.tolist(), e] for a, g, e in zip(x, gain, eps, strict=True)])
    done = subprocess.run([node, "-e", code], input=cases, capture_output=True, text=True, check=True)
    computed = [np.array(each) for each in zip(*json.loads(done.stdout), strict=True)]
    expected = [
        lg.project(x),
        lg.moments(x)[1][:, 0],
        np.array([lg.standardize(a, eps=e) for a, e in zip(x, eps, strict=True)]),
        np.array([lg.layer_norm(a, g, eps=e) for a, g, e in zip(x, gain, eps, strict=True)]),
        np.array([lg.epsilon.relative_radius(a, eps=e) for a, e in zip(x, eps, strict=True)]),
    ]
    for ours, theirs in zip(computed, expected, strict=False):
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= ROUNDING * np.abs(theirs).max()
    for g, ends in zip(gain, computed[-1], strict=True):
        axes = lg.principal_axes(g)
        assert np.allclose(np.linalg.norm(ends, axis=-1), axes.semi_axes, rtol=0, atol=ROUNDING * axes.semi_axes[0])
        # Directions are off by rounding over the relative gap of the squares.
        gap = 1 - (axes.semi_axes[1] / axes.semi_axes[0]) ** 2
        assert abs(ends[0] @ axes.direction(1)) <= ROUNDING * axes.semi_axes[0] / gap
