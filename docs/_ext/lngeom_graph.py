"""The directive ``theorem-graph``: what rests on which theorem, as a picture and as a list.

An edge is drawn where a record says so: a claim names the theorem that settles it, a verdict of a committed run names
the theorem that predicts it, a page names the theorem that it uses, and a certificate passes through the conclusion of
another theorem.
"""

from __future__ import annotations

import csv
import html
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from lngeom_evidence import ledger_pages, load
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS, CELL, LINE, LEFT, TOP = 2, 212, 24, 190, 34
RIGHT = LEFT + COLUMNS * CELL + 24
WIDTH = RIGHT + 230


class Item(NamedTuple):
    """A node of the graph: where it leads, what it says, and what it rests on."""

    kind: str
    status: str
    title: str
    link: str
    rests_on: tuple[str, ...]


def passes_through(certificates: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """For each theorem the others whose sequent is a step of its certificate; one-step certificates are definitions."""

    def written(certificate: dict[str, Any], step: dict[str, Any]) -> str:
        terms = certificate["terms"]

        def spelled(k: int) -> Any:
            return [spelled(j) if isinstance(j, int) and terms[k][0] not in ("q", "^") else j for j in terms[k][1:]] + [
                terms[k][0]
            ]

        return json.dumps(
            [
                spelled(step["conclusion"][0]),
                step["conclusion"][1],
                sorted(map(str, ([spelled(h[0]), h[1]] for h in step["hypotheses"]))),
            ]
        )

    last = {written(one, one["steps"][-1]): id for id, one in certificates.items() if len(one["steps"]) > 1}
    return {
        id: {last[said] for step in one["steps"][:-1] if (said := written(one, step)) in last} - {id}
        for id, one in certificates.items()
    }


def gather(app: Sphinx) -> dict[str, Item]:
    """All nodes by name: theorems, claims, predictions of committed runs, pages of results."""
    docs = Path(app.srcdir)
    found: dict[str, Item] = {}
    theorems = load(app, "theorems.json")["theorems"]
    known = {theorem["id"] for theorem in theorems}
    through = passes_through(
        {
            path.stem: json.loads(path.read_text())
            for path in (docs / app.config.lngeom_evidence / "certificates").glob("*.json")
        }
    )
    named: dict[str, set[str]] = defaultdict(set)
    for page in (docs / "derivations").glob("*.md"):
        label = None
        for line in page.read_text(encoding="utf-8").splitlines():
            label = next(iter(re.findall(r"^:label: (\S+)$", line)), None if line.startswith("#") else label)
            if label is not None:
                named[label] |= {
                    one
                    for one in re.findall(r"\{prf:ref\}`(?:[^`<]*<)?([\w.]+)>?`", line)
                    if one in known and one != label
                }
    for theorem in theorems:
        id = theorem["id"]
        rests = tuple(sorted(through.get(id, set()) | named[id]))
        found[id] = Item(
            "theorem", theorem["status"], theorem["title"], f"derivations/{id.partition('.')[0]}.html#{id}", rests
        )
    pages = ledger_pages(app)
    for claim in load(app, "claims.json"):
        rests = tuple(one.removeprefix("theorem ") for one in claim["settled_by"] if one.startswith("theorem "))
        if rests:
            found[f"claim {claim['id']}"] = Item(
                "claim",
                claim["verdict"],
                claim["claim"],
                f"ledger/{pages[claim['document']]}.html#claim-{claim['id']}",
                rests,
            )
    for table in sorted((docs / "results").rglob("predictions.csv")):
        page = table.parent.relative_to(docs).as_posix()
        with table.open(encoding="utf-8", newline="") as stream:
            verdicts: dict[tuple[str, str], list[str]] = defaultdict(list)
            for row in csv.DictReader(stream):
                verdicts[row["prediction"], row["theorem"]].append(row["verdict"])
        for (prediction, theorem), said in verdicts.items():
            counts = ", ".join(f"{said.count(one)} {one}" for one in dict.fromkeys(said))
            found[f"{prediction} in {table.parent.name}"] = Item(
                "prediction",
                said[0] if len(set(said)) == 1 else "mixed",
                f"{prediction}: {counts}",
                f"{page}.html",
                (theorem,),
            )
    for page in sorted((docs / "results").rglob("*.md")):
        rests = tuple(
            sorted(
                {
                    one
                    for one in re.findall(r"\{prf:ref\}`(?:[^`<]*<)?([\w.]+)>?`", page.read_text(encoding="utf-8"))
                    if one in known
                }
            )
        )
        if rests:
            where = page.relative_to(docs).with_suffix("").as_posix()
            found[f"page {where}"] = Item(
                "page",
                "page",
                page.read_text(encoding="utf-8").partition("# ")[2].partition("\n")[0],
                f"{where}.html",
                rests,
            )
    return found


def _place(items: dict[str, Item]) -> tuple[dict[str, tuple[float, float]], list[tuple[str, float]], float]:
    """Where each node stands: theorems in the middle by chapter, left and right what rests on them first."""
    spots: dict[str, tuple[float, float]] = {}
    heads: list[tuple[str, float]] = []
    chapters = dict.fromkeys(name.partition(".")[0] for name, item in items.items() if item.kind == "theorem")
    y = float(TOP)
    for chapter in chapters:
        heads.append((chapter, y))
        mine = [name for name, item in items.items() if item.kind == "theorem" and name.startswith(f"{chapter}.")]
        y += 14
        for at, name in enumerate(mine):
            spots[name] = (LEFT + at % COLUMNS * CELL, y + LINE * (at // COLUMNS + 1))
        beside = {
            side: [
                name
                for name, item in items.items()
                if item.kind in kinds and item.rests_on[0].startswith(f"{chapter}.")
            ]
            for side, kinds in (("left", ("claim",)), ("right", ("prediction", "page")))
        }
        for at, name in enumerate(beside["left"]):
            spots[name] = (20 + at % 6 * 26, y + 22 * (at // 6 + 1))
        for at, name in enumerate(beside["right"]):
            spots[name] = (RIGHT, y + LINE * (at + 1))
        lines = (-(-len(mine) // COLUMNS), -(-len(beside["left"]) // 6), len(beside["right"]))
        y += LINE * (max(lines) + 1.4)
    return spots, heads, y


def as_svg(items: dict[str, Item], root: str) -> str:
    """The picture: every node a link, every edge a path that shows when one of its ends is chosen."""
    spots, heads, height = _place(items)
    number = {name: k for k, name in enumerate(spots)}
    out = [
        f'<svg class="theorem-graph" viewBox="0 0 {WIDTH} {height:.0f}" role="group" '
        'aria-label="Theorems and what rests on them; the list below says the same">'
    ]
    for x, title in ((20, "claims"), (LEFT, "theorems, by chapter"), (RIGHT, "measured")):
        out.append(f'<text class="head" x="{x}" y="16">{title}</text>')
    out += [f'<text class="chapter" x="{LEFT}" y="{y + 12:.0f}">{chapter}</text>' for chapter, y in heads]
    for name, item in items.items():
        for other in item.rests_on:
            if name in spots and other in spots:
                (x, y), (u, v) = spots[name], spots[other]
                bend = (x + u) / 2 + (60 if x == u else 0)
                out.append(
                    f'<path class="edge" data-a="{number[name]}" data-b="{number[other]}" '
                    f'd="M{x:.0f} {y:.0f}C{bend:.0f} {y:.0f} {bend:.0f} {v:.0f} {u:.0f} {v:.0f}"/>'
                )
    for name, (x, y) in spots.items():
        item = items[name]
        label = {"theorem": name.partition(".")[2], "claim": "", "prediction": name, "page": item.title}[item.kind]
        said = html.escape(f"{name}: {item.title} ({item.status.replace('_', ' ')})")
        out.append(
            f'<a href="{root}{item.link}" data-n="{number[name]}" aria-label="{said}" '
            f'class="{item.kind} {item.status.replace(" ", "-")}"><title>{said}</title>'
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{6 if item.kind == "claim" else 5}"/>'
            + (f'<text x="{x + 10:.0f}" y="{y + 4:.0f}">{html.escape(label[:34])}</text>' if label else "")
            + "</a>"
        )
    return "".join([*out, "</svg>"])


def as_list(items: dict[str, Item], root: str) -> str:
    """The same as a list, for everyone who reads rather than looks."""
    used: dict[str, list[str]] = defaultdict(list)
    for name, item in items.items():
        for other in item.rests_on:
            used[other].append(name)

    def link(name: str) -> str:
        return f'<a href="{root}{items[name].link}">{html.escape(name)}</a>'

    rows = []
    for name, item in items.items():
        if item.kind == "theorem":
            uses = "; uses " + ", ".join(map(link, item.rests_on)) if item.rests_on else ""
            by = "; used by " + ", ".join(map(link, used[name])) if used[name] else ""
            rows.append(f"<li>{link(name)}, {html.escape(item.title)} ({item.status}){uses}{by}</li>")
    return f'<details class="graph-list"><summary>The same as a list</summary><ul>{"".join(rows)}</ul></details>'


class TheoremGraph(SphinxDirective):
    """``{theorem-graph}``: the picture with its buttons, and the list."""

    def run(self) -> list[nodes.Node]:
        """Insert both as they are; the script of the site adds choosing and zooming."""
        items = gather(self.env.app)
        root = "../" * self.env.docname.count("/")
        text = (
            '<div class="graph-frame"><div class="graph-buttons"><button type="button" data-zoom="1.25">closer</button>'
            '<button type="button" data-zoom="0.8">farther</button><button type="button" data-zoom="0">whole</button>'
            '<span class="graph-said" aria-live="polite">'
            "Choose a node to see what it rests on; choose it again to go there.</span></div>"
            f'<div class="graph-view" tabindex="0">{as_svg(items, root)}</div></div>{as_list(items, root)}'
        )
        return [nodes.raw("", text, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("theorem-graph", TheoremGraph)
    return {"parallel_read_safe": True}
