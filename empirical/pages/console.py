"""The tables and the summary of a run on the terminal."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lngeom.options import printable
from lngeom.plot import rounding_level

from ..observe import SIDES
from ..support import Row

_WIDE = 140
"""Columns that a file or a pipe has at least."""


def _console(console: Console | None) -> Console:
    console = console or Console()
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    return console


def number(value: object) -> str:
    """Four digits of a number; nothing where none applies, and a dash where none is known."""
    if isinstance(value, float):
        return "–" if value != value else f"{value:.4g}"
    return "" if value is None else printable(f"{value}")


def energy(row: Row, *, interval: bool = True) -> str:
    """An energy with its interval, all three to the same decimals; ≈ 0 where it is a matter of rounding."""
    value, low, high = (row["d_cos2" + end] for end in ("", "_low", "_high"))
    if value is None:
        return "–"
    if value <= rounding_level(row["d"]):
        return "≈ 0"
    return with_interval(value, low, high) if interval else f"{value:.3g}"


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """Three digits of a value, and the ends of its interval, if it has one, to as many decimals."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return f"{value:.3g}"
    size = max(abs(value), high - low)
    if not 1e-4 <= size < 1e4:
        return f"{value:.3g} [{low:.3g}, {high:.3g}]"
    decimals = max(0, 2 - math.floor(math.log10(size)))
    return f"{value:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def ranked(ranks: Sequence[object], row: Row) -> str:
    """Ranks among the directions of a run, and how many these are; tables of earlier runs do not say."""
    many = f" of {row['directions']}" if row.get("directions") and any(isinstance(each, int) for each in ranks) else ""
    return ", ".join(map(number, ranks)) + many


def carriers(row: Row, most: int = 3) -> str:
    """The components that carry the most of ‖x‖², each with its share; nothing where none is known."""
    pairs = ((row.get(f"top_{place}"), row.get(f"top_{place}_share")) for place in range(1, most + 1))
    return ", ".join(f"{index} ({100 * share:.3g} %)" for index, share in pairs if share is not None and share == share)


def _carrying(before: Sequence[Row]) -> Iterable[str]:
    """The components that are the largest before most norms, the largest share of each, and how many hold 99 %."""
    known = [row for row in before if carriers(row, 1)]
    if not known:
        return
    often = Counter(row["top_1"] for row in known).most_common(3)
    told = []
    for index, count in often:
        most = max((row for row in known if row["top_1"] == index), key=lambda row: row["top_1_share"])
        share = f"up to {100 * most['top_1_share']:.3g} % of ‖x‖²"
        told.append(f"component {index} before {count} of {len(known)} norms ({share})")
    fewest, largest = (pick(known, key=lambda row: row["components_99"] / row["d"]) for pick in (min, max))
    ends = " to ".join(dict.fromkeys(f"{row['components_99']} of {row['d']}" for row in (fewest, largest)))
    yield f"largest component: {'; '.join(told)}"
    yield f"components that hold 99 % of ‖x‖²: {ends}"


def _cells(row: Row, side: str, detail: int) -> Iterable[tuple[str, str]]:
    """Headings and cells of one side of a norm layer: with intervals (2), without them (1), or the least (0)."""
    place = "in" if side == "input" else "out"
    if detail or side == "input":
        yield f"angle {place} (°)", f"{row['angle_mean_deg']:.2f} ± {row['angle_std_deg']:.2f}"
    yield f"energy {place}", energy(row, interval=detail == 2)
    yield f"ranks {place}", ranked((row["rank_among_signs"], row["rank_among_random"]), row)
    if detail:
        yield f"length {place}", f"{row['norm_mean']:.3g}"
        if side == "input":
            yield "median", f"{row['norm_median']:.3g}"
            yield "max", f"{row['norm_max']:.3g}"
    if side == "input":
        yield "largest (share)", carriers(row, 1)


