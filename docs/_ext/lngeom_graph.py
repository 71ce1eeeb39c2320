"""The directive ``theorem-graph``: what rests on which theorem, as a picture and as a list."""

import html
from typing import Any

from docutils import nodes
from lngeom_records import Item, items, load, users
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS, CELL, LINE, LEFT, TOP = 2, 212, 24, 190, 34
RIGHT = LEFT + COLUMNS * CELL + 24
WIDTH = RIGHT + 250
LEGEND = (
    ("theorem proved", "theorem, proved"),
    ("theorem proved-in-Coq", "theorem, last step proved in Coq"),
    ("theorem up-to-cited-fact", "theorem up to a cited fact"),
    ("claim true", "claim, true"),
    ("claim true_under", "claim, true under hypotheses left out"),
    ("claim non_sequitur", "claim that does not follow from its premises"),
    ("claim false", "claim, false"),
    ("claim", "claim for a measurement or a source"),
    ("page", "measured"),
)


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


def as_legend() -> str:
    """A swatch for each colour of the graph, with its meaning."""
    swatch = (
        '<svg class="theorem-graph" viewBox="0 0 12 12" aria-hidden="true">'
        '<g class="{}"><circle cx="6" cy="6" r="5"/></g></svg>'
    )
    return "".join(f"<li>{swatch.format(kind)}{meaning}</li>" for kind, meaning in LEGEND)


def as_svg(items: dict[str, Item], root: str, statements: dict[str, str]) -> str:
    """The picture: every node a link with its statement, every edge a path that shows when one end is chosen."""
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
        spoken = html.escape(f"{name}: {item.title} ({item.status.replace('_', ' ')})")
        out.append(
            f'<a href="{root}{item.link}" data-n="{number[name]}" aria-label="{spoken}" '
            f'class="{item.kind} {item.status.replace(" ", "-")}" '
            f'data-statement="{html.escape(statements.get(name, ""))}">'
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{6 if item.kind == "claim" else 5}"/>'
            + (f'<text x="{x + 10:.0f}" y="{y + 4:.0f}">{html.escape(_short(label))}</text>' if label else "")
            + "</a>"
        )
    return "".join([*out, "</svg>"])


def _short(label: str) -> str:
    return label if len(label) < 34 else label[:32] + "…"


def as_list(items: dict[str, Item], root: str) -> str:
    """The same as a list, for everyone who reads rather than looks."""
    used = users(items)

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
        graph = items(self.env.app)
        root = "../" * self.env.docname.count("/")
        theorems = load(self.env.app, "theorems.json")["theorems"]
        statements = {theorem["id"]: theorem["statement"] for theorem in theorems}
        text = (
            '<div class="graph-frame"><div class="graph-buttons"><button type="button" data-zoom="1.25">closer</button>'
            '<button type="button" data-zoom="0.8">farther</button><button type="button" data-zoom="0">whole</button>'
            '<span class="graph-said" aria-live="polite">'
            "Choose a node to see what it rests on; choose it again to go there.</span></div>"
            f'<ul class="graph-legend">{as_legend()}</ul>'
            f'<div class="graph-view" tabindex="0">{as_svg(graph, root, statements)}</div>'
            f'<div class="graph-card" hidden></div></div>{as_list(graph, root)}'
        )
        return [nodes.raw("", text, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("theorem-graph", TheoremGraph)
    return {"parallel_read_safe": True}
