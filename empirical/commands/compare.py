"""Compare finished runs: before and after fine-tuning, two checkpoints, two architectures.

For the hidden states before and after each norm layer, the table has the angle to the all-ones vector, the energy
d·E[cos²θ] along it, the length, and the change of the energy. Runs with the same norm layers are compared by name,
others by role and relative depth.

Examples:
    lngeom compare runs/before runs/after
    lngeom compare runs/gpt2 runs/llama --html change.html
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lngeom.files import Json
from lngeom.options import argument, json_alone, json_option, option, written


@dataclass(frozen=True)
class Options:
    """The runs, and where the table goes."""

    runs: tuple[str, ...] = argument("RUN", "output directories of lngeom sweep")
    html: Path | None = option(None, "write a page", metavar="FILE", type=written)
    json: str | None = json_option("the table")


_HEADS = {"angle_mean_deg": "angle", "d_cos2": "energy", "norm_mean": "length"}
_LEGEND = (
    "angle and length: means over the tokens; angles are to the all-ones vector, in degrees; energy: d·E[cos²θ] along "
    "this vector, 1 on average over all directions; ±: half of the 95 % interval"
)


def _line(row: Json, runs: range) -> Json:
    """A line of the table: the layer, its values in each run, and the change of the energy with its interval."""
    others = {f"in run {k}": row[f"site_{k}"] for k in runs[1:] if row[f"site_{k}"] != row["site"]}
    line = {"norm layer": row["site"]} | others | {"": "in" if row["side"] == "input" else "out"}
    line |= {f"{head}, run {k}": row[f"{name}_{k}"] for name, head in _HEADS.items() for k in runs}
    for k in runs[1:]:
        change, half = row[f"d_cos2_change_{k}"], row[f"d_cos2_change_{k}_half"]
        line[f"change of energy, run {k}"] = change if None in (change, half) else f"{change:+.3g} ± {half:.2g}"
    return line


def _told(rows: Sequence[Json], k: int) -> str:
    """At how many places a run differs from the first one by more than its interval."""
    from ..observe import false_alarms

    halves = [(row[f"d_cos2_change_{k}"], row[f"d_cos2_change_{k}_half"]) for row in rows]
    pairs = [(abs(change), half) for change, half in halves if None not in (change, half)]
    return (
        f"run {k}: at {sum(c > h for c, h in pairs)} of {len(pairs)} places the energy d·E[cos²θ] along the all-ones "
        f"vector differs from that of run 1; at the other places no difference was seen (differs: the 95 % interval of "
        f"the change excludes 0; by chance, nominally at {false_alarms(len(pairs)):.3g} places)"
    )


def run(options: Options) -> int:
    from ..pages import print_rows, write_page
    from ..sweep import compare_runs

    rows = compare_runs(options.runs)
    runs = range(1, len(options.runs) + 1)
    lines, told = [_line(row, runs) for row in rows], [_told(rows, k) for k in runs[1:]]
    if options.html:
        named = dict(zip(runs, options.runs, strict=True))
        write_page(options.html, "runs.html", runs=named, lines=lines, told=told, legend=_LEGEND)
    if not json_alone(rows, options.json):
        print_rows(lines)
        print(_LEGEND, *told, sep="\n")
    return 0
