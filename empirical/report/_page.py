"""The report of a run: one HTML file that opens offline, with the figures and the table inside."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from .. import predictions, statistics
from .._errors import RunError
from .._files import write_text
from .._manifest import ENVIRONMENT
from ._console import summary
from ._figures import ROLES, subject_of
from ._verdicts import verdict_lines, worst_first

_FIGURES = {
    "angle_before": "Angle between the hidden states that enter each norm and the uniform vector 1, and two random "
    "directions. Lines are means over tokens, bands one standard deviation; the grey band is what isotropic vectors "
    "would give.",
    "angle_after": "The same for what leaves each norm, gain and bias included.",
    "energy": "Share of the squared norm along a direction, times d: 1 for isotropic vectors, whatever the direction. "
    "The mean angle can be 90° where this is far from 1, since angles on both sides of 90° cancel.",
}


def _svg(path: Path, name: str) -> Markup:
    """An SVG file to be put into a page: without its XML header, with ids that no other figure has."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); draw the figures again with: lngeom report {path.parent}"
        raise RunError(msg) from None
    text = text[text.index("<svg") :]
    text = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    return Markup(text)


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def write_report(directory: Path) -> Path:
    """Write ``report.html`` of a run from its manifest, tables and figures; returns its path.

    Raises
    ------
    RunError
        If one of them is missing.
    """
    try:
        manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        rows = statistics.read_csv(directory / "sites.csv")
        verdicts = directory / "predictions.csv"
        judged = predictions.read_csv(verdicts) if verdicts.exists() else []
    except (OSError, ValueError) as error:
        msg = f"{directory}: holds no finished run ({error}); give the output directory of a sweep"
        raise RunError(msg) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("empirical.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    text = environment.get_template("run.html").render(
        subject=subject_of(manifest),
        manifest=manifest,
        environment=[name for name in ENVIRONMENT if name in manifest],
        summary=summary(rows),
        verdict_lines=verdict_lines(judged),
        judged=worst_first(judged),
        figures=[(name, _svg(directory / f"{name}.svg", name), words) for name, words in _FIGURES.items()],
        rows=rows,
        roles=ROLES,
        columns=[
            ("angle_mean_deg", "angle °"),
            ("angle_std_deg", "std °"),
            ("d_cos2", "d·E[cos²θ]"),
            ("d_cos2_low", "low"),
            ("d_cos2_high", "high"),
            ("random_d_cos2_median", "random median"),
            ("rank_among_random", "rank"),
            ("norm_mean", "norm"),
            ("norm_max", "max norm"),
            ("gauge_mean", "gauge"),
            ("rotation_mean_deg", "rotation °"),
        ],
    )
    path = directory / "report.html"
    write_text(path, text)
    return path
