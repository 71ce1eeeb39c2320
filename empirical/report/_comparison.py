"""The page that shows several models beside one another and beside the published numbers."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .._comparison import QUANTITIES
from .._files import write_text
from ..models import KNOWN_MODELS, PUBLISHED, PUBLISHED_SOURCE
from ._style import NEUTRAL, STYLE, UNIFORM

Row = dict[str, Any]
_COLUMNS = 4


def comparison_figure(tables: Mapping[str, Sequence[Row]]) -> Figure:
    """Mean angle of the hidden states to 1 by layer, one panel a model, with the published mean and its spread."""
    with matplotlib.rc_context(STYLE):
        lines = max(1, -(-len(tables) // _COLUMNS))
        figure = Figure(figsize=(11, 2.6 * lines), layout="constrained")
        panels = figure.subplots(lines, _COLUMNS, squeeze=False, sharey=False).reshape(-1)
        for panel in panels[len(tables) :]:
            panel.set_visible(False)
        for panel, (name, rows) in zip(panels, tables.items(), strict=False):
            chosen = [
                row
                for row in rows
                if row["side"] == "input" and row["bucket"] == "all" and row["layer"] is not None
                if row["same_input_as"] is None
            ]
            steps = [row["layer"] + (0.5 if row["role"] == "pre_mlp" else 0) for row in chosen]
            means = [row["angle_mean_deg"] for row in chosen]
            spreads = [row["angle_std_deg"] for row in chosen]
            low = [mean - spread for mean, spread in zip(means, spreads, strict=True)]
            high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
            published = PUBLISHED[name].hidden_angle
            width = published.std or 0.0
            panel.axhspan(published.mean - width, published.mean + width, color=NEUTRAL, alpha=0.18, lw=0)
            panel.axhline(published.mean, color=NEUTRAL, ls="--", lw=1, label="published, all layers")
            panel.fill_between(steps, low, high, color=UNIFORM, alpha=0.2, lw=0)
            panel.plot(steps, means, color=UNIFORM, label="measured")
            panel.set_title(name)
            panel.set_xlabel("layer")
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panels[0].set_ylabel("angle to 1 in degrees")
        panels[0].legend(loc="best")
    return figure


def write_comparison(
    path: Path,
    comparison: Sequence[Row],
    tables: Mapping[str, Sequence[Row]],
    failures: Mapping[str, str],
    about: Mapping[str, Any],
) -> None:
    """Write the page as one HTML file that opens offline.

    Parameters
    ----------
    path
        The file.
    comparison
        Rows of :func:`empirical._comparison.compare`, of all models.
    tables
        The table of each model that was measured.
    failures
        Why the others were not.
    about
        Entries of the section on how it was measured.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("empirical.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: "–" if value is None or value != value else f"{value:.4g}"
    figure = None
    if tables:
        stream = io.StringIO()
        with matplotlib.rc_context(STYLE):
            comparison_figure(tables).savefig(stream, format="svg", metadata={"Date": None})
        text = stream.getvalue()
        figure = Markup(text[text.index("<svg") :])
    page = environment.get_template("comparison.html").render(
        comparison=comparison,
        quantities=QUANTITIES,
        figure=figure,
        failures=failures,
        known=KNOWN_MODELS,
        source=PUBLISHED_SOURCE,
        about=about,
    )
    write_text(path, page)
