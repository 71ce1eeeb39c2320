"""One look for every figure: a style, a palette, a grid of panels, and one way to a file."""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
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


@dataclass(frozen=True)
class Layout:
    """How panels stand together.

    Attributes:
        size: Inches of one panel, width and height.
        columns: Panels side by side.
        label: Of the vertical axes.
        title: Above all panels.
        sharex, sharey: Whether all panels have one scale.
        legend: Entries of all panels below them or beside them.
    """

    size: tuple[float, float]
    columns: int
    label: str
    title: str = ""
    sharex: bool = False
    sharey: bool = True
    legend: Literal["below", "beside"] = "below"


def panels(contents: Sequence[tuple[str, Content]], draw: Callable[[Axes, Content], None], layout: Layout) -> Figure:
    """A figure with a panel for each title, filled by `draw`."""
    columns = min(layout.columns, len(contents))
    lines = -(-len(contents) // columns)
    # A legend beside the panels takes about 2.4 inches.
    width, height = layout.size[0] * columns + 2.4 * (layout.legend == "beside"), layout.size[1] * lines
    least = max(4.9, 0.1 * max(map(len, layout.title.split("\n"))))  # a letter takes a tenth of an inch
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(least, width), height), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False, sharex=layout.sharex, sharey=layout.sharey)
        for axes, (title, content) in zip(grid.flat, contents, strict=False):
            axes.set_title(printable(title), parse_math=False)  # names may hold a $
            draw(axes, content)
        for axes in grid.flat[: len(contents)]:
            if axes.get_yscale() == "log":
                _label_decades(axes)
        for axes in grid.flat[len(contents) :]:
            axes.set_visible(False)
        for axes in grid[:, 0] if layout.label else ():
            axes.set_ylabel(layout.label)
        if layout.title:
            figure.suptitle(layout.title, parse_math=False)
        _legend(figure, grid.flat[: len(contents)], below=layout.legend == "below")
    return figure


def _legend(figure: Figure, all_axes: Iterable[Axes], *, below: bool) -> None:
    """One legend for several panels, each label once."""
    entries: dict[str, Artist] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        # An entry takes about 2.2 inches.
        fitting = max(1, int(figure.bbox.width / figure.dpi / 2.2))
        columns = min(fitting, len(entries)) if below else 1
        place = "outside lower center" if below else "outside right center"
        _as_words(figure.legend(entries.values(), entries, loc=place, ncols=columns))


def _as_words(legend: Legend) -> None:
    for text in legend.get_texts():
        text.set_parse_math(False)


def _label_decades(axes: Axes) -> None:
    """Label a logarithmic vertical axis with plain numbers, so many that a small range has some too."""
    low, high = axes.get_ylim()
    subdivided = LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=12)
    axes.yaxis.set_major_locator(MaxNLocator(5) if high < 10 * low else subdivided)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def ordered_axis(axes: Axes, label: str = "norm layer, counted from 0") -> None:
    """A horizontal axis of whole numbers: norm layers, blocks."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


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
