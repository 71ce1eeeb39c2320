"""Write a checkpoint with different hidden states and the same outputs, with a certificate.

The angle between hidden states and the all-ones vector 1 can depend on how the weights are stored. If every reader of
the stream reads it through a LayerNorm, a constant can be added to what is written to the stream (--shift). With
RMSNorms whose gains are folded into the readers, the stream can be rotated (--rotate). A network that does not allow
the change is refused, with the reason. Rounding each weight once more changes the top-1 token at some number of
positions; a change is also refused if it changes the token at more than twice that number.

DIR gets a checkpoint that the stock class loads, and certificate.json, with the mean angle before every norm in the
original and in the new network. --angle and --rotate dominant are fitted to every other document of the text; angles
are reported for both halves. With --verify, a written checkpoint is checked again; the exit code is 1 if it is wrong.

Examples:
    lngeom gauge gpt2 --angle 45 --out runs/gpt2-45
    lngeom gauge models/llama --rotate 7 --out runs/llama-rotated
    lngeom gauge gpt2 --verify runs/gpt2-45
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lngeom.files import Json
from lngeom.options import option

from ._rewrite import Rewrite, matrices, new_folder, rewrite

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ..folding import Batches, Fold


@dataclass(frozen=True)
class Options(Rewrite):
    """Which gauge."""

    output: Path | None = option(None, "new directory (default: runs/NAME-gauge)", metavar="DIR", type=new_folder)
    shift: float | None = option(None, "LayerNorm networks: add C to each component where a stream begins", metavar="C")
    angle: float | None = option(
        None,
        "mean angle to the all-ones vector: at each LayerNorm whose input can be shifted separately; for RMSNorms, "
        "over all of them",
        metavar="DEGREES",
    )
    rotate: str | None = option(
        None,
        "RMSNorm networks: a seed, or 'dominant' (reflects the mean direction of the states onto the all-ones vector)",
        metavar="HOW",
    )


def run(options: Options) -> int:
    from ..support import ModelError

    if options.verify is None and [options.shift, options.angle, options.rotate].count(None) != 2:
        raise ModelError("give one of --rotate HOW, --shift C and --angle DEGREES")

    for name in ("shift", "angle"):
        if not math.isfinite(number := getattr(options, name) or 0.0):
            raise ModelError(f"--{name} {number}: give a finite number")
    fits = options.angle is not None or options.rotate == "dominant"

    def change(network: "PreTrainedModel", fitted: "Batches", held_out: "Batches") -> tuple["Fold", Json]:
        from ..folding import angles_of

        if fits and not (fitted and held_out):
            msg = "it is fitted to half of the documents and measured on the rest; give --corpus with two or more"
            raise ModelError(f"--{'angle' if options.angle is not None else 'rotate dominant'}: {msg}")
        changed = _changed(options, network, fitted)
        told = {"fitted_angles": fitted, "angles": held_out} if fits else {"angles": [*fitted, *held_out]}
        both = network, changed.checkpoint
        return changed, {name: angles_of(both, batches) for name, batches in told.items()}

    return rewrite(options, "gauge", change, _summary)


def _changed(options: Options, network: "PreTrainedModel", fitted: "Batches") -> "Fold":
    from ..folding import direction_at, dominant, find_norms, rotate, sample_inputs, shift
    from ..observe import random_rotation, reflection
    from ..support import ModelError

    norms = find_norms(network, sample_inputs(network))
    layer = next(norm.kind for norm in norms.values() if norm.d == network.config.hidden_size) == "layernorm"
    how = options.rotate
    if options.shift is not None or (how is None and layer):
        return shift(network, fitted, amount=options.shift, degrees=options.angle)
    if how is None:
        rotation = reflection(direction_at(network, fitted, options.angle or 0.0))
    elif how == "dominant":
        rotation = reflection(dominant(network, fitted))
    elif how.isdecimal() and len(how) < 20:
        rotation = random_rotation(network.config.hidden_size, int(how))
    else:
        raise ModelError(f"--rotate {how}: give a seed, a whole number from 0, or 'dominant'")
    return rotate(network, rotation)


def _summary(certificate: Json) -> list[str]:
    lines = []
    told = {"fitted_angles": ", texts used for fitting", "angles": ", held-out texts"}
    for name in [name for name in told if name in certificate]:
        spread = [
            f"{sum(angles) / len(angles):.2f}° ({min(angles):.2f}° to {max(angles):.2f}° over the norms)"
            for angles in zip(*certificate[name].values(), strict=True)
        ]
        where = told[name] if "fitted_angles" in certificate else ""
        norms = f"mean angle to the all-ones vector at {len(certificate[name])} norm inputs{where}"
        lines.append(f"{norms}: {spread[0]} -> {spread[1]}")
    lines.append(f"certified {matrices(len(certificate['maps']))}")
    return lines + [f"{path}: {reason}" for path, reason in certificate["kept"].items()]
