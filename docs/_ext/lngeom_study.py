"""The tables of the page of the training study, computed from its committed tables whenever the site is built."""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from lngeom_records import table as markdown

from experiments.training import tables
from experiments.training.figures import cell_label, site_label
from experiments.training.tables import CELL, NORM_NAMES, OPTIMIZER_NAMES, Table, short


def report(folder: Path) -> dict[str, Any]:
    """Everything that the page says of the study in a folder."""
    names = ("study", "writers", "gradients", "controls")
    study, writers, gradients, controls = (pd.read_csv(folder / f"{name}.csv") for name in names)
    summary, pairs = tables.summarize(study), tables.paired_losses(study)
    verdicts, pooled = tables.verdicts(summary), tables.pooled_loss(pairs)
    counts = Counter(verdicts.values())
    return {
        "networks": study.groupby([*CELL, "seed"]).ngroups,
        "seeds": study["seed"].nunique(),
        "steps": study["step"].max(),
        "checkpoints": study["step"].nunique(),
        "directions": study["directions"][0],
        "confirmed": f"{counts['holds']} of {counts.total()} pairs, {counts['undecided']} undecided",
        "pooled": f"{pooled.text('+.4f')} nats per token, {tables.equivalence(pooled)}",
        "pairs": len(pairs),
        "margin": tables.MARGIN,
        "orthogonal": {norm: _orthogonal(rows) for norm, rows in gradients.groupby("norm")},
        "cells": _cells(study, summary, verdicts),
        "depth": _depth(study),
        "writers": _writers(writers),
        "losses": _losses(pairs),
        "controls": _controls(controls),
        "control_losses": _control_losses(tables.loss_against(controls, study[study["norm"] == "layer"])),
    }


def _orthogonal(gradients: Table) -> str:
    networks = f"({gradients.groupby([*CELL, 'seed']).ngroups} networks, before and after training)"
    if "excess" not in gradients:  # of later studies, in which only the energy is written
        least, most = map(short, gradients["share"].agg(["min", "max"]))
        return f"{len(gradients)} gradients {networks} have {least} to {most} of an average direction's energy along 1"
    excess = gradients["excess"]
    return (
        f"{(excess <= 1).sum()} of {len(excess)} gradients {networks} have no larger component along 1 than rounding "
        f"explains; |1ᵀG| divided by its bound is between {short(excess.min())} and {short(excess.max())}"
    )


def _cells(study: Table, summary: Table, verdicts: dict[tuple[Any, ...], str]) -> str:
    since, rows = tables.first_step_below(study), []
    for s in summary.itertuples():
        norm, optimizer, decay, layers, width = s.Index
        rank = s.rank._replace(low=max(s.rank.low, 0), high=min(s.rank.high, 1))
        place = [NORM_NAMES[norm], f"{OPTIMIZER_NAMES[optimizer]}, {decay:g}", f"{layers} blocks, d = {width}"]
        energies = [s.start.text(), s.energy.text(), s.random.text(), rank.text(".2f")]
        ranks = [f"{s.lowest[0]} of {s.lowest[1]}", ", ".join(map(str, s.ranks)), short(s.chance)]
        outcome = [f"{since.get(s.Index, '–')}", verdicts.get(s.Index, "")]
        rows.append([*place, f"{s.energy.seeds}", *energies, *ranks, *outcome])
    head = ["norm", "optimizer, weight decay", "size", "seeds", "before training", "after training"]
    head += ["median random direction", "rank", "below all", "final ranks", "by chance", "from step", "prediction"]
    return markdown(head, rows)


def _depth(study: Table) -> str:
    plain = tables.at_tiny(tables.after_training(study)).query("weight_decay == 0")
    means = tables.over_seeds(plain, "d_cos2", ["site", "norm", "optimizer"])
    head = [
        f"{NORM_NAMES[norm]}, {OPTIMIZER_NAMES[optimizer]}"
        for norm, optimizer in means.index.droplevel("site").unique()
    ]
    rows = ([site_label(site), *(mean.text() for mean in line)] for site, line in means.groupby("site", sort=False))
    return markdown(["norm layer", *head], rows)


def _writers(writers: Table) -> str:
    summary = tables.summarize_writers(tables.at_tiny(writers)).itertuples(name=None)
    rows = ([cell_label(cell), kind, *(each.text() for each in means)] for (*cell, kind), *means in summary)
    return markdown(["cell", "writers", "growth of the norm", "growth along 1", "energy of the change along 1"], rows)


def _tested(differences: Table) -> list[str]:
    mean = tables.student_mean(differences)
    return [mean.text("+.4f"), tables.equivalence(mean)]


def _losses(pairs: Table) -> str:
    rows = (
        [f"{OPTIMIZER_NAMES[name]}, weight decay {decay:g}", f"{layers} blocks, d = {width}", *_tested(differences)]
        for (name, decay, layers, width), differences in pairs.groupby(CELL[1:], sort=False)["difference"]
    )
    return markdown(["optimizer", "size", "difference", "verdict"], rows)


def _controls(controls: Table) -> str:
    summary = tables.summarize(controls, ["norm", "optimizer", "direction"])
    rows = (
        [NORM_NAMES[norm], OPTIMIZER_NAMES[optimizer], direction, energy.text(), random.text(), short(chance)]
        for (norm, optimizer, direction), energy, random, chance in summary[["energy", "random", "chance"]].itertuples(
            name=None
        )
    )
    return markdown(["norm", "optimizer", "direction", "after training", "median random direction", "by chance"], rows)


def _control_losses(pairs: Table) -> str:
    rows = (
        [NORM_NAMES[norm], OPTIMIZER_NAMES[optimizer], *_tested(differences)]
        for (norm, optimizer), differences in pairs.groupby(["norm", "optimizer"], sort=False)["difference"]
    )
    return markdown(["norm", "optimizer", "difference", "verdict"], rows)
