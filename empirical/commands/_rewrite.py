"""Shared by `lngeom fold` and `lngeom gauge`: read a network, change it without changing its outputs, write it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lngeom.files import Json
from lngeom.options import argument, folder, json_alone, json_option, option, printable

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ..folding import Batches, Fold

    Rewriting = Callable[[PreTrainedModel, Batches, Batches], tuple[Fold, Json]]


def new_folder(text: str) -> Path:
    """The argument of --output."""
    return Path(folder(text))


def matrices(count: int) -> str:
    """So many changed weight matrices, in words."""
    return f"{count} changed weight {'matrix' if count == 1 else 'matrices'}"


@dataclass(frozen=True)
class Rewrite:
    """The model, its output folder, and the text on which outputs are compared."""

    model: str | None = argument("MODEL", "hub id, local directory or .gguf file", default=None)
    output: Path | None = None  # an option of the command, which names the default
    verify: Path | None = option(None, "check the certificate in DIR again, with MODEL as the original", metavar="DIR")
    corpus: str | None = option(None, "text or token ids to compare outputs on, as for lngeom ablate", metavar="TEXT")
    inputs: Path | None = option(
        None,
        "an .npz file with one batch, its inputs by name; the model is traced and compared on this batch",
        metavar="FILE",
    )
    tokens: int = option(2_048, "at least so many tokens to predict, in whole sequences, if the corpus has them")
    sequence_length: int = option(256, "longest sequence")
    dtype: str | None = option(None, "format of the weights (default: the checkpoint's)")
    revision: str | None = option(None, "branch, tag or commit of the model on the hub")
    allow_pickle: bool = option(False, "load pickled weights, which can run code")
    json: str | None = json_option("the certificate and the errors found in it")


def rewrite(options: Rewrite, suffix: str, change: "Rewriting", summary: Callable[[Json], list[str]]) -> int:
    """Write what `change(network, batches of every other document, of the rest)` makes; or verify it."""
    from ..models import find_model
    from ..support import ModelError

    source = None if options.model is None or options.verify else find_model(options.model, options.revision)
    import torch  # after the refusals that do not need it

    from ..folding import compared_on, describe_comparison, refuse_existing, write_fold
    from ..models import load_network, refuse_lost_blocks, refuse_nan_weights, resolve_dtype

    if options.verify is not None:
        from ..folding import NOT_CHECKED, verify_fold

        certificate, wrong = verify_fold(options.verify, options.model)
        kind = "gauge" if "angles" in certificate else "fold"
        if not wrong and (kind == "gauge") != (suffix == "gauge"):
            msg = f"this is the certificate of a {kind}; give it to lngeom {kind} --verify"
            raise ModelError(f"{options.verify}: {msg}")
        left = [name for name in NOT_CHECKED if kind == "gauge" or "angles" not in name]
        end = f"measured on the inputs of the largest difference; not checked in the certificate: {', '.join(left)}"
        if wrong:
            told = [f"FAIL {options.verify}: not what its certificate says", *(f"  {line}" for line in wrong)]
        else:
            told = [f"PASS {options.verify}", *summary(certificate), *describe_comparison(certificate["compared"]), end]
        if not json_alone({"faults": wrong, "not_checked": left, "certificate": certificate}, options.json):
            print("\n".join(printable(line.replace("\n", "?")) for line in told))
        return 1 if wrong else 0
    if source is None:
        raise ModelError("no model given: name one, or give --verify DIR")
    refuse_existing(output := options.output or Path("runs", f"{source.name}-{suffix}"))
    network: Any = load_network(source, allow_pickle=options.allow_pickle)
    refuse_lost_blocks(network, network.unused_weights)
    refuse_nan_weights(network)
    if options.dtype is not None:
        network.to(resolve_dtype(options.dtype, network.config, torch.device("cpu")))
    some, others, named = compared_on(
        network, source, options.corpus,
        tokens=options.tokens, length=options.sequence_length, inputs=options.inputs,
    )  # fmt: skip
    changed, more = change(network, some, others)
    certificate = write_fold(output, network, changed, source, [*some, *others], named, **more)
    if not json_alone({"faults": [], "certificate": certificate}, options.json):
        print(printable("\n".join([*summary(certificate), *describe_comparison(certificate["compared"])])))
        print(f"written to {output}: a checkpoint for {type(changed.checkpoint).__name__}, certificate.json")
    return 0
