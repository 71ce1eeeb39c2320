"""Finished runs as tables that people use: rows, pandas; and several runs side by side."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lngeom.errors import RunError
from lngeom.files import Json

from .. import judge, observe
from ..runs import MEASURE_AGAIN, RunDirectory
from ..support import Row, Rows, read_records

Place = tuple[str, str]
"""A norm layer and one side of it."""

Places = dict[Place, Row]

_COMPARED = ("angle_mean_deg", "d_cos2", "norm_mean", "distance_mean", "rotation_mean_deg")


@dataclass(frozen=True)
class FinishedRun:
    """The tables of a finished run, from :func:`read_finished`.

    Attributes:
        path: Its directory.
        manifest: Model, text, machine, versions and settings.
        rows: The table ``sites.csv``, columns :data:`lngeom.empirical.observe.COLUMNS`.
        predictions: The verdicts on the predictions.
    """

    path: Path
    manifest: Json
    rows: Rows
    predictions: list[judge.Prediction]

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``, of the package pandas."""
        import pandas

        return pandas.DataFrame(self.rows)


def read_finished(path: str | os.PathLike[str]) -> FinishedRun:
    """Read a finished run.

    Args:
        path: Output directory of ``lngeom sweep`` or :func:`measure`.
    """
    run = RunDirectory(Path(path))
    manifest = run.finished_manifest()
    judged = read_records(run.predictions_path, judge.Prediction) if run.predictions_path.exists() else []
    return FinishedRun(run.path, manifest, observe.read_sites(run.path / "sites.csv"), judged)


def _paired(runs: Sequence[FinishedRun]) -> list[observe.States]:
    """The states of runs that read the very same sequences, so that their documents are pairs; of others none."""
    files = [RunDirectory(run.path) for run in runs]
    texts = {each.sequences_path.read_bytes() if each.sequences_path.exists() else None for each in files}
    paired = files if len(texts) == 1 and None not in texts else []
    return [observe.load_states(each.state_path, MEASURE_AGAIN)[0] for each in paired]


def _pair_half(*pair: tuple[observe.SiteState, Row]) -> float | None:
    """Half the width of the 95 % interval of a difference of energies over the same documents; None without one."""
    sums = [(row["d"] * state.document_cos2.sum(0), state.document_tokens.sum(0)) for state, row in pair]
    (one, _), (other, _) = pair
    return observe.paired_reach(*sums) if np.array_equal(one.documents, other.documents) else None


def _half(measured: Row, other: Row) -> float | None:
    """Half the width of the 95 % interval of a difference of energies, the two being independent; None without one."""
    widths = [row["d_cos2_high"] - row["d_cos2_low"] for row in (measured, other) if row["d_cos2_low"] is not None]
    return math.hypot(*widths) / 2 if len(widths) == 2 and all(map(math.isfinite, widths)) else None


def _matched(tables: Sequence[Places]) -> list[tuple[Place, ...]]:
    """The places that are compared: of equal names if all runs have the same norm layers, else of equal depth.

    The depth of a layer is its position among the layers of its role, from 0 to 1: a layer of the first run stands
    beside the nearest one of every other run.
    """
    if all(table.keys() == tables[0].keys() for table in tables):
        return [(place,) * len(tables) for place in tables[0]]
    kinds: list[dict[tuple[str | None, str], list[Place]]] = [{} for _ in tables]
    for table, lists in zip(tables, kinds, strict=True):
        for place, row in table.items():
            lists.setdefault((row["role"], place[1]), []).append(place)
    return [
        tuple(lists[kind][round(k * (len(lists[kind]) - 1) / max(len(places) - 1, 1))] for lists in kinds)
        for kind, places in kinds[0].items()
        if all(kind in lists for lists in kinds)
        for k in range(len(places))
    ]


def compare_runs(paths: Sequence[str | os.PathLike[str] | FinishedRun]) -> Rows:
    """Several runs side by side: before and after fine-tuning, two checkpoints, two architectures.

    A row for each norm layer and side over all tokens: of the same name, or, if the runs do not have the same norm
    layers, of the same role and the nearest relative depth. Each run, numbered from 1, has a column for each number;
    from the second run on there is also its layer, the difference from the first, and of energies half the width of its
    interval: over pairs of documents if the runs read the same sequences of text, else as of independent runs.

    Args:
        paths: Two or more finished runs, or their directories.

    >>> import tempfile
    >>> import torch
    >>> from lngeom.empirical.sweep import compare_runs, measure
    >>> x = torch.randn(4, 5, 8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, shift in (("one", 0.0), ("two", 3.0)):
    ...         _ = measure(torch.nn.Sequential(torch.nn.LayerNorm(8)), [x + shift], f"{folder}/{name}")
    ...     table = compare_runs([f"{folder}/one", f"{folder}/two"])
    >>> table[0]["site"], table[0]["side"], table[0]["angle_mean_deg_change_2"] < -30
    ('0', 'input', True)
    """
    if len(paths) < 2:
        raise RunError(f"{len(paths)} run given: comparing takes two or more")
    runs = [path if isinstance(path, FinishedRun) else read_finished(path) for path in paths]
    tables = [{(row["site"], row["side"]): row for row in run.rows if row["bucket"] == "all"} for run in runs]
    states, compared = _paired(runs), Rows()
    for places in _matched(tables):
        rows = [table[place] for table, place in zip(tables, places, strict=True)]
        row: Json = {"site": places[0][0], "side": places[0][1]}
        for name in _COMPARED:
            values = [each[name] for each in rows]
            row |= {f"{name}_{index}": value for index, value in enumerate(values, 1)}
            for index, value in enumerate(values[1:], 2):
                row[f"{name}_change_{index}"] = None if None in (value, values[0]) else value - values[0]
        for index, (place, other) in enumerate(zip(places[1:], rows[1:], strict=True), 2):
            half = _pair_half((states[0][places[0]], rows[0]), (states[index - 1][place], other)) if states else None
            row[f"d_cos2_change_{index}_half"] = _half(rows[0], other) if half is None else half
            row[f"site_{index}"] = place[0]
        compared.append(row)
    if not compared:
        raise RunError(f"{runs[0].path} and {runs[1].path}: have no norm layers of the same role to compare")
    return compared
