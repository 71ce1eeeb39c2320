import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support import python

PAGE = (Path(__file__).parents[2] / "docs" / "results" / "found.md").read_text(encoding="utf-8")
SCRIPTS = dict(
    reversed(re.findall(r"^## (\w+) (?:(?!^## ).)*?```text\n(.*?)```", PAGE, re.S | re.M))
)  # the first of a name


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize(
    ("name", "package", "release", "printed"),
    [
        ("PyTorch", "torch", "2.13.0", "256 256.0\n300 256.0\n1000 256.0\n4096 256.0"),
        ("JAX", "jax", "0.10.2", "[-316.22778  316.22778]"),
        ("Keras", "keras", "3.15.1", "[[0.9995004 2.9985013]]\n[[0.44716886 1.3415066 ]]"),
    ],
)
def test_a_script_prints_what_the_page_says(name: str, package: str, release: str, printed: str) -> None:
    if importlib.util.find_spec(package) is None or version(package).partition("+")[0] != release:
        pytest.skip(f"needs {package} {release}, of which the page speaks")
    # Processors differ in the last place of a reciprocal root in float32.
    seen = python("-c", SCRIPTS[name], check=True).stdout
    near = numbers(seen) == pytest.approx(numbers(printed), rel=2.0**-22, abs=0)
    assert near if name == "JAX" else printed in seen
    assert all(line.replace(" ]]", "]]") in PAGE for line in printed.splitlines())
