"""The page of one training run, and what is drawn of several."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from ..runs import RunError, read_json, read_table, write_text
from ._figures import NORM_NAMES, Drawn, draw_angles, draw_losses, draw_shares, site_label

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:.9rem}td,th{padding:.2rem .7rem;border-bottom:1px solid #ddd}"
    "td{text-align:right}td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}"
)


def load_drawn(out: Path, title: str | None = None) -> Drawn:
    """Tables of a finished run, ready to be drawn.

    Args:
        out: Directory of the run.
        title: Its name in legends; by default that of its norm.
    """
    if not (out / "summary.json").exists():
        msg = f"{out} holds no finished run (summary.json is missing): finish it with lngeom train"
        raise RunError(msg)
    recipe, summary = read_json(out / "run.json")["recipe"], read_json(out / "summary.json")
    return Drawn(
        title or NORM_NAMES[recipe["norm"]],
        recipe["shape"]["width"],
        read_table(out / "losses.csv"),
        read_table(out / "held_out.csv"),
        read_table(out / "sites.csv"),
        summary["unigram_entropy"],
    )


def draw_runs(runs: list[Drawn], folder: Path) -> list[str]:
    """Draw the three figures of one or more runs into `folder`; returns their names.

    Args:
        runs: list of Drawn. From :func:`load_drawn`; they share the axes.
        folder: It exists.
    """
    draw_losses(runs, folder / "losses.svg")
    draw_angles(runs, folder / "angles.svg")
    draw_shares(runs, folder / "shares.svg")
    return ["losses.svg", "angles.svg", "shares.svg"]


def _cells(values: list[Any], kind: str = "td") -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(str(value))}</{kind}>" for value in values) + "</tr>"


def _sites_table(rows: list[dict[str, Any]]) -> str:
    last = max(row["step"] for row in rows)
    start = {row["site"]: row["d_cos2"] for row in rows if row["step"] == 0}
    lines = [
        _cells(
            ["norm layer", "angle with 1", "d·E[cos²θ] at start", "at the end", "95 % interval", "rank"], "th"
        )
    ]
    for row in rows:
        if row["step"] == last:
            lines.append(
                _cells(
                    [
                        site_label(row),
                        f"{row['angle_mean_deg']:.2f}° ± {row['angle_std_deg']:.2f}°",
                        f"{start[row['site']]:.3g}",
                        f"{row['d_cos2']:.3g}",
                        f"{row['d_cos2_low']:.3g} to {row['d_cos2_high']:.3g}",
                        f"{row['rank_among_random']} of {row['directions']}",
                    ]
                )
            )
    return f"<table>{''.join(lines)}</table>"


def write_run_report(out: Path, beside: Path | None = None) -> None:
    """Draw a finished run and write ``report.html``, one file that opens offline.

    Args:
        out: Directory of the run.
        beside: Directory of another finished run, drawn first in the same figures.
    """
    run, summary = read_json(out / "run.json"), read_json(out / "summary.json")
    recipe, drawn = run["recipe"], load_drawn(out)
    shape = recipe["shape"]
    names = draw_runs([drawn] if beside is None else [load_drawn(beside), drawn], out)
    # What stands before <svg in a file of matplotlib is an XML declaration, which HTML does not allow.
    svgs = ("<svg" + (out / name).read_text(encoding="utf-8").partition("<svg")[2] for name in names)
    figures = "".join(f"<figure>{svg}</figure>" for svg in svgs)
    speed, utilisation = summary["tokens_per_second"], summary["model_flop_utilisation"]
    facts = [
        f"{drawn.title}, {shape['layers']} blocks, d = {shape['width']}, {summary['parameters']:,} parameters, "
        f"{recipe['optimizer']}, weight decay {recipe['weight_decay']:g}, seed {recipe['seed']}.",
        f"{summary['steps']:,} steps, {summary['tokens']:,} tokens of {run['data']['corpus']}.",
        f"Held-out loss {drawn.held_out[-1]['loss']:.4f} nats per token; entropy of the token frequencies of the same "
        f"text {drawn.unigram_entropy:.4f}.",
        f"{speed:,.0f} tokens per second on {run['device']}."
        if speed
        else "Continued when it was already complete.",
        f"Model FLOP utilisation {100 * utilisation:.1f} %." if utilisation else "",
    ]
    title = f"Training with {drawn.title}"
    body = (
        f"<h1>{title}</h1>"
        + "".join(f"<p>{html.escape(fact)}</p>" for fact in facts if fact)
        + "<h2>The uniform direction at every norm layer</h2>"
        + _sites_table(list(drawn.sites))
        + "<p>d·E[cos²θ] is 1 for a random direction; the rank counts the random directions with less energy.</p>"
        + figures
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"<body>{body}</body></html>"
    )
    write_text(out / "report.html", page)
