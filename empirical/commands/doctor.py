"""Is this port the same model? Compare two forms of one model on the same tokens; name the first norm that differs.

SOURCE is a Hugging Face model directory or a GGUF file. PORT is one of these or an ONNX file, in which norms are fused
nodes or modules that torch.onnx.export recorded. Each norm of the port gets the inputs of the source's norm, so only
its own definition matters: gain offset, eps, centering, order of casts. Weights of the same name and the logits are
compared as well. The exit code is 1 if a norm or a weight differs.

Example: lngeom doctor models/llama models/llama.gguf
"""

from dataclasses import dataclass
from pathlib import Path

from lngeom.options import argument, option, seed


@dataclass(frozen=True)
class Options:
    """The two forms, and the tokens."""

    source: str = argument("SOURCE", "model directory or .gguf file: the reference")
    port: str = argument("PORT", "directory, .gguf or .onnx file that should be the same model")
    tokens: int = option(64, "length of the input")
    seed: int = option(0, "of the token ids", type=seed)


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    import torch

    from ..check import compare_models, compare_weights, described, onnx_norms
    from ..models import find_model, load_network, longest_sequence, reads_text_alone, refuse_nan_weights
    from ..support import ModelError

    source, path = load_network(find_model(options.source)), Path(options.port)
    refuse_nan_weights(source)
    port = onnx_norms(path) if path.suffix == ".onnx" else load_network(find_model(options.port))
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
    quantized = any(file.endswith(".gguf") for file in (options.source, options.port))
    compared = compare_weights(source, port, ids, quantized=quantized)
    print("\n".join(described(compared)))
    return 1 if diagnosis.first or compared.different else 0
