"""The tables of the page of the training study, computed from its committed tables whenever the site is built."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lngeom_records import table as markdown

from empirical.support import Rows, read_table
from experiments.training.figures import cell_label, site_label
from experiments.training.tables import (
    CELL,
    MARGIN,
    NORM_NAMES,
    OPTIMIZER_NAMES,
    TINY,
    along_depth,
    by,
    cell_of,
    equivalence,
    first_step_below,
    loss_against_layer_norm,
    paired_losses,
    pooled_loss,
    short,
    student_mean,
    summarize,
    summarize_controls,
    summarize_writers,
    verdicts,
)


def report(folder: Path) -> dict[str, Any]:
    """Everything that the page says of the study in a folder."""
    study, writers, gradients = (read_table(folder / f"{name}.csv") for name in ("study", "writers", "gradients"))
    controls = read_table(folder / "controls.csv", words=("direction",))
    counts, pooled = Counter(verdicts(summarize(study)).values()), pooled_loss(study)
    return {
        "networks": len({(*cell_of(row), row["seed"]) for row in study}),
        "seeds": len({row["seed"] for row in study}),
        "steps": max(row["step"] for row in study),
        "checkpoints": len({row["step"] for row in study}),
        "directions": study[0]["directions"],
        "confirmed": f"{counts['holds']} of {counts.total()} pairs, {counts['undecided']} undecided",
        "pooled": f"{pooled.text('+.4f')} nats per token, {equivalence(pooled)}",
        "pairs": sum(map(len, paired_losses(study).values())),
        "margin": MARGIN,
        "orthogonal": {norm: _orthogonal(gradients, norm) for norm in ("layer", "rms")},
        "cells": _cells(study),
        "depth": _depth(study),
        "writers": _writers(writers),
        "losses": _losses(study),
        "controls": _controls(controls),
        "control_losses": _control_losses(controls, study),
    }


def _orthogonal(gradients: Rows, norm: str) -> str:
    rows = [row for row in gradients if row["norm"] == norm]
    excesses, networks = [row["excess"] for row in rows], {(*cell_of(row), row["seed"]) for row in rows}
    return (
        f"{sum(excess <= 1 for excess in excesses)} of {len(rows)} gradients ({len(networks)} networks, before and "
        "after training) have no larger component along 1 than rounding explains; |1ᵀG| divided by its bound is "
        f"between {short(min(excesses))} and {short(max(excesses))}"
    )


def _kind(optimizer: str, decay: float) -> str:
    return f"{OPTIMIZER_NAMES[optimizer]}, {decay:g}"


def _size(layers: int, width: int) -> str:
    return f"{layers} blocks, d = {width}"


def _cells(study: Rows) -> str:
    summaries, rows_of = summarize(study), by(study, *CELL)
    answers = verdicts(summaries)
    rows = []
    for s in summaries:
        norm, optimizer, decay, *size = s.cell
        rank = s.rank._replace(low=max(s.rank.low, 0), high=min(s.rank.high, 1))
        since = first_step_below(rows_of[s.cell])
        place = [NORM_NAMES[norm], _kind(optimizer, decay), _size(*size), f"{s.energy.count}"]
        energies = [s.start.text(), s.energy.text(), s.random.text(), rank.text(".2f")]
        ranks = [f"{s.lowest[0]} of {s.lowest[1]}", ", ".join(map(str, s.ranks)), short(s.chance)]
        rows.append([*place, *energies, *ranks, "–" if since is None else f"{since}", answers.get(s.cell, "")])
    head = ["norm", "optimizer, weight decay", "size", "seeds", "before training", "after training"]
    head += ["median random direction", "rank", "below all", "final ranks", "by chance", "from step", "prediction"]
    return markdown(head, rows)


def _depth(study: Rows) -> str:
    cells = [cell for cell in by(study, *CELL) if cell[3:] == TINY and cell[2] == 0]
    last = max(row["step"] for row in study)
    columns = [along_depth(study, cell, last) for cell in cells]
    rows = ([site_label(line[0][0]), *(mean.text() for _, mean in line)] for line in zip(*columns, strict=True))
    return markdown(["norm layer", *(f"{NORM_NAMES[c[0]]}, {OPTIMIZER_NAMES[c[1]]}" for c in cells)], rows)


def _writers(writers: Rows) -> str:
    rows = (
        [cell_label(s.cell), s.kind, *("–" if each is None else each.text() for each in s[2:])]
        for s in summarize_writers(writers)
        if s.cell[3:] == TINY
    )
    return markdown(["cell", "writers", "growth of the norm", "growth along 1", "energy of the change along 1"], rows)


def _tested(differences: Iterable[float]) -> list[str]:
    mean = student_mean([*differences])
    return [mean.text("+.4f"), equivalence(mean)]


def _losses(study: Rows) -> str:
    rows = (
        [f"{OPTIMIZER_NAMES[optimizer]}, weight decay {decay:g}", _size(*size), *_tested(pairs.values())]
        for (optimizer, decay, *size), pairs in paired_losses(study).items()
    )
    return markdown(["optimizer", "size", "difference", "verdict"], rows)


def _controls(controls: Rows) -> str:
    rows = []
    for s in summarize_controls(controls):
        arm = [NORM_NAMES[s.norm], OPTIMIZER_NAMES[s.optimizer], s.direction]
        rows.append([*arm, s.energy.text(), s.random.text(), short(s.chance)])
    return markdown(["norm", "optimizer", "direction", "after training", "median random direction", "by chance"], rows)


def _control_losses(controls: Rows, study: Rows) -> str:
    rows = (
        [NORM_NAMES[norm], OPTIMIZER_NAMES[optimizer], *_tested(differences)]
        for (norm, optimizer), differences in loss_against_layer_norm(controls, study).items()
    )
    return markdown(["norm", "optimizer", "difference", "verdict"], rows)
