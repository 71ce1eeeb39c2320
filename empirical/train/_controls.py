"""The control arms: which direction empties where another than 1 is projected off, and what losses they end with."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..observe import student
from ..support import Rows
from ._summary import SeedMean, by, chance_of_ranks, final_losses, geometric_mean, per_seed, student_mean

MARGIN = 0.05
"""Nats per token within which two losses count as equal: about what Heimersheim, arXiv:2409.13710, finds that
GPT-2 small loses without any LayerNorm."""


@dataclass(frozen=True)
class ControlSummary:
    """One direction, ``1`` or ``u``, in one control arm after training, behind block 0, over seeds.

    ``energy`` and ``random`` are geometric means over sites of d·E[cos²θ], of it and of the median random direction;
    ``chance`` the probability of ranks so low before the head, see :func:`chance_of_ranks`.
    """

    norm: str
    optimizer: str
    direction: str
    energy: SeedMean
    random: SeedMean
    chance: float


def summarize_controls(controls: Rows) -> list[ControlSummary]:
    """Every arm and direction, in the order of the table."""
    last = max(row["step"] for row in controls)
    deep = [row for row in controls if row["step"] == last and row["site"] != "h.0"]
    summaries = []
    for (norm, optimizer, direction), rows in by(deep, "norm", "optimizer", "direction").items():
        energy, random = (geometric_mean(per_seed(rows, column)) for column in ("d_cos2", "random_d_cos2_median"))
        ranks = [row["rank_among_random"] for row in rows if row["site"] == "ln_f"]
        chance = chance_of_ranks(ranks, rows[0]["directions"])
        summaries.append(ControlSummary(norm, optimizer, str(direction), energy, random, chance))
    return summaries


def equivalence(differences: Sequence[float] | SeedMean, margin: float = MARGIN) -> str:
    r"""Test of paired losses, or of their mean, at 5 %: ``"equivalent"``, ``"different"``, both, or ``"undecided"``.

    Equivalent where the 90 % interval of the mean lies within ±`margin`, which is two one-sided tests at 5 %
    (Schuirmann 1987); different where the 95 % interval does not contain 0. A small difference can be both.

    >>> equivalence([0.010, 0.012, 0.011]), equivalence([0.2, -0.2, 0.1]), equivalence([0.5, 0.6, 0.55])
    ('equivalent, and different', 'undecided', 'different')
    """
    wide = differences if isinstance(differences, SeedMean) else student_mean(differences)
    if wide.count < 2:
        return "undecided"
    degrees = wide.count - 1
    narrow = (wide.high - wide.mean) * student(degrees, 0.9) / student(degrees)
    verdicts = {"equivalent": abs(wide.mean) + narrow <= margin, "different": not wide.low <= 0 <= wide.high}
    return ", and ".join(word for word, holds in verdicts.items() if holds) or "undecided"


def loss_against_layer_norm(controls: Rows, study: Rows) -> list[tuple[str, str, list[float]]]:
    """Held-out loss of each control arm minus that of LayerNorm with the same optimizer, decay, size and seed."""
    losses = final_losses(study)
    arms: dict[tuple[str, str], list[float]] = {}
    for (norm, cell, seed), loss in final_losses(controls).items():
        if ("layer", cell, seed) in losses:
            arms.setdefault((norm, cell[0]), []).append(loss - losses["layer", cell, seed])
    return [(*arm, pairs) for arm, pairs in arms.items()]
