"""Reports: the table on the terminal, figures, and one self-contained page."""

from __future__ import annotations

from ._comparison import write_comparison as write_comparison
from ._comparison_figures import comparison_figures as comparison_figures
from ._console import print_table as print_table, summary as summary
from ._figures import (
    angle_figure as angle_figure,
    draw_figures as draw_figures,
    energy_figure as energy_figure,
    figures as figures,
    layer_figure as layer_figure,
)
from ._growth import growth_figure as growth_figure, growth_line as growth_line
from ._measured import COLUMNS as COLUMNS, Measured as Measured, compare as compare
from ._page import write_report as write_report

__all__ = [
    "Measured",
    "angle_figure",
    "comparison_figures",
    "draw_figures",
    "energy_figure",
    "figures",
    "growth_figure",
    "growth_line",
    "layer_figure",
    "print_table",
    "summary",
    "write_comparison",
    "write_report",
]
