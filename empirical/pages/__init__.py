"""Tables on the terminal, figures and self-contained pages of finished runs.

A page (`sweep`, `comparison`) fills a template with the tables and figures of a run; no model runs. Colours and sizes
are those of `style`.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import lazy

if TYPE_CHECKING:
    from .comparison import Measured, beside_published as beside_published, write_comparison
    from .console import print_rows, print_table, summary
    from .html import write_page as write_page
    from .style import (
        BLUE as BLUE,
        GREEN as GREEN,
        INK as INK,
        NULL as NULL,
        ORANGE as ORANGE,
        PURPLE as PURPLE,
        QUIET as QUIET,
        RANDOM_A as RANDOM_A,
        RANDOM_B as RANDOM_B,
        SKY as SKY,
        STYLE as STYLE,
        UNIFORM as UNIFORM,
        VERMILION as VERMILION,
        Layout as Layout,
        panels as panels,
        write_figure as write_figure,
    )
    from .sweep import write_report
    from .sweep_figures import angle_figure, draw_figures, energy_figure, figures
else:
    __getattr__ = lazy(__name__, __file__)
