"""Dead links inside the site fail its build: each file and each anchor that a page points to must be there.

Sphinx checks what its own references point to. This looks at the pages as they were written, so that anchors in links
written by hand, in what directives insert and in downloads count too. Links to other sites are left to ``linkcheck``.
"""

import html
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def _values(page: str, tags: str, names: str) -> dict[str, None]:
    """The values of attributes of some tags, as they stand in a page."""
    inside = re.findall(rf"<(?:{tags})\s([^<>]*)>", page)
    return {
        html.unescape(value): None for each in inside for value in re.findall(rf'(?<!\S)(?:{names})="([^"]*)"', each)
    }


def dead_links(site: Path) -> list[str]:
    """Links of the HTML pages below `site` to files or anchors that are not there, each with its page."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchors = {path: _values(page, r"\w+", "id|name") for path, page in pages.items()}
    dead = []
    for path, page in pages.items():
        for target in _values(page, "a|link|img|script", "href|src"):
            parts = urlsplit(target)
            beside = parts.path and "_downloads" in path.parts  # a report that is downloaded comes without its tables
            if parts.scheme or parts.netloc or beside:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(parts.fragment)
            if not file.exists():
                dead.append(f"{path.relative_to(site)}: {target}: no such file")
            elif anchor and file in pages and anchor not in anchors[file]:
                dead.append(f"{path.relative_to(site)}: {target}: no such anchor")
    return dead


def _check(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html" and (dead := dead_links(Path(app.outdir).resolve())):
        raise ExtensionError(f"{len(dead)} dead links:\n" + "\n".join(dead))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
