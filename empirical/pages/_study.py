"""The page of the study: every sentence that depends on the numbers is made from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lngeom.verdicts import Verdict

from ..support import RunError, read_table, write_text
from ..train import (
    MARGIN,
    TINY,
    CellSummary,
    Rows,
    SeedMean,
    along_depth,
    cell_of,
    equivalence,
    first_step_below,
    loss_against_layer_norm,
    paired_losses,
    student_mean,
    summarize,
    summarize_controls,
    summarize_writers,
)
from ._html import from_markdown, render
from ._study_figures import OPTIMIZER_NAMES, cell_label, draw_depth, draw_sizes, draw_steps
from ._training_figures import NORM_NAMES, site_label

_TITLE = "LayerNorm against RMSNorm through training"


def _number(value: float) -> str:
    return f"{value:.3g}" if value >= 1e-3 or value == 0 else f"{value:.1e}"


def _interval(value: SeedMean | None, digits: str = "") -> str:
    if value is None:
        return "–"
    parts = [f"{part:{digits}}" if digits else _number(part) for part in (value.mean, value.low, value.high)]
    return f"{parts[0]} [{parts[1]}, {parts[2]}]"


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


def _pairs(summaries: Sequence[CellSummary]) -> list[tuple[CellSummary, CellSummary]]:
    rms = {summary.cell[1:]: summary for summary in summaries if summary.cell[0] == "rms"}
    return [(s, rms[s.cell[1:]]) for s in summaries if s.cell[0] == "layer" and s.cell[1:] in rms]


def _undecayed(study: Rows) -> list[tuple[Any, ...]]:
    cells = dict.fromkeys(cell_of(row) for row in study)
    return [cell for cell in cells if cell[3:] == TINY and cell[2] == 0]


def _gradient_sentences(gradients: Rows) -> list[str]:
    lines = []
    for norm, name in NORM_NAMES.items():
        rows = [row for row in gradients if row["norm"] == norm]
        if not rows:
            continue
        worst, least = max(row["excess"] for row in rows), min(row["excess"] for row in rows)
        runs = len({(*cell_of(row), row["seed"]) for row in rows})
        within = sum(row["excess"] <= 1 for row in rows)
        lines.append(
            f"{name}: {within} of {len(rows)} gradients ({runs} networks, before and after training) have no more "
            f"along 1 than rounding explains; |1ᵀG| over its bound is between {_number(least)} and {_number(worst)}."
        )
    return lines


def _loss_sentence(study: Rows) -> str:
    pooled = [value for _, pairs in paired_losses(study) for value in pairs]
    return (
        f"Held-out loss with LayerNorm minus that with RMSNorm over all {len(pooled)} pairs, taken as independent: "
        f"{_interval(student_mean(pooled), '+.4f')} nats per token, {equivalence(pooled)}."
    )


def _about(study: Rows) -> str:
    runs = len({(*cell_of(row), row["seed"]) for row in study})
    return (
        f"{runs} networks of GPT-2's architecture, up to {len({row['seed'] for row in study})} seeds of each kind, "
        f"{max(row['step'] for row in study)} steps; every norm layer measured on held-out text at "
        f"{len({row['step'] for row in study})} checkpoints, against {study[0]['directions']} random directions. "
        "Brackets are 95 % intervals over the seeds: of the geometric mean for d·E[cos²θ] and for ratios, of the mean "
        "for ranks and losses."
    )


def _verdict_sentence(summaries: Sequence[CellSummary]) -> str:
    verdicts = [verdict(layer, rms) for layer, rms in _pairs(summaries)]
    other = "".join(
        f", {verdicts.count(kind)} {words}"
        for kind, words in (("undecided", "undecided"), ("violated", "the other way round"))
        if kind in verdicts
    )
    return (
        f"With LayerNorm training leaves less along 1 than along the median random direction, and less than with "
        f"RMSNorm, interval below interval: {verdicts.count('holds')} of {len(verdicts)} pairs{other}."
    )


def _remarks(study: Rows, gradients: Rows) -> list[str]:
    return [_verdict_sentence(summarize(study)), _loss_sentence(study), *_gradient_sentences(gradients)]


def study_report(study: Rows, writers: Rows, gradients: Rows, controls: Rows = ()) -> str:
    """The page in Markdown, from the three tables of the study.

    Args:
        study, writers, gradients: Rows of the tables that :func:`empirical.train.gather` writes; the last two may be
            empty.
        controls: Rows of ``controls.csv``, if control arms were trained.

    >>> from empirical.pages import study_report
    >>> study = [
    ...     {"norm": norm, "optimizer": "adamw", "weight_decay": 0.0, "layers": 4, "width": 128, "seed": seed,
    ...      "step": step, "site": "ln_f", "layer": None, "role": "final", "d_cos2": after if step else 1.0,
    ...      "random_d_cos2_median": 1.0, "rank_among_random": 0, "directions": 64, "held_out_loss": 5.0}
    ...     for norm, after in (("layer", 0.01), ("rms", 1.0)) for seed in range(2) for step in (0, 100)
    ... ]
    >>> study_report(study, [], []).splitlines()[4].rpartition(": ")[2]
    '1 of 1 pairs.'
    """
    summaries, undecayed = summarize(study), _undecayed(study)
    first = {summary.cell: first_step_below(study, summary.cell) for summary in summaries}
    verdicts = {layer.cell: verdict(layer, rms) for layer, rms in _pairs(summaries)}
    last = max(row["step"] for row in study)
    columns = [along_depth(study, cell, last) for cell in undecayed]
    return render(
        "study.md",
        title=_TITLE,
        about=_about(study),
        remarks=_remarks(study, gradients),
        norms=NORM_NAMES,
        optimizers=OPTIMIZER_NAMES,
        label=cell_label,
        short=_number,
        interval=_interval,
        within=_within,
        difference=lambda pairs: _interval(student_mean(pairs), "+.4f"),
        equivalence=equivalence,
        summaries=summaries,
        since={cell: "–" if step is None else step for cell, step in first.items()},
        verdicts={summary.cell: verdicts.get(summary.cell, "") for summary in summaries},
        undecayed=undecayed,
        depth=[(site_label(sites[0][0]), [mean for _, mean in sites]) for sites in zip(*columns, strict=True)],
        orthogonal=_gradient_sentences(gradients),
        writers=[summary for summary in summarize_writers(writers) if summary.cell[3:] == TINY],
        margin=MARGIN,
        losses=paired_losses(study),
        controls=summarize_controls(controls) if controls else [],
        against=loss_against_layer_norm(controls, study) if controls else [],
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
        msg = (
            f"{out} holds no run of {layers} blocks, d = {width}, without weight decay, and the page is about those: "
            "finish them with lngeom study"
        )
        raise RunError(msg)
    summaries = summarize(study)
    draw_steps(study, summaries, out / "steps.svg")
    draw_depth(study, summaries, out / "depth.svg")
    draw_sizes(summaries, out / "sizes.svg")
    controls = read_table(out / "controls.csv") if (out / "controls.csv").exists() else []
    text = study_report(study, writers, gradients, controls)
    write_text(out / "report.md", text)
    _, heading, sections = text.partition("\n## ")
    remarks, body = _remarks(study, gradients), from_markdown(heading + sections, out)
    write_text(out / "report.html", render("study.html", title=_TITLE, about=_about(study), remarks=remarks, body=body))
