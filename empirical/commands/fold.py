"""Move mean subtraction into the weights: centre the weights that write to the residual stream, turn each foldable
LayerNorm into an RMSNorm with the same ε, and write a certificate.

DIR gets certificate.json and a checkpoint. The stock class loads the checkpoint with LayerNorms;
lngeom.empirical.folding.load_folded loads it with RMSNorms. The certificate states that each entry of a changed weight
matrix is the exact value, rounded once. It also has the largest difference of the outputs, in the format of the weights
and in float64. MODEL may be a network from transformers. A network that cannot be folded is refused, with the reason.
With --verify, a written fold is checked again; the exit code is 1 if something is wrong.

Examples:
    lngeom fold gpt2 --gains --out runs/gpt2-folded
    lngeom fold models/llama --to layernorm --out runs/llama-twin
    lngeom fold gpt2 --verify runs/gpt2-folded
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lngeom.files import Json
from lngeom.options import option

from ._rewrite import Rewrite, matrices, new_folder, rewrite

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ..folding import Fold


@dataclass(frozen=True)
class Options(Rewrite):
    """How a model is folded."""

    output: Path | None = option(
        None,
        "directory of the new model (default: runs/NAME-folded; with --to layernorm, runs/NAME-layernorm)",
        metavar="DIR",
        type=new_folder,
    )
    gains: bool = option(
        False, "also move the gains and biases of norms, including RMSNorms, into the weights that read them"
    )
    to: Literal["rmsnorm", "layernorm"] = option(
        "rmsnorm",
        "layernorm: write a Llama network as a network of class OLMo, whose norms are LayerNorms and whose hidden "
        "states have one more dimension",
    )


def run(options: Options) -> int:

    def change(network: "PreTrainedModel", *_: object) -> tuple["Fold", Json]:
        from ..folding import fold, layernorm_twin

        return layernorm_twin(network) if options.to == "layernorm" else fold(network, gains=options.gains), {}

    return rewrite(options, "folded" if options.to == "rmsnorm" else "layernorm", change, _summary)


def _summary(certificate: Json) -> list[str]:
    lifted = sum(entry["change"] == "lifted" for entry in certificate["maps"])
    count, form = (
        (len(certificate["moved"]), "RMSNorms by LayerNorms without parameters")
        if lifted
        else (len(certificate["norms"]), "LayerNorms by RMSNorms")
    )
    maps = lifted or len(certificate["maps"])
    lines = [f"replaced {count} {form}; certified {matrices(maps)}"]
    if not lifted:
        lines.append(
            "lngeom.empirical.folding.load_folded loads the new checkpoint with RMSNorms; the stock class loads "
            "it with LayerNorms"
        )
    if certificate["entries"]:
        lines.append(f"the mean is subtracted once at {', '.join(path for path, _ in certificate['entries'])}")
    if certificate["moved"]:
        lines.append(f"gain and bias of {len(certificate['moved'])} norms moved into the weights that read them")
    return lines + [f"{path}: {reason}" for path, reason in certificate["kept"].items()]
