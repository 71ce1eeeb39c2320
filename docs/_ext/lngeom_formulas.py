"""Formulas without a content network: MathJax of a pinned npm package goes into the site when it is built.

A package is fetched once by ``npm pack``, compared with its SHA-512 and unpacked below ``_build``. Where npm is missing
or cannot reach a registry, the build says so, and the pages take the same version of MathJax from a content network.
"""

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError


class Package(NamedTuple):
    """A package of npm, its hash, and what of it is used."""

    name: str
    sha512: str
    inside: str
    parts: tuple[str, ...]


MATHJAX = Package(
    "mathjax@3.2.2",
    "06df9249553c7811b6ef30a155ec0e89c62ced7b1db78d2a9b8f94a47c97ee4d"
    "3f3bd36588f73ec7bee4d7f144b0fb2328f64626fb5164cd6f3be81e5b43a11b",
    "package/es5",
    ("tex-chtml.js", "input/tex/extensions", "output/chtml/fonts/woff-v2", "a11y", "sre"),
)
AXE = Package(
    "axe-core@4.12.0",
    "1536afaffec16b4229b7018e3f19d0bddc96dad02c74b04c4c15f3eeb287eb12"
    "76b24a72c69071c87903741b3895febdc91a98a64a8275f867c12f1850b18e9a",
    "package",
    ("axe.min.js",),
)
"""What the tests look for hindrances with."""
NETWORK = f"https://cdn.jsdelivr.net/npm/{MATHJAX.name}/es5/tex-chtml.js"


def fetch(package: Package, folder: Path) -> str | None:
    """Unpack a package into `folder` unless it is there; returns why it could not be fetched, None if it is there.

    Several processes may do so at once: each unpacks into a place of its own, and the first to be done moves it here.
    """
    if folder.exists():
        return None
    if shutil.which("npm") is None:
        return "npm is not installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as place:
        done = subprocess.run(["npm", "pack", package.name], cwd=place, capture_output=True, text=True, check=False)
        packed = next(Path(place).glob("*.tgz"), None)
        if done.returncode or packed is None:
            return "npm could not fetch it: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        if hashlib.sha512(packed.read_bytes()).hexdigest() != package.sha512:
            msg = f"{package.name}: its SHA-512 differs from the pinned one; clear npm's cache, or correct the pin"
            raise ExtensionError(msg)
        with tarfile.open(packed) as archive:
            archive.extractall(place, filter="data")
        draft = Path(place, "draft")
        for part in package.parts:
            source, target = Path(place, package.inside, part), draft / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
        try:
            draft.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    return None


def _choose(app: Sphinx, config: Config) -> None:
    missing = fetch(MATHJAX, Path(app.confdir) / "_build" / "npm" / "mathjax")
    if missing is None:
        config.html_static_path.append("_build/npm")
        config.mathjax_path = "mathjax/tex-chtml.js"
    else:
        print(f"formulas will be loaded from a content network: {missing}")
        config.mathjax_path = NETWORK


def setup(app: Sphinx) -> dict[str, Any]:
    """Choose where the pages load MathJax from."""
    app.connect("config-inited", _choose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
