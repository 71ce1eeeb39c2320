"""Remove mean subtraction from a model without changing what it computes: every writer of the residual stream centred,
every LayerNorm an RMSNorm of the same ε, and a certificate that says how exactly.

DIR gets a checkpoint that the stock class loads (empirical.folding.load_folded loads the RMSNorm form) and
certificate.json: each changed map proved equal up to one rounding per entry, the largest difference of the outputs
beside the bound of rounding. MODEL may be any network of transformers; one that cannot be folded is refused, with the
reason. With --verify, a written fold is checked again.
"""

import argparse
from pathlib import Path
from typing import Any

from ._numbers import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="hub id, local directory or .gguf file")
    add("--output", "--out", metavar="DIR", help="directory of the folded model (default: runs/NAME-folded)")
    add("--gains", action="store_true", help="move gains and biases into the readers, those of RMSNorms too")
    add("--verify", metavar="DIR", help="check the certificate in DIR again; MODEL says where the original is now")
    add("--corpus", metavar="TEXT", help="what the outputs are compared on, as for lngeom ablate")
    add("--tokens", type=count, default=2_048, help="of the corpus (default: %(default)s)")
    add("--sequence-length", type=count, default=256, metavar="N", help="longest sequence (default: %(default)s)")
    add("--dtype", help="of the weights (default: that of the checkpoint)")
    add("--revision", help="branch, tag or commit of the model on the hub")
    add("--allow-pickle", action="store_true", help="load pickled weights, which can run code")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from ..support import ModelError

    if arguments.verify is None and arguments.model is None:
        raise ModelError("no model given: name one, or give --verify DIR")
    if arguments.verify is None:
        return _fold(arguments)
    from ..folding import verify_fold

    certificate, wrong = verify_fold(Path(arguments.verify), arguments.model)
    print("\n".join(f"FAILED  {line}" for line in wrong) or _summary(certificate))
    return 1 if wrong else 0


def _fold(arguments: argparse.Namespace) -> int:
    import torch

    from ..folding import cases_for, fold, sample_inputs, tensors, write_fold
    from ..models import find_model, load_network, longest_sequence, resolve_dtype
    from ..text import bundled_wikipedia, open_corpus

    source = find_model(arguments.model, arguments.revision)
    network: Any = load_network(source, allow_pickle=arguments.allow_pickle)
    if arguments.dtype is not None:
        network.to(resolve_dtype(arguments.dtype, network.config, torch.device("cpu")))
    corpus = arguments.corpus
    if corpus is None and network.main_input_name == "input_ids":
        corpus = str(bundled_wikipedia())
    if corpus is None:
        batches, named = [sample_inputs(network)], "random, seed 0"
    else:
        opened = open_corpus(corpus)
        length = min(arguments.sequence_length, longest_sequence(network.config) or arguments.sequence_length)
        found = cases_for(network, source, opened, tokens=arguments.tokens, length=length, per_document=1)
        batches = [tensors(network, [case]) for case in found]
        named = f"{sum(case.tokens for case in found)} tokens of {Path(opened.spec).name}"
    folded = fold(network, gains=arguments.gains)
    output = Path(arguments.output or f"runs/{source.name}-folded")
    print(_summary(write_fold(output, network, folded, source, batches, named)))
    print(f"written to {output}: a checkpoint for {type(network).__name__}, certificate.json")
    return 0


def _summary(certificate: dict) -> str:
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
        f"KL {compared['kl']:.3g} nats; the same first guess at {100 * compared['top1']:.2f} %"
    )
    return "\n".join(lines)