def print_table(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print one line per norm layer (all tokens), and a summary of the run.

    `rows` are the table that :func:`lngeom.empirical.observe.rows` makes. Columns that do not fit are left out.
    """
    console = _console(console)
    sites: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["bucket"] == "all":
            sites.setdefault(row["site"], {})[row["side"]] = row
    table = Table()
    for detail in (2, 1, 0):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("norm layer", no_wrap=True)
        for site, of_site in sites.items():
            cells = [cell for side in SIDES for cell in _cells(of_site[side], side, detail)]
            if not table.row_count:
                for heading, _ in cells:
                    table.add_column(escape(heading), justify="right", no_wrap=True)
            table.add_row(escape(number(site)), *(escape(cell) for _, cell in cells))
        if console.measure(table, options=console.options.update(width=1000)).maximum <= console.width:
            break
    console.print(table)
    intervals = ["[a, b]: 95 % interval"] * any("[" in str(cell) for column in table.columns for cell in column.cells)
    for line in [*intervals, *summary(rows)]:
        console.print(printable(line), markup=False, highlight=False, soft_wrap=not console.is_terminal)


def print_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print any table: one line for each row, the columns of the first one; where it is too wide, one line a cell."""
    console = _console(console)
    table = Table(box=None)
    for name, value in rows[0].items() if rows else ():
        table.add_column(name.replace(", ", "\n"), justify="right" if isinstance(value, float) else "left")
    for row in rows:
        table.add_row(*(escape(number(value)) for value in row.values()))
    if console.measure(table, options=console.options.update(width=1000)).maximum > console.width:
        table = Table(box=None, show_header=False)
        for row in rows:
            for name, value in row.items():
                table.add_row(escape(name), escape(number(value)))
            table.add_section()
    console.print(table)


NULLS = {"signs": "sign vectors (components equal in size)", "random": "isotropic directions"}
"""The directions that 1 is ranked among, the flat ones first; by the names of their columns."""


def quarters(rows: Sequence[Row], null: str) -> tuple[list[Row], list[Row]]:
    """The rows in which 1 ranks in the lowest quarter of the directions of a null, and those in the highest."""
    shares = [(row, row[f"rank_among_{null}"] / row["directions"]) for row in rows]
    return [row for row, share in shares if share <= 1 / 4], [row for row, share in shares if share >= 3 / 4]


def by_chance(rows: Sequence[Row]) -> float:
    """In how many rows 1 would be in a given quarter on average, were it drawn like the directions.

    Its rank among K directions is then uniform on 0 to K. A quarter has K // 4 + 1 of these K + 1 numbers.
    """
    return sum((row["directions"] // 4 + 1) / (row["directions"] + 1) for row in rows)


def _shown(row: Row | None) -> object:
    """Angle, energy and ranks of one side of a norm, as the table shows them."""
    return row and (
        f"{row['angle_mean_deg']:.2f} {row['angle_std_deg']:.2f}",
        energy(row, interval=False),
        row["rank_among_signs"],
        row["rank_among_random"],
    )


def summary(rows: Sequence[Row]) -> list[str]:
    """A run in a few lines over the norm layers: how the checkpoint is stored, then what no affine gauge changes."""
    norms = [row for row in rows if row["bucket"] == "all" and row["tokens"] > 0 and row.get("role") != "stream"]
    before = [row for row in norms if row["side"] == "input"]
    lines = [
        "angles: between the hidden states and the all-ones vector, before (in) and after (out) each norm; "
        "mean ± standard deviation over the tokens",
        "energy: d·E[cos²θ] along the all-ones vector",
        "ranks: along how many sign vectors (components ±1), and along how many isotropic directions, the energy is "
        "smaller",
    ]
    after = {row["site"]: row for row in norms if row["side"] == "output"}
    kept = [row for row in before if row["norm"] == "rmsnorm" and _shown(row) == _shown(after.get(row["site"]))]
    if kept:
        lines.append(
            f"in and out are equal, to the digits shown, at {len(kept)} of {len(before)} norms: an RMSNorm without "
            "bias whose gains are equal and positive does not change the direction of a vector"
        )
    for side, words in (("input", "before"), ("output", "after")):
        measured = [row for row in norms if row["side"] == side]
        if not measured:
            continue
        angles, energies = ([row[name] for row in measured] for name in ("angle_mean_deg", "d_cos2"))
        lines.append(
            f"{words} the norm: mean angle from {min(angles):.2f}° to {max(angles):.2f}°, "
            f"energy from {min(energies):.3g} to {max(energies):.3g}"
        )
        for null, others in NULLS.items():
            low, high = map(len, quarters(measured, null))
            lines.append(
                f"{words} the norm: among {others}, the rank of the all-ones vector is in the lowest quarter at {low} "
                f"of {len(measured)} norm{'s' * (len(measured) != 1)}, and in the highest quarter at {high} (by "
                f"chance, it would be in each quarter at {by_chance(measured):.3g} norms on average)"
            )
    lines += _carrying(before)
    widths = sorted({row["d"] for row in rows})
    isotropic = ", ".join(f"90° ± {math.degrees(1 / math.sqrt(d)):.2f}° (d = {d})" for d in widths)
    lines.append(f"isotropic vectors, for comparison: angles of {isotropic}, energy 1")
    *most, last = STORED.values()
    lines.append(
        f"an affine gauge (lngeom gauge) keeps the outputs and can change {', '.join(most)} and {last} of hidden states"
    )
    radius, cosine = "length of outputs before gain and bias, divided by √d", "mean cosine between states of two tokens"
    for name, words in (("gauge_mean", f"relative radius ({radius})"), ("mean_cosine", cosine)):
        if values := [row[name] for row in before if row.get(name) is not None]:
            lines.append(f"no affine gauge changes the {words}, here {min(values):.4g} to {max(values):.4g}")
    for column, words in (("nonfinite", "not finite"), ("underflow", "too small for their squares"), ("zero", "zero")):
        left = [row for row in rows if row["bucket"] == "all" and row[column]]
        if left:
            count, bad = sum(row[column] for row in left), sorted({row["site"] for row in left})
            lines.append(f"left out as {words}: {count} hidden states, at {len(bad)} layers, first {bad[0]}")
    return lines


STORED = {"angle_mean_deg": "angles", "d_cos2": "energies", "rank_among_random": "ranks", "norm_mean": "lengths"}
"""The columns of the table that affine gauges change, before and after every norm."""
