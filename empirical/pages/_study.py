"""The page of the study: every sentence that depends on the numbers is made from them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lngeom.verdicts import Verdict

from .. import train
from ..support import Row, Rows, RunError, read_table, write_text
from ..train import TINY, CellKey, CellSummary, SeedMean, cell_of, short
from ._html import from_markdown, render, write_page
from ._study_figures import OPTIMIZER_NAMES, cell_label, depth_figure, size_figure, step_figure
from ._style import write_figure
from ._training_figures import NORM_NAMES, site_label


def _interval(value: SeedMean | None, digits: str = "") -> str:
    return "–" if value is None else value.text(digits)


def _within(value: SeedMean, low: float, high: float) -> SeedMean:
    """The interval, cut off at values that cannot be exceeded."""
    return value._replace(low=max(value.low, low), high=min(value.high, high))


def verdict(layer: CellSummary, rms: CellSummary) -> Verdict:
    """Whether the collapse under LayerNorm and its absence under RMSNorm hold in one pair of cells.

    ``holds``: the interval of d·E[cos²θ] lies below that of the median random direction with LayerNorm, and the
    interval with LayerNorm lies below the one with RMSNorm. ``violated``: either pair is reversed. Else ``undecided``.
    """
    pairs = ((layer.energy, layer.random), (layer.energy, rms.energy))
    if all(below.high < above.low for below, above in pairs):
        return "holds"
    return "violated" if any(below.low > above.high for below, above in pairs) else "undecided"


def study_verdicts(summaries: Sequence[CellSummary]) -> dict[CellKey, Verdict]:
    """The verdict on each cell with LayerNorm that has its pair with RMSNorm."""
    rms = {summary.cell[1:]: summary for summary in summaries if summary.cell[0] == "rms"}
    layer = [s for s in summaries if s.cell[0] == "layer" and s.cell[1:] in rms]
    return {s.cell: verdict(s, rms[s.cell[1:]]) for s in layer}


def _undecayed(study: Rows) -> list[CellKey]:
    cells = dict.fromkeys(cell_of(row) for row in study)
    return [cell for cell in cells if cell[3:] == TINY and cell[2] == 0]


def _orthogonality(gradients: Rows) -> Iterator[Row]:
    """For each kind of network: how many gradients have no more along 1 than rounding explains."""
    for norm, name in NORM_NAMES.items():
        rows = [row for row in gradients if row["norm"] == norm]
        excesses = [row["excess"] for row in rows]
        if rows:
            yield {
                "norm": name,
                "within": sum(excess <= 1 for excess in excesses),
                "gradients": len(rows),
                "networks": len({(*cell_of(row), row["seed"]) for row in rows}),
                "least": min(excesses),
                "most": max(excesses),
            }


def study_report(study: Rows, writers: Rows, gradients: Rows, controls: Rows | None = None) -> str:
    """The page in Markdown, from the tables of :func:`empirical.train.gather`; all but `study` may be empty."""
    summaries, undecayed = train.summarize(study), _undecayed(study)
    verdicts, losses = study_verdicts(summaries), train.paired_losses(study)
    last = max(row["step"] for row in study)
    columns = [train.along_depth(study, cell, last) for cell in undecayed]
    return render(
        "study.md",
        networks=len({(*cell_of(row), row["seed"]) for row in study}),
        seeds=len({row["seed"] for row in study}),
        checkpoints=len({row["step"] for row in study}),
        steps=last,
        directions=study[0]["directions"],
        norms=NORM_NAMES,
        optimizers=OPTIMIZER_NAMES,
        label=cell_label,
        short=short,
        interval=_interval,
        within=_within,
        difference=lambda pairs: train.student_mean(pairs).text("+.4f"),
        apart=lambda mean: mean.text("+.4f"),
        equivalence=train.equivalence,
        summaries=summaries,
        since={summary.cell: train.first_step_below(study, summary.cell) for summary in summaries},
        verdicts=verdicts,
        counts=Counter(verdicts.values()),
        undecayed=undecayed,
        depth=[(site_label(sites[0][0]), [mean for _, mean in sites]) for sites in zip(*columns, strict=True)],
        orthogonality=list(_orthogonality(gradients)),
        writers=[summary for summary in train.summarize_writers(writers) if summary.cell[3:] == TINY],
        margin=train.MARGIN,
        losses=losses,
        pairs=sum(len(pairs) for _, pairs in losses),
        pooled=train.pooled_loss(study),
        controls=train.summarize_controls(controls) if controls else [],
        against=train.loss_against_layer_norm(controls, study) if controls else [],
    )


def write_study_report(out: Path) -> None:
    """Draw the study in `out`, and write ``report.html`` and, with the same words and tables, ``report.md``.

    Raises:
        RunError: If no run is finished and gathered, none of ``tiny`` without weight decay is, or the gradients were
            not checked.
    """
    try:
        study, writers, gradients = (read_table(out / f"{name}.csv") for name in ("study", "writers", "gradients"))
    except FileNotFoundError as error:
        msg = f"{out} holds no gathered study ({Path(error.filename).name} is missing): run lngeom study first"
        raise RunError(msg) from error
    if not _undecayed(study):
        layers, width = TINY
        raise RunError(
            f"{out} holds no run of {layers} blocks, d = {width}, without weight decay, and the page is about those: "
            "finish them with lngeom study"
        )
    summaries = train.summarize(study)
    write_figure(step_figure(study, summaries), out / "steps.svg")
    write_figure(depth_figure(study, summaries), out / "depth.svg")
    write_figure(size_figure(summaries), out / "sizes.svg")
    controls = read_table(out / "controls.csv", words=("direction",)) if (out / "controls.csv").exists() else []
    text = study_report(study, writers, gradients, controls)
    write_text(out / "report.md", text)
    head, heading, sections = text.partition("\n## ")
    title, about, remarks = head.strip().split("\n\n")
    write_page(
        out / "report.html",
        "study.html",
        title=title.removeprefix("# "),
        about=about,
        remarks=[line.removeprefix("- ") for line in remarks.splitlines()],
        body=from_markdown(heading + sections, out),
    )
