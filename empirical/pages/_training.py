"""The page of one training run, and what is drawn of several."""

from pathlib import Path

from ..support import RunError, read_sealed, read_table
from ._html import read_svgs, write_page
from ._style import write_figure
from ._training_figures import NORM_NAMES, Drawn, site_label, training_angles, training_energies, training_losses

_FIGURES = {"losses": training_losses, "angles": training_angles, "energy": training_energies}


def load_drawn(out: Path) -> Drawn:
    """Tables of a finished run of :func:`empirical.train.train`, ready to be drawn."""
    if not (out / "summary.json").exists():
        raise RunError(f"{out} holds no finished run (summary.json is missing): finish it with lngeom train")
    recipe, summary = read_sealed(out / "run.json")["recipe"], read_sealed(out / "summary.json")
    return Drawn(
        NORM_NAMES[recipe["norm"]],
        recipe["shape"]["width"],
        read_table(out / "losses.csv"),
        read_table(out / "held_out.csv"),
        read_table(out / "norms.csv"),
        summary["unigram_entropy"],
    )


def draw_runs(runs: list[Drawn], folder: Path) -> list[str]:
    """Draw the three figures of one or more runs into `folder`; returns the names of the files."""
    for name, figure in _FIGURES.items():
        write_figure(figure(runs), folder / f"{name}.svg")
    return [f"{name}.svg" for name in _FIGURES]


def write_run_report(out: Path, beside: Path | None = None) -> None:
    """Draw a finished run and write ``report.html``, one file that opens offline."""
    drawn = load_drawn(out)
    draw_runs([drawn] if beside is None else [load_drawn(beside), drawn], out)
    last = max(row["step"] for row in drawn.norms)
    start = {row["site"]: row["d_cos2"] for row in drawn.norms if row["step"] == 0}
    at_end = [row for row in drawn.norms if row["step"] == last]
    ended = [{**row, "d": drawn.width, "start": start[row["site"]], "label": site_label(row)} for row in at_end]
    fallen = min(ended, key=lambda row: row["d_cos2"] / row["start"] if row["start"] else 1.0)
    write_page(
        out / "report.html",
        "training.html",
        run=read_sealed(out / "run.json"),
        summary=read_sealed(out / "summary.json"),
        drawn=drawn,
        rows=ended,
        remarkable=list({row["site"]: row for row in (ended[-1], fallen)}.values()),
        figures=read_svgs(out, list(_FIGURES)),
    )
