"""The table of a run on the terminal."""

import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..observe import LAWS, SIDES, Growth, growth

_WIDE, _MEDIUM = 140, 124
"""Widths of the table with intervals and without them; a narrower one also leaves out norms. All are in sites.csv."""


def _cells(row: dict[str, Any], side: str, *, wide: bool, medium: bool) -> dict[str, str]:
    """Headings and cells of one side of a norm layer."""
    place = "in" if side == "input" else "out"
    interval = f" [{row['d_cos2_low']:.2g}, {row['d_cos2_high']:.2g}]" if wide else ""
    cells = {
        f"angle {place} (°)": f"{row['angle_mean_deg']:.2f} ± {row['angle_std_deg']:.2f}",
        f"d·E[cos²θ] {place}" if medium else f"d·E {place}": f"{row['d_cos2']:.3g}{interval}",
        "rank": str(row["rank_among_random"]),
        f"norm {place}": f"{row['norm_mean']:.3g}",
    }
    left_out = () if medium else ("norm in", "norm out", "angle out (°)")
    return {name: cell for name, cell in cells.items() if name not in left_out}


def print_table(
    rows: Sequence[dict[str, Any]], console: Console | None = None, fits: Sequence[Growth] | None = None
) -> None:
    """Print one line per norm layer (all tokens), and what the whole run says in a few.

    Args:
        rows: The table of the run, as :func:`empirical.observe.rows` makes it.
        console: Where to print; columns that do not fit its width are left out.
        fits: Laws of growth of the run, if they are known; else they are fitted.

    >>> import io
    >>> from rich.console import Console
    >>> from empirical.pages import print_table
    >>> rows = [
    ...     {"site": "ln_f", "layer": None, "role": "final", "side": side, "bucket": "all", "tokens": 512, "d": 64,
    ...      "nonfinite": 0, "angle_mean_deg": angle, "angle_std_deg": 3.0, "d_cos2": energy, "d_cos2_low": energy / 2,
    ...      "d_cos2_high": energy * 2, "rank_among_random": 0, "norm_mean": 8.0}
    ...     for side, angle, energy in (("input", 84.0, 0.25), ("output", 90.0, 0.01))
    ... ]
    >>> lines = io.StringIO()
    >>> print_table(rows, Console(file=lines, width=140))
    >>> for line in lines.getvalue().splitlines()[1:4]:
    ...     print(line.strip())
    norm layer  angle in (°)     d·E[cos²θ] in  rank  norm in  angle out (°)      d·E[cos²θ] out  rank  norm out
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ln_f        84.00 ± 3.00  0.25 [0.12, 0.5]     0        8   90.00 ± 3.00  0.01 [0.005, 0.02]     0         8
    """
    if console is None:
        console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    wide, medium = console.width >= _WIDE, console.width >= _MEDIUM
    sites: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["bucket"] == "all":
            sites.setdefault(row["site"], {})[row["side"]] = row
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("norm layer", no_wrap=True)
    for site, row in sites.items():
        cells = [cell for side in SIDES for cell in _cells(row[side], side, wide=wide, medium=medium).items()]
        if not table.row_count:
            for heading, _ in cells:
                table.add_column(escape(heading), justify="right", no_wrap=True)
        table.add_row(site, *(cell for _, cell in cells))
    console.print(table)
    for line in summary(rows, fits):
        console.print(line, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def summary(rows: Sequence[dict[str, Any]], fits: Sequence[Growth] | None = None) -> list[str]:
    r"""What a run says in a few lines: ranges over the norm layers, beside what isotropic vectors would give."""
    lines = []
    for side, words in (("input", "before"), ("output", "after")):
        found = [row for row in rows if row["side"] == side and row["bucket"] == "all" and row["tokens"] > 0]
        if not found:
            continue
        angles, energies = ([row[name] for row in found] for name in ("angle_mean_deg", "d_cos2"))
        lines.append(
            f"{words} the norm: mean angle to 1 from {min(angles):.2f}° to {max(angles):.2f}°, "
            f"d·E[cos²θ] from {min(energies):.3g} to {max(energies):.3g} "
            f"over {len(found)} layer{'s' * (len(found) != 1)}"
        )
    widths = sorted({row["d"] for row in rows})
    isotropic = ", ".join(f"90° ± {math.degrees(1 / math.sqrt(d)):.2f}° (d = {d})" for d in widths)
    lines.append(f"isotropic vectors: {isotropic}, d·E[cos²θ] = 1")
    lines.append(growth_line(rows, fits))
    bad = sorted({row["site"] for row in rows if row["nonfinite"]})
    if bad:
        count = sum(row["nonfinite"] for row in rows if row["bucket"] == "all")
        lines.append(f"left out as not finite: {count} hidden states, at {len(bad)} layers, first {bad[0]}")
    return lines


def print_rows(rows: Sequence[dict[str, Any]], console: Console | None = None) -> None:
    """Print any table: one line for each row, the columns of the first one.

    >>> from rich.console import Console
    >>> from empirical.pages import print_rows
    >>> print_rows([{"site": "norm", "d_cos2": 1.03}], Console(width=30))  # doctest: +NORMALIZE_WHITESPACE
    site  d_cos2
    norm    1.03
    """
    console = console or Console()
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    table = Table(box=None)
    for name in rows[0] if rows else ():
        table.add_column(name, justify="right" if isinstance(rows[0][name], float) else "left")
    for row in rows:
        cells = (f"{value:.4g}" if isinstance(value, float) else value for value in row.values())
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in cells))
    console.print(table)


def growth_words(fit: Growth) -> str:
    """The estimate with its interval, if so few depths leave one, as it stands in its law."""
    assert fit.estimate is not None
    digits = ".3f" if fit.law == "exponential" else ".2f"
    known = fit.low is not None and fit.high is not None and math.isfinite(fit.low) and math.isfinite(fit.high)
    interval = f" [{fit.low:{digits}}, {fit.high:{digits}}]" if known else " (no interval)"
    if fit.law == "exponential":
        return f"×{fit.estimate:{digits}}{interval} per block"
    return f"(depth + 1)^{fit.estimate:{digits}}{interval}"


def growth_line(rows: Sequence[dict[str, Any]], fits: Sequence[Growth] | None = None) -> str:
    """How the norm of the stream grows after the first block, in one line.

    >>> from empirical.pages import growth_line
    >>> rows = [
    ...     {"side": "input", "bucket": "rest", "role": "pre_attn", "layer": layer, "norm_mean": 3.0 * 2**layer,
    ...      "norm_std": 0.0, "tokens": 4}
    ...     for layer in range(5)
    ... ]
    >>> growth_line(rows).partition(",")[0], growth_line(rows).rpartition("; ")[2]
    ('norm of the stream over depth', 'the exponential law fits better')
    >>> growth_line(rows[:1])
    'norm of the stream over depth: no fit, a law takes two depths, and from depth 0 on there is 1'
    """
    fits = growth(rows) if fits is None else fits
    shown = [fit for fit in fits if fit.estimate is not None]
    if not shown:
        return f"norm of the stream over depth: no fit, {fits[0].reason}"
    exponential, power = shown[-len(LAWS) :]
    better = (
        "which law fits better is undecided" if power.better == "undecided" else f"the {power.better} law fits better"
    )
    depths = f"norm of the stream over depth, from {power.first_depth} on"
    return f"{depths}: {growth_words(exponential)}, or {growth_words(power)}; {better}"
