"""Is this port the same model? Compare two forms of one model on the same tokens; name the first norm that differs.

SOURCE is a Hugging Face model directory or a GGUF file. PORT is one of these or an ONNX file, in which norms are fused
nodes or modules that torch.onnx.export recorded. Each norm of the port gets the inputs of the source's norm, so only
its own definition matters: gain offset, eps, centering, order of casts. Weights of the same name and the logits are
compared as well. The exit code is 1 if a norm or a weight differs.

Without PORT, check the conventions of one checkpoint: what its stored gains show, and whether the loss on a text is
lower with gain 1 + w or w - 1, another eps, or the other kind of norm. The exit code is 1 if so.

Example: lngeom doctor models/llama models/llama.gguf
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lngeom.options import argument, option, seed

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Options:
    """The two forms, and the tokens."""

    source: str = argument("SOURCE", "model directory or .gguf file: the reference, or the one to examine")
    port: str | None = argument(
        "PORT", "directory, .gguf or .onnx file that should be the same model", default=None, nargs="?"
    )
    tokens: int = option(64, "length of the input, or of each document")
    documents: int = option(8, "without PORT: number of documents of the text")
    corpus: str | None = option(None, "without PORT: the text, as for lngeom ablate", metavar="TEXT")
    least: float = option(0.02, "without PORT: report a convention that saves at least X nats per token")
    seed: int = option(0, "of the token ids", type=seed)


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..models import find_model, load_network, refuse_nan_weights

    source = load_network(find_model(options.source))
    refuse_nan_weights(source)
    return _examined(source, options) if options.port is None else _compared(source, options.port, options)


def _compared(source: "PreTrainedModel", name: str, options: Options) -> int:
    import torch

    from ..check import compare_models, compare_weights, described, onnx_norms
    from ..models import find_model, load_network, longest_sequence, reads_text_alone
    from ..support import ModelError

    path = Path(name)
    port = onnx_norms(path) if path.suffix == ".onnx" else load_network(find_model(name))
    for network in (source, port):
        if not isinstance(network, list) and not reads_text_alone(network):
            msg = f"{type(network).__name__} reads more than a text; lngeom check examines its norms by themselves"
            raise ModelError(msg)
    configs = [model.config for model in (source, port) if not isinstance(model, list)]
    size = min(config.get_text_config().vocab_size for config in configs)
    length = min(options.tokens, *(longest_sequence(config) or options.tokens for config in configs))
    generator = torch.Generator().manual_seed(options.seed)
    ids = torch.randint(size, (1, length), generator=generator)
    diagnosis = compare_models(source, port, ids)
    if diagnosis.first is None:
        print(f"all {diagnosis.sites} norms compute the same, within rounding")
    else:
        print(f"first norm that differs: {diagnosis.first}: {diagnosis.cause}")
        for site, cause in diagnosis.differences[1:]:
            print(f"  also {site}: {cause}")
        print(f"{len(diagnosis.differences)} of {diagnosis.sites} norms differ")
    if isinstance(port, list):
        print("weights and logits: not compared with an ONNX file")
        return 1 if diagnosis.first else 0
    quantized = any(file.endswith(".gguf") for file in (options.source, name))
    compared = compare_weights(source, port, ids, quantized=quantized)
    print("\n".join(described(compared)))
    return 1 if diagnosis.first or compared.different else 0


def _examined(network: "PreTrainedModel", options: Options) -> int:
    from ..check import conventions, fingerprints
    from ..folding import compared_on
    from ..models import find_model, reads_text_alone

    for path, what in fingerprints(network):
        print(f"{path}: {what}")
    if not reads_text_alone(network):
        print("no text was read: conventions are priced for causal language models")
        return 0
    batches, named = compared_on(
        network,
        find_model(options.source),
        options.corpus,
        tokens=options.tokens * options.documents,
        length=options.tokens,
    )
    better = conventions(network, batches, least=options.least)
    for priced in better:
        print(
            f"{priced.group}: predicts the text better if {priced.convention}: "
            f"{priced.nats:+.3g} nats a token [{priced.low:+.3g}, {priced.high:+.3g}]"
        )
    if not better:
        print(f"no other convention of its norms saves {options.least:g} nats a token on {named}")
    return 1 if better else 0
