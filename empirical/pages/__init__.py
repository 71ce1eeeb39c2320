"""Tables on the terminal, figures and self-contained pages of finished runs.

A page (`sweep`, `comparison`) fills a template with the tables and figures of a run; no model runs.
"""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if ROOMS:
    from .comparison import beside_published
    from .html import write_page
    from .style import STYLE, panels, write_figure
if TYPE_CHECKING:
    from .comparison import Measured, write_comparison
    from .console import print_rows, print_table, summary
    from .sweep import write_report
    from .sweep_figures import draw_figures, figures
else:
    __getattr__ = lazy(__name__, __file__)
