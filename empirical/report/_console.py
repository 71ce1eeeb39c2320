"""The table of a run on the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

_WIDTH = 140


def _spread(row: dict[str, Any]) -> str:
    return f"{row['angle_mean_deg']:.2f} ± {row['angle_std_deg']:.2f}"


def _interval(row: dict[str, Any]) -> str:
    return f"{row['d_cos2']:.3g} [{row['d_cos2_low']:.3g}, {row['d_cos2_high']:.3g}]"


def print_table(rows: Sequence[dict[str, Any]], console: Console | None = None) -> None:
    """Print one line per norm layer (all tokens), and what the whole run says in three."""
    if console is None:
        console = Console()
        if not console.is_terminal:
            console.width = _WIDTH
    chosen = [row for row in rows if row["bucket"] == "all"]
    sites = {row["site"]: {} for row in chosen}
    for row in chosen:
        sites[row["site"]][row["side"]] = row
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("norm layer", no_wrap=True)
    headings = (
        "angle in °",
        "angle out °",
        "d·E[cos²θ] in",
        "rank",
        "d·E[cos²θ] out",
        "rank",
        "norm in → out",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for site, sides in sites.items():
        before, after = sides["input"], sides["output"]
        table.add_row(
            site,
            _spread(before),
            _spread(after),
            _interval(before),
            str(before["rank_among_random"]),
            _interval(after),
            str(after["rank_among_random"]),
            f"{before['norm_mean']:.4g} → {after['norm_mean']:.4g}",
        )
    console.print(table)
    for line in summary(rows):
        console.print(line, markup=False, highlight=False)


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What a run says in a few lines: ranges over the norm layers, beside what isotropic vectors would give."""
    lines = []
    for side, words in (("input", "before"), ("output", "after")):
        found = [row for row in rows if row["side"] == side and row["bucket"] == "all" and row["tokens"] > 0]
        if not found:
            continue
        low, high = _range(found, "angle_mean_deg")
        least, most = _range(found, "d_cos2")
        lines.append(
            f"{words} the norm: mean angle to 1 from {low:.2f}° to {high:.2f}°, "
            f"d·E[cos²θ] from {least:.3g} to {most:.3g} over {len(found)} layers"
        )
    widths = sorted({row["d"] for row in rows})
    isotropic = ", ".join(f"90° ± {math.degrees(1 / math.sqrt(d)):.2f}° (d = {d})" for d in widths)
    lines.append(f"isotropic vectors: {isotropic}, d·E[cos²θ] = 1")
    bad = sorted({row["site"] for row in rows if row["nonfinite"]})
    if bad:
        count = sum(row["nonfinite"] for row in rows if row["bucket"] == "all")
        lines.append(f"left out as not finite: {count} hidden states, at {len(bad)} layers, first {bad[0]}")
    return lines


def _range(rows: Sequence[dict[str, Any]], column: str) -> tuple[float, float]:
    values = [row[column] for row in rows]
    return min(values), max(values)
