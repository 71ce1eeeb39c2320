"""Reports: the table on the terminal, figures, and one self-contained page.

Figures and pages of a table, as :func:`empirical.observe.rows` makes it, here of two norm layers; titles say what
was measured, and files of the same names are replaced:

>>> import tempfile
>>> from pathlib import Path
>>> import torch
>>> from empirical.observe import Observer
>>> from empirical.models import NormSite
>>> from empirical.pages import Measured, angle_figure, comparison_figures, draw_figures, energy_figure, figures
>>> from empirical.pages import growth_figure, layer_figure, summary, write_comparison
>>> from empirical.observe import rows
>>> model = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.LayerNorm(8))
>>> sites = [NormSite(str(layer), layer, "pre_attn", "layernorm", 1e-5, 8) for layer in range(2)]
>>> with Observer(model, sites) as observer:
...     _ = model(torch.arange(80.0).sin().reshape(2, 5, 8))
>>> table = rows(observer.states, sites)
>>> summary(table)[2]
'isotropic vectors: 90° ± 20.26° (d = 8), d·E[cos²θ] = 1'
>>> [len(draw(table, "two").axes) for draw in (energy_figure, layer_figure, growth_figure)]
[2, 2, 2]
>>> angle_figure(table, "input", "two").axes[0].get_title(), list(figures(table, "two"))
('norm before the attention', ['angle_before', 'angle_after', 'energy', 'growth'])
>>> measured = Measured("gpt2-xl", {"weights": "random, seed 0", "tokens_measured": 10}, table, predictions=[])
>>> list(comparison_figures([measured]))
['angles', 'energy', 'growth']
>>> with tempfile.TemporaryDirectory() as folder:
...     page = Path(folder, "comparison.html")
...     write_comparison(page, [measured], {"gpt-j-6b": "does not fit on cuda"}, {"seed": 0})
...     drawn = draw_figures(table, Path(folder), {"model": "two", "weights": "trained", "tokens": 10})
...     "does not fit on cuda" in page.read_text(), drawn[0].name
(True, 'angle_before.svg')


Pictures of the geometry, every point of them computed by :mod:`lngeom`, and of where measured models lie in it.

Each is drawn by ``lngeom figure NAME``. Nothing here runs a model: what models did is read from the table of a run.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._ablation import cost_figure, write_ablation
    from ._comparison import write_comparison
    from ._comparison_figures import comparison_figures
    from ._console import growth_line, print_rows, print_table, summary
    from ._drawing import FORMATS as FORMATS
    from ._figures import angle_figure, draw_figures, energy_figure, figures, growth_figure, layer_figure
    from ._gallery import FIGURES, Illustration, draw, save
    from ._measured import COLUMNS as COLUMNS, Measured, compare as compare
    from ._page import write_report
    from ._study import study_report, verdict as verdict, write_study_report
    from ._training import draw_runs, load_drawn, write_run_report
    from ._training_figures import Drawn as Drawn
else:
    __getattr__ = lazy(__name__, __file__)

__all__ = [
    "FIGURES",
    "Illustration",
    "Measured",
    "angle_figure",
    "comparison_figures",
    "cost_figure",
    "draw",
    "draw_figures",
    "draw_runs",
    "energy_figure",
    "figures",
    "growth_figure",
    "growth_line",
    "layer_figure",
    "load_drawn",
    "print_rows",
    "print_table",
    "save",
    "study_report",
    "summary",
    "write_ablation",
    "write_comparison",
    "write_report",
    "write_run_report",
    "write_study_report",
]
