"""The same networks with other angles to 1: the tables and figures of docs/results/gauge.

``python -m experiments.gauge PART FOLDER``; FOLDER is what ``docs/results/whisper/prepare.py`` wrote. The parts, each
in a process of its own: ``whisper``, ``recorded`` and ``smollm2`` measure networks of equal outputs, fitted to every
other passage and measured on the rest; ``orbit`` prices the swap of LayerNorms for RMSNorms over the gauges of Whisper.
Half an hour on one core in all.
``gauge_figures.py`` draws what they found.
"""

import copy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from empirical.folding import (
    Change,
    Fold,
    Map,
    Measurement,
    dominant,
    entering,
    find_norms,
    find_shifts,
    fold,
    mean_angles,
    moments_of,
    passages_for,
    rotate,
    sample_inputs,
    shifted,
    summarize,
    tensors,
)  # fmt: skip
from empirical.models import bundled_model, find_model, load_network
from empirical.observe import random_rotation, ratio_interval, reflection
from empirical.support import write_table
from empirical.text import bundled_wikipedia, open_corpus

TABLES = Path(__file__).parents[1] / "docs" / "results" / "gauge"
ANGLES = (90.0, 45.0, 8.0)
ORBIT = {"writers centred": (90, 60, 80, 100, 120, 30), "as stored": (90, 60, 120, 80)}
COMPARED = 2
"""Sequences on which logits are compared."""


def wide(network: Any) -> list[str]:
    """The norms of the residual stream, in the order of the pass."""
    norms = find_norms(network, sample_inputs(network))
    return [path for path, norm in norms.items() if norm.d == network.config.hidden_size]


def measured(name: str, network: Any, fitted: list[Any], cases: list[Any], gauges: dict[str, Any]) -> None:
    """Loss, outputs and angles of a network and of its gauges, to the tables of its name."""
    paths, table, angles = wide(network), list[dict[str, Any]](), list[dict[str, Any]]()
    batches = [tensors(network, [case]) for case in cases]
    own = Measurement(network, cases, 1024)(Change("none", "all"))
    for gauge, make in gauges.items():
        changed = make()
        checkpoint = network if changed is None else changed.checkpoint
        rows = own if changed is None else Measurement(checkpoint, cases, 1024)(Change("none", "all"))
        angle_of, fitted_of = (mean_angles(checkpoint, each, paths) for each in (batches, fitted))
        row: dict[str, Any] = {"gauge": gauge, "norms": len(paths)}
        for column, found in (("angle", list(angle_of.values())), ("fitted", list(fitted_of.values()))):
            row |= {column: float(np.mean(found)), f"{column}_least": min(found), f"{column}_most": max(found)}
        for column, sums, floor in (("loss", rows[:, 2], 0.0), ("difference", rows[:, 2] - own[:, 2], -np.inf)):
            _, where = np.unique(rows[:, 0], return_inverse=True)
            n, total = np.bincount(where, rows[:, 1]), np.bincount(where, sums)
            row |= dict(
                zip((column, f"{column}_low", f"{column}_high"), ratio_interval(total, n, floor=floor), strict=True)
            )
        row |= {"tokens": int(rows[:, 1].sum()), "documents": len(set(rows[:, 0]))}
        table.append(
            {**row, "maps": 0 if changed is None else len(changed.maps), **differences(network, checkpoint, batches)}
        )
        angles += [
            {"gauge": gauge, "site": path, "angle_mean_deg": angle_of[path], "fitted_angle_mean_deg": fitted_of[path]}
            for path in paths
        ]
        print(table[-1], flush=True)
    write_table(TABLES / f"{name}.csv", table, digits=6)
    write_table(TABLES / f"{name}-angles.csv", angles, digits=6)


def differences(network: Any, other: Any, batches: list[Any]) -> dict[str, float]:
    """The largest difference of two networks' logits, and on the first sequence in float64."""
    wide = [copy.deepcopy(each).double() for each in (network, other)]
    given = {name: t.double() if t.is_floating_point() else t for name, t in batches[0].items()}
    with torch.inference_mode():
        pairs = [(network(**batch).logits, other(**batch).logits) for batch in batches[:COMPARED]]
        exact = [each(**given).logits for each in wide]
    return {
        "largest_output": max(float(a.abs().max()) for a, _ in pairs),
        "largest_difference": max(float((a - b).abs().max()) for a, b in pairs),
        "difference_in_float64": float((exact[0] - exact[1]).abs().max()),
        "top1": sum(float((a.argmax(-1) == b.argmax(-1)).double().mean()) for a, b in pairs) / len(pairs),
    }


