"""One look for every figure: a style, a palette, a grid of panels, and one way to a file."""

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from matplotlib.typing import RcKeyType

from lngeom.colors import FAINT, INK, QUIET
from lngeom.files import replacing
from lngeom.options import printable

Content = TypeVar("Content")

STYLE: dict[RcKeyType, object] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "mathtext.fontset": "dejavusans",
    "figure.titlesize": 13,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "lngeom",
}
"""Settings of Matplotlib; the salt makes the same picture the same file."""


def panels(
    contents: Sequence[tuple[str, Content]],
    draw: Callable[[Axes, Content], None],
    size: tuple[float, float],
    title: str = "",
    *,
    columns: int = 1,
    shared: bool = False,
) -> Figure:
    """A figure with a panel for each title, of so many inches and filled by `draw`, and one legend below them all.

    With `shared` all panels have one vertical scale.
    """
    columns = min(columns, len(contents))
    lines = -(-len(contents) // columns)
    least = max(4.9, 0.1 * max(map(len, title.split("\n"))))  # a letter takes a tenth of an inch
    entries: dict[str, Artist] = {}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(least, size[0] * columns), size[1] * lines), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False, sharey=shared).flat
        for axes, (name, content) in zip(grid, contents, strict=False):
            axes.set_title(printable(name), parse_math=False)  # names may hold a $
            draw(axes, content)
            if axes.get_yscale() == "log":
                _label_decades(axes)
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
        for axes in grid[len(contents) :]:
            axes.set_visible(False)
        if title:
            figure.suptitle(title, parse_math=False)
        if entries:
            # An entry takes about 2.2 inches.
            fitting = min(len(entries), max(1, int(figure.bbox.width / figure.dpi / 2.2)))
            legend = figure.legend(entries.values(), entries, loc="outside lower center", ncols=fitting)
            for text in legend.get_texts():
                text.set_parse_math(False)
    return figure


def _label_decades(axes: Axes) -> None:
    """Label a logarithmic vertical axis with plain numbers, so many that a small range has some too."""
    low, high = axes.get_ylim()
    subdivided = LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=12)
    axes.yaxis.set_major_locator(MaxNLocator(5) if high < 10 * low else subdivided)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def figure_bytes(figure: Figure, format: str = "svg") -> bytes:
    """The file of a figure; its bytes depend on the drawing alone."""
    stream = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(stream, format=format, dpi=150, metadata={"Date": None} if format == "svg" else None)
    # XML has no other control characters than these three, and names may hold any.
    written = stream.getvalue()
    return re.sub(rb"[^\t\n\r\x20-\xff]", b"?", written) if format == "svg" else written


def write_figure(figure: Figure, path: Path) -> None:
    """Replace a file by a figure, in the format that the name ends with."""
    with replacing(path) as draft:
        draft.write_bytes(figure_bytes(figure, path.suffix[1:]))
