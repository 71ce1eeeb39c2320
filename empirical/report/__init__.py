"""Reports: the table on the terminal, figures, and one self-contained page."""

from __future__ import annotations

from ._comparison import comparison_figure as comparison_figure, write_comparison as write_comparison
from ._console import print_table as print_table, summary as summary
from ._figures import (
    angle_figure as angle_figure,
    draw_figures as draw_figures,
    energy_figure as energy_figure,
    figures as figures,
    layer_figure as layer_figure,
)
from ._page import write_report as write_report

__all__ = [
    "angle_figure",
    "comparison_figure",
    "draw_figures",
    "energy_figure",
    "figures",
    "layer_figure",
    "print_table",
    "summary",
    "write_comparison",
    "write_report",
]
