"""The page of the study: every sentence that depends on the numbers is made from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lngeom.verdicts import Verdict

from ..runs import RunError, read_table, write_text
from ..study import (
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
from ._html import embedded, render
from ._study_figures import OPTIMIZER_NAMES, cell_label, draw_depth, draw_sizes, draw_steps
from ._training_figures import NORM_NAMES, site_label

_TITLE = "LayerNorm against RMSNorm through training"
_MAIN_HEAD = (
    "norm",
    "optimizer, weight decay",
    "size",
    "seeds",
    "before training",
    "after training",
    "median random direction",
    "rank",
    "below all",
    "final ranks",
    "by chance",
    "from step",
    "prediction",
)


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


def _size(cell: tuple[Any, ...]) -> str:
    return f"{cell[3]} blocks, d = {cell[4]}"


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


def _main_rows(study: Rows, summaries: Sequence[CellSummary]) -> list[list[Any]]:
    verdicts = {layer.cell: verdict(layer, rms) for layer, rms in _pairs(summaries)}
    rows = []
    for summary in summaries:
        step = first_step_below(study, summary.cell)
        rows.append(
            [
                NORM_NAMES[summary.cell[0]],
                f"{OPTIMIZER_NAMES[summary.cell[1]]}, {summary.cell[2]:g}",
                _size(summary.cell),
                summary.energy.count,
                _interval(summary.start),
                _interval(summary.energy),
                _interval(summary.random),
                _interval(_within(summary.rank, 0, 1), ".2f"),
                f"{summary.lowest[0]} of {summary.lowest[1]}",
                ", ".join(map(str, summary.ranks)),
                _number(summary.chance),
                "–" if step is None else step,
                verdicts.get(summary.cell, ""),
            ]
        )
    return rows


def _undecayed(summaries: Sequence[CellSummary]) -> list[tuple[Any, ...]]:
    return [summary.cell for summary in summaries if summary.cell[3:] == TINY and summary.cell[2] == 0]


def _depth_rows(study: Rows, summaries: Sequence[CellSummary]) -> list[list[str]]:
    cells = _undecayed(summaries)
    if not cells:
        return []
    last = max(row["step"] for row in study if cell_of(row) == cells[0])
    columns = [along_depth(study, cell, last) for cell in cells]
    return [
        [site_label(row), *(_interval(column[index][1]) for column in columns)]
        for index, (row, _) in enumerate(columns[0])
    ]


def _writers_rows(writers: Rows) -> list[list[str]]:
    return [
        [
            cell_label(summary.cell),
            summary.kind,
            _interval(summary.growth),
            _interval(summary.uniform_growth),
            _interval(summary.change),
        ]
        for summary in summarize_writers(writers)
        if summary.cell[3:] == TINY
    ]


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


@dataclass(frozen=True)
class Section:
    """A part of the page: its title, paragraphs, points, a table, and a figure with what it shows."""

    title: str
    texts: Sequence[str] = ()
    points: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    figure: str = ""
    caption: str = ""

    def markdown(self) -> Iterator[str]:
        """Its lines in Markdown."""
        yield from (f"## {self.title}", "")
        for text in self.texts:
            yield from (text, "")
        if self.points:
            yield from (*(f"- {point}" for point in self.points), "")
        if self.head:
            lines = [self.head, ["---"] * len(self.head), *self.rows]
            yield from (*("| " + " | ".join(map(str, line)) + " |" for line in lines), "")
        if self.figure:
            yield from (f"![{self.caption}]({self.figure}.svg)", "")


def _sections(study: Rows, writers: Rows, gradients: Rows, controls: Rows) -> list[Section]:
    summaries = summarize(study)
    return [
        Section(
            "Does training without a gradient along 1 empty that direction?",
            [
                "d·E[cos²θ] of 1 behind block 0 (geometric mean over the norms of the later blocks and the final "
                "one). The rank is the fraction of random directions with a smaller value than 1, averaged over these "
                "norms; *below all* counts the norms, over all seeds, where no random direction has less; *final "
                "ranks* are those before the final norm, seed by seed, and *by chance* bounds the probability of such "
                "low ones if 1 were a direction like the random ones, the seeds taken as independent; *from step* is "
                "the first checkpoint from which on the interval of 1 lies below that of the median random direction."
            ],
            head=_MAIN_HEAD,
            rows=_main_rows(study, summaries),
            figure="steps",
            caption="d·E[cos²θ] of the uniform vector over steps",
        ),
        Section(
            "Where in the network it starts",
            [
                "After training, without weight decay, in the order of the forward pass; the first norm reads the "
                "embeddings."
            ],
            head=[
                "norm layer",
                *(f"{NORM_NAMES[cell[0]]}, {OPTIMIZER_NAMES[cell[1]]}" for cell in _undecayed(summaries)),
            ],
            rows=_depth_rows(study, summaries),
            figure="depth",
            caption="d·E[cos²θ] of the uniform vector over depth",
        ),
        Section("Widths and depths", figure="sizes", caption="d·E[cos²θ] of the uniform vector for each size"),
        Section("The theorem: gradients of the writers are orthogonal to 1", points=_gradient_sentences(gradients)),
        Section(
            "What training writes along 1",
            [
                "Norm of the writers after training over that before, the same of their part along 1, and the energy "
                "along 1 of what training added, in units of an average direction (0: none, 1: as much as in any). SGD "
                "adds up gradients; AdamW divides each coordinate by a size of its own, which does not keep a vector "
                "orthogonal to 1."
            ],
            head=("cell", "writers", "growth of the norm", "growth along 1", "energy of the change along 1"),
            rows=_writers_rows(writers),
        ),
        _losses(study),
        *(_control_sections(controls, study) if controls else []),
    ]


def _loss_sentence(study: Rows) -> str:
    pooled = [value for _, pairs in paired_losses(study) for value in pairs]
    return (
        f"Held-out loss with LayerNorm minus that with RMSNorm over all {len(pooled)} pairs, taken as independent: "
        f"{_interval(student_mean(pooled), '+.4f')} nats per token, {equivalence(pooled)}."
    )


def _losses(study: Rows) -> Section:
    paired = paired_losses(study)
    return Section(
        "The loss",
        [
            "Held-out loss with LayerNorm minus that with RMSNorm, nats per token, paired by seed. *Equivalent* at 5 "
            f"%: the 90 % interval lies within ±{MARGIN} nats, about what GPT-2 small loses without any LayerNorm "
            f"(arXiv:2409.13710); *different*: the 95 % interval does not contain 0. {_loss_sentence(study)}"
        ],
        head=("optimizer", "size", "difference", "verdict"),
        rows=[
            [
                f"{OPTIMIZER_NAMES[cell[0]]}, weight decay {cell[1]:g}",
                f"{cell[2]} blocks, d = {cell[3]}",
                _interval(student_mean(pairs), "+.4f"),
                equivalence(pairs),
            ]
            for cell, pairs in paired
        ],
    )


def _control_sections(controls: Rows, study: Rows) -> list[Section]:
    return [
        Section(
            "Controls: is it 1, or the direction that is projected off?",
            [
                "The same networks with another norm: u-Norm, which projects off a random direction u (another for "
                "each seed) in the place of 1; Post-LN; no norm. d·E[cos²θ] of 1 and of u where blocks and head read "
                "the stream, behind block 0; *by chance* as above, for the stream that the head's norm reads."
            ],
            head=("norm", "optimizer", "direction", "after training", "median random direction", "by chance"),
            rows=[
                [
                    NORM_NAMES[s.norm],
                    OPTIMIZER_NAMES[s.optimizer],
                    s.direction,
                    _interval(s.energy),
                    _interval(s.random),
                    _number(s.chance),
                ]
                for s in summarize_controls(controls)
            ],
        ),
        Section(
            "The loss of the controls",
            ["Held-out loss minus that with LayerNorm, same optimizer, weight decay, size and seed."],
            head=("norm", "optimizer", "difference", "verdict"),
            rows=[
                [
                    NORM_NAMES[norm],
                    OPTIMIZER_NAMES[optimizer],
                    _interval(student_mean(pairs), "+.4f"),
                    equivalence(pairs),
                ]
                for norm, optimizer, pairs in loss_against_layer_norm(controls, study)
            ],
        ),
    ]


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
        study, writers, gradients: Rows of the tables that :func:`empirical.study.gather` writes; the last two may be
            empty.
        controls: Rows of ``controls.csv``, if control arms were trained.

    >>> from empirical.report import study_report
    >>> study = [
    ...     {"norm": norm, "optimizer": "adamw", "weight_decay": 0.0, "layers": 4, "width": 128, "seed": seed,
    ...      "step": step, "site": "ln_f", "layer": None, "role": "final", "d_cos2": after if step else 1.0,
    ...      "random_d_cos2_median": 1.0, "rank_among_random": 0, "directions": 64, "held_out_loss": 5.0}
    ...     for norm, after in (("layer", 0.01), ("rms", 1.0)) for seed in range(2) for step in (0, 100)
    ... ]
    >>> study_report(study, [], []).splitlines()[4].rpartition(": ")[2]
    '1 of 1 pairs.'
    """
    parts = [f"# {_TITLE}", "", _about(study), "", *(f"- {said}" for said in _remarks(study, gradients)), ""]
    for section in _sections(study, writers, gradients, controls):
        parts += section.markdown()
    return "\n".join(parts)


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
    summaries = summarize(study)
    if not _undecayed(summaries):
        layers, width = TINY
        msg = (
            f"{out} holds no run of {layers} blocks, d = {width}, without weight decay, and the page is about those: "
            "finish them with lngeom study"
        )
        raise RunError(msg)
    draw_steps(study, summaries, out / "steps.svg")
    draw_depth(study, summaries, out / "depth.svg")
    draw_sizes(summaries, out / "sizes.svg")
    controls = read_table(out / "controls.csv") if (out / "controls.csv").exists() else []
    write_text(out / "report.md", study_report(study, writers, gradients, controls))
    page = render(
        "study.html",
        title=_TITLE,
        about=_about(study),
        remarks=_remarks(study, gradients),
        sections=_sections(study, writers, gradients, controls),
        svgs={
            name: embedded((out / f"{name}.svg").read_text(encoding="utf-8"), name)
            for name in ("steps", "depth", "sizes")
        },
    )
    write_text(out / "report.html", page)
