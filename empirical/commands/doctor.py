"""Is this port the same model? Two forms of one model on the same tokens: the first norm that differs, and why.

SOURCE is a model directory of Hugging Face or a GGUF file, PORT one of these or an ONNX file, whose norms are fused
nodes or modules that torch.onnx.export noted. Each norm of the port gets the inputs of the source's norm, so that only
its own definition matters: gain offset, eps, centering, order of casts. The exit code is 1 if a norm differs.

Example: lngeom doctor models/llama models/llama.gguf
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lngeom.options import argument, option, seed


@dataclass(frozen=True)
class Options:
    """The two forms, and the tokens."""

    source: str = argument("SOURCE", "model directory or .gguf file that is right")
    port: str = argument("PORT", "directory, .gguf or .onnx file of what should be the same model")
    tokens: int = option(64, "length of the input")
    seed: int = option(0, "of the token ids", type=seed)


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    import torch

    from ..check import compare_models, onnx_norms
    from ..models import find_model, load_network, longest_sequence

    source = load_network(find_model(options.source))
    path = Path(options.port)
    port: Any = onnx_norms(path) if path.suffix == ".onnx" else load_network(find_model(options.port))
    configs: list[Any] = [model.config for model in (source, port) if not isinstance(model, list)]
    size = min(config.get_text_config().vocab_size for config in configs)
    length = min(options.tokens, *(longest_sequence(config) or options.tokens for config in configs))
    generator = torch.Generator().manual_seed(options.seed)
    diagnosis = compare_models(source, port, torch.randint(size, (1, length), generator=generator))
    if diagnosis.first is None:
        print(f"all {diagnosis.sites} norms compute the same, within rounding")
        return 0
    print(f"first norm that differs: {diagnosis.first}: {diagnosis.cause}")
    for site, cause in diagnosis.differences[1:]:
        print(f"  also {site}: {cause}")
    print(f"{len(diagnosis.differences)} of {diagnosis.sites} norms differ")
    return 1
