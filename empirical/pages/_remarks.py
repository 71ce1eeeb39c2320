"""What is remarkable in a run, in words: the first thing that a report says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..judge import ISOTROPY, Prediction
from ._measured import Measured

Row = Mapping[str, Any]


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 norm layer, 2 norm layers."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def interval(row: Row, name: str, digits: str = ".3g") -> str:
    """A value with the interval that stands beside it in a table, if it has one; minus signs are signs."""
    value, low, high = (row[name + end] for end in ("", "_low", "_high"))
    reach = "" if low is None or low != low else f" [{low:{digits}}, {high:{digits}}]"
    return f"{value:{digits}}{reach}".replace("-", "−")


def of_verdicts(predictions: Sequence[Prediction]) -> list[str]:
    """Whether the theorems held, without the null laws, which a network may reject."""
    exact = [each for each in predictions if each.theorem != ISOTROPY]
    counts = Counter(each.verdict for each in exact)
    undecided = f" {counts['undecided']:,} could not be decided." if counts["undecided"] else ""
    if counts["violated"]:
        first = next(each for each in exact if each.verdict == "violated")
        return [
            f"{counts['violated']:,} of {counted(len(exact), 'prediction')} of the theorems did not come true, the "
            f"first at {first.site}: {first.prediction}. Either a norm is not what it is taken for, or there is a bug."
            + undecided
        ]
    if not counts["holds"]:
        return [undecided.strip()] * bool(exact)
    return [f"What the theorems say came true wherever it could be decided: {counts['holds']:,} times.{undecided}"]


def of_run(rows: Sequence[Row], predictions: Sequence[Prediction]) -> list[str]:
    """The direction 1 against chance, the longest vectors, what leaving out the mean would change, and the verdicts."""
    before = [row for row in rows if row["side"] == "input" and row["bucket"] == "all" and row["tokens"] > 0]
    if not before:
        return of_verdicts(predictions)
    directions = "The direction 1, which LayerNorm removes and RMSNorm keeps, holds"
    most, least = (choose(before, key=lambda row: row["d_cos2"]) for choose in (max, min))
    above = sum(row["d_cos2_low"] is not None and row["d_cos2_low"] > 1 for row in before)
    below = sum(row["d_cos2_high"] is not None and row["d_cos2_high"] < 1 for row in before)
    lines = [
        f"{directions} more energy than an average direction before {above} of {counted(len(before), 'norm layer')}, "
        f"and less before {below}: from {interval(least, 'd_cos2')} times as much at {_place(least)} "
        f"to {interval(most, 'd_cos2')} at {_place(most)}."
    ]
    lowest = [row for row in before if row["rank_among_random"] == 0]
    if lowest:
        lines.append(
            f"Before {counted(len(lowest), 'norm layer')} it holds less energy than every random direction, "
            f"first at {_place(lowest[0])}."
        )
    apart = max((row for row in before if row["distance_mean"] is not None), key=_distance, default=None)
    if apart is not None:
        lines.append(
            "LayerNorm and RMSNorm of the same hidden states differ most at "
            f"{_place(apart)}, by {100 * apart['distance_mean']:.2g} % of the length of an output on average."
        )
    long = max(before, key=lambda row: row["norm_max"] / row["norm_mean"] if row["norm_mean"] else 0.0)
    if long["norm_max"] > 10 * long["norm_mean"]:
        lines.append(
            f"The longest hidden state before {_place(long)} is {long['norm_max'] / long['norm_mean']:.0f} times as "
            "long as they are on average."
        )
    return [*of_verdicts(predictions), *lines]


def _place(row: Row) -> str:
    return "the final norm" if row["role"] == "final" else row["site"]


def _distance(row: Row) -> float:
    return row["distance_mean"]


def of_ablation(rows: Sequence[Row], norms: Sequence[str], nats: float) -> list[str]:
    """What all changes cost together, and which norm alone is dearest."""
    said = {
        "rms_norm": "RMSNorms in the place of all LayerNorms, nothing folded, cost",
        "folded": "Folded first, the same replacement costs",
        "centred": "The mean subtracted before all norms costs",
    }
    whole = {row["change"]: row for row in rows if row["site"] == "all"}
    lines = [
        f"{words} {interval(whole[change], 'nats')} nats per token, and the first guess stays the same at "
        f"{100 * whole[change]['top1']:.4g} % of the tokens."
        for change, words in said.items()
        if change in whole
    ]
    lines.append(f"The unchanged network loses {nats:.4g} nats per token.")
    single = [row for row in rows if row["site"] in norms]
    if single:
        dearest = max(single, key=lambda row: row["nats"])
        shown = sum(row["nats_low"] > 0 for row in single)
        lines.append(
            f"Changed alone, {shown} of {counted(len(single), 'norm')} cost more than nothing with their whole "
            f"interval; the dearest is {dearest['site']}, {interval(dearest, 'nats')} nats per token."
        )
    return lines


def of_models(measured: Sequence[Measured], comparison: Sequence[Row], failures: Mapping[str, str]) -> list[str]:
    """How many models were measured, the verdicts over all, and where the published means differ most."""
    random = sum(not model.is_trained for model in measured)
    lines = [f"Measured: {counted(len(measured), 'model')}, {random or 'none'} of them with random weights."]
    lines += of_verdicts([each for model in measured for each in model.predictions])
    angles = [row for row in comparison if row["quantity"] == "hidden_angle" and row["layer"] is None]
    apart = max((row for row in angles if row["difference"] is not None), key=_difference, default=None)
    if apart is not None:
        lines.append(
            f"Of the mean angles with 1, that of {apart['model']} is farthest from the published one: "
            f"{apart['measured_mean']:.2f}° beside {apart['published_mean']:.2f}°."
        )
    return [*lines, *(f"{name} was not measured: {reason}" for name, reason in failures.items())]


def _difference(row: Row) -> float:
    return abs(row["difference"])


def of_training(rows: Sequence[Row]) -> list[str]:
    """What became of the direction 1 before the final norm, and where it fell most."""
    fallen = min(rows, key=lambda row: row["d_cos2"] / row["start"] if row["start"] else 1.0)
    chosen = {row["site"]: row for row in (rows[-1], fallen)}
    return [
        f"Before the {row['label']} the direction 1 began with {row['start']:.3g} times the energy of an average "
        f"direction and ended with {interval(row, 'd_cos2')}, above {row['rank_among_random']} of {row['directions']} "
        "random directions."
        for row in chosen.values()
    ]