def whisper_cases(folder: Path, count: int, passages: str = "passages") -> tuple[Any, list[Any]]:
    """Whisper and passages of as many articles."""
    source = find_model(str(folder / "model"))
    network = load_network(source)
    given = passages_for(network, source, open_corpus(str(folder / passages)), tokens=10**6, length=448, per_document=1)
    return network, given[:count]


def whisper(folder: Path, name: str = "whisper", passages: str = "passages") -> None:
    """Whisper tiny.en, every norm at the same mean angle."""
    network, cases = whisper_cases(folder, 40, passages)
    fitted = [tensors(network, [case]) for case in cases[::2]]
    shifts = find_shifts(network, each=True)
    states = entering(network, fitted, shifts_paths(shifts), moments_of)

    def at(degrees: float) -> Fold:
        amounts = shifts.at(states, degrees)
        checkpoint = shifted(network, amounts)
        return Fold(checkpoint, checkpoint, [Map(name, "uniform", -1, amount=c) for name, c in amounts.items()])

    gauges = {f"{degrees:g}°": lambda degrees=degrees: at(degrees) for degrees in ANGLES}
    measured(name, network, fitted, cases[1::2], {"as stored": lambda: None, **gauges})


def smollm2(_: Path) -> None:
    """SmolLM2, rotated at random, and so that the mean direction of its states becomes 1."""
    source = find_model(str(bundled_model()))
    network = load_network(source)
    corpus = open_corpus(str(bundled_wikipedia()))
    cases = passages_for(network, source, corpus, tokens=2_560, length=128, per_document=1)
    batches, held_out = ([tensors(network, [case]) for case in cases[part::2]] for part in (0, 1))
    config: Any = network.config
    width: int = config.hidden_size
    gauges = {
        "as stored": lambda: None,
        "random rotation": lambda: rotate(network, random_rotation(width, 0), checked=False),
        "mean direction to 1": lambda: rotate(network, reflection(dominant(network, batches)), checked=False),
    }
    measured("smollm2", network, batches, cases[1::2], gauges)
    units = entering(network, held_out, wide(network), lambda x: x / x.norm(dim=-1, keepdim=True))
    units["all"] = torch.cat(list(units.values()))
    least = []
    for path, rows in units.items():
        mean = rows.mean(0)
        cosines = (rows @ mean / mean.norm()).clamp(-1, 1)
        angle = float(torch.rad2deg(torch.arccos(cosines)).mean())
        moments = rows.double().T @ rows.double() / len(rows)
        least.append({"site": path, "angle_mean_deg": angle, "share_most": float(torch.linalg.eigvalsh(moments)[-1])})
    write_table(TABLES / "smollm2-least.csv", least, digits=6)


def orbit(folder: Path) -> None:
    """The price of RMSNorms in the place of LayerNorms, gauge by gauge of Whisper; they all compute the same."""
    network, cases = whisper_cases(folder, 10)
    batches = [tensors(network, [case]) for case in cases]
    norms = find_norms(network, sample_inputs(network))
    swap = Change("rms_norm", "all", tuple(norm for norm in norms.values() if norm.d == network.config.hidden_size))
    base, shifts = Measurement(network, cases, 1024), find_shifts(network, each=True)
    table: list[dict[str, Any]] = []

    def add(weights: str, degrees: float | None, changed: Any, change: Change) -> None:
        summary = summarize(change, Measurement(changed, cases, 1024, base)(change))
        del summary["change"], summary["site"]
        table.append({"weights": weights, "angle": degrees, **summary})
        print(table[-1], flush=True)
        write_table(TABLES / "orbit.csv", table, digits=6)

    add("as stored", None, network, swap)
    folded = fold(network)
    add("folded", None, folded.model, Change("rms_norm", "all"))
    for weights, start in (("writers centred", folded.checkpoint), ("as stored", network)):
        states = entering(start, batches, shifts_paths(shifts), moments_of)
        for degrees in ORBIT[weights]:
            add(weights, degrees, shifted(start, shifts.at(states, degrees)), swap)


def shifts_paths(shifts: Any) -> list[str]:
    """The norms that can be shifted."""
    return [path for paths in shifts.plan.values() for path in paths]


if __name__ == "__main__":
    parts = {
        "whisper": whisper,
        "recorded": lambda folder: whisper(folder, "recorded", "recordings"),
        "smollm2": smollm2,
        "orbit": orbit,
    }
    parts[sys.argv[1]](Path(sys.argv[2]))
