"""The page of an ablation: what each change costs, in all and norm by norm."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..runs import ENVIRONMENT
from ..support import read_json, read_table, write_text
from ._html import drawn, render
from ._remarks import of_ablation
from ._style import NEUTRAL, RANDOM_A, RANDOM_B, STYLE, UNIFORM

_COLOURS = {"folded": RANDOM_B, "rms_norm": UNIFORM, "centred": UNIFORM, "u_norm": RANDOM_A}


def cost_figure(rows: Sequence[dict[str, Any]], norms: Sequence[str], *, single: bool) -> Figure:
    """Nats per token of the changes of single norms, or of all others, with their intervals.

    >>> from empirical.pages import cost_figure
    >>> row = {"change": "rms_norm", "site": "ln_f", "nats": 0.2, "nats_low": 0.1, "nats_high": 0.3}
    >>> cost_figure([row], ["ln_f"], single=True).axes[0].get_yticklabels()[0].get_text()
    'ln_f'
    """
    chosen = [row for row in rows if row["change"] != "none" and (row["site"] in norms) == single][::-1]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 0.8 + 0.24 * len(chosen)), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(chosen):
            reach = [[row["nats"] - row["nats_low"]], [row["nats_high"] - row["nats"]]]
            axes.errorbar(row["nats"], place, xerr=reach, fmt="o", color=_COLOURS[row["change"]], capsize=2)
        labels = [row["site"] if single else f"{row['change']}, {row['site']}" for row in chosen]
        axes.set_yticks(range(len(chosen)), labels)
        axes.axvline(0, color=NEUTRAL, linewidth=0.8)
        axes.set_xlabel("change of the loss in nats per token")
        return figure


def write_ablation(directory: Path) -> Path:
    """Write ``report.html`` of an ablation from its manifest and table; returns its path.

    Raises:
        OSError: If one of them is missing.
    """
    manifest, rows = read_json(directory / "manifest.json"), read_table(directory / "ablation.csv")
    pictures = [
        (
            "changes",
            cost_figure(rows, manifest["norms"], single=False),
            "Changes of many norms, or of the writers, with 95 % intervals over documents.",
        ),
        (
            "norms",
            cost_figure(rows, manifest["norms"], single=True),
            "The change at one norm at a time, with 95 % intervals over documents.",
        ),
    ]
    text = render(
        "ablation.html",
        manifest=manifest,
        remarks=[
            *of_ablation(rows, manifest["norms"], manifest["nats_per_token"]),
            *([f"Not folded: {manifest['not_folded']}."] if manifest["not_folded"] else []),
        ],
        environment=[name for name in ENVIRONMENT if name in manifest],
        rows=rows,
        figures=[(name, drawn(figure, name), words) for name, figure, words in pictures if figure.axes[0].lines],
    )
    path = directory / "report.html"
    write_text(path, text)
    return path
