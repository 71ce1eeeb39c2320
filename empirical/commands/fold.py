"""Remove mean subtraction from a model without changing what it computes: every writer of the residual stream centred,
every LayerNorm an RMSNorm of the same ε, and a certificate that says how exactly.

DIR gets a checkpoint that the stock class loads (empirical.folding.load_folded loads the RMSNorm form) and
certificate.json: each changed map proved equal up to one rounding per entry, the largest difference of the outputs
beside the bound of rounding. MODEL may be any network of transformers; one that cannot be folded is refused, with the
reason. With --verify, a written fold is checked again; the exit code is 1 if something in it is wrong.

Example: lngeom fold gpt2 --gains --out runs/gpt2-folded
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lngeom.options import argument, option


@dataclass(frozen=True)
class Options:
    """The model, how it is folded, and what the outputs are compared on."""

    model: str | None = argument("MODEL", "hub id, local directory or .gguf file", default=None)
    output: Path | None = option(None, "directory of the folded model (default: runs/NAME-folded)", metavar="DIR")
    gains: bool = option(False, "move gains and biases into the readers, those of RMSNorms too")
    verify: Path | None = option(
        None, "check the certificate in DIR again; MODEL says where the original is now", metavar="DIR"
    )
    corpus: str | None = option(None, "what the outputs are compared on, as for lngeom ablate", metavar="TEXT")
    tokens: int = option(2_048, "of the corpus")
    sequence_length: int = option(256, "longest sequence")
    dtype: str | None = option(None, "of the weights (default: that of the checkpoint)")
    revision: str | None = option(None, "branch, tag or commit of the model on the hub")
    allow_pickle: bool = option(False, "load pickled weights, which can run code")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..support import ModelError

    if options.verify is not None:
        from ..folding import verify_fold

        certificate, wrong = verify_fold(options.verify, options.model)
        print("\n".join(f"FAILED  {line}" for line in wrong) or _summary(certificate))
        return 1 if wrong else 0
    if options.model is None:
        raise ModelError("no model given: name one, or give --verify DIR")
    _fold(options, options.model)
    return 0


def _fold(options: Options, model: str) -> None:
    import torch

    from ..folding import fold, write_fold
    from ..models import find_model, load_network, refuse_lost_blocks, resolve_dtype

    source = find_model(model, options.revision)
    network: Any = load_network(source, allow_pickle=options.allow_pickle)
    refuse_lost_blocks(network, network.unused_weights)
    if options.dtype is not None:
        network.to(resolve_dtype(options.dtype, network.config, torch.device("cpu")))
    batches, named = _inputs(options, network, source)
    folded = fold(network, gains=options.gains)
    output = options.output or Path("runs", f"{source.name}-folded")
    print(_summary(write_fold(output, network, folded, source, batches, named)))
    print(f"written to {output}: a checkpoint for {type(network).__name__}, certificate.json")


def _inputs(options: Options, network: Any, source: Any) -> tuple[list[Any], str]:
    """The batches that the outputs are compared on, and what they are."""
    from ..folding import cases_for, sample_inputs, tensors
    from ..text import bundled_wikipedia, open_corpus

    corpus = options.corpus
    if corpus is None and network.main_input_name == "input_ids":
        corpus = str(bundled_wikipedia())
    if corpus is None:
        return [sample_inputs(network)], "random, seed 0"
    opened = open_corpus(corpus)
    length = options.sequence_length
    chosen = cases_for(network, source, opened, tokens=options.tokens, length=length, per_document=1)
    tokens = sum(case.tokens for case in chosen)
    return [tensors(network, [case]) for case in chosen], f"{tokens} tokens of {Path(opened.spec).name}"


def _summary(certificate: dict[str, Any]) -> str:
    compared = certificate["compared"]
    lines = [f"{len(certificate['norms'])} LayerNorms are RMSNorms, {len(certificate['maps'])} maps certified"]
    if certificate["entries"]:
        lines.append(f"the mean is subtracted once at {', '.join(path for path, _ in certificate['entries'])}")
    if certificate["moved"]:
        lines.append(f"gain and bias of {len(certificate['moved'])} norms moved into their readers")
    lines += [f"{path}: {reason}" for path, reason in certificate["kept"].items()]
    lines.append(
        f"{compared['outputs']} outputs ({compared['inputs']}): largest difference "
        f"{compared['largest_difference']:.3g}, bound of {compared['dtype']} rounding {compared['bound']:.3g}, "
        f"{compared['probable_bound']:.3g} if roundings are independent; "
        f"there in float64 {compared['difference_in_float64']:.3g}, bound {compared['bound_in_float64']:.3g}; "
        f"KL {compared['kl']:.3g} nats; the same top-1 at {100 * compared['top1']:.2f} %"
    )
    return "\n".join(lines)
