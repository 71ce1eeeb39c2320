"""Is this port the same model? Two forms of one model on the same tokens: the first norm that differs, and why.

SOURCE is a model directory of Hugging Face or a GGUF file, PORT one of these or an ONNX file, whose norms are fused
nodes or modules that torch.onnx.export noted. Each norm of the port gets the inputs of the source's norm, so that only
its own definition matters: gain offset, eps, centering, order of casts.
"""

import argparse
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("source", metavar="SOURCE", help="model directory or .gguf file that is right")
    parser.add_argument("port", metavar="PORT", help="directory, .gguf or .onnx file of what should be the same model")
    parser.add_argument("--tokens", type=int, default=64, help="length of the input (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the token ids (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    import torch

    from ..check import compare_models, onnx_norms
    from ..models import find_model, load_network

    source = load_network(find_model(arguments.source))
    path = Path(arguments.port)
    port: Any = onnx_norms(path) if path.suffix == ".onnx" else load_network(find_model(arguments.port))
    configs: list[Any] = [model.config for model in (source, port) if not isinstance(model, list)]
    size = min(config.get_text_config().vocab_size for config in configs)
    generator = torch.Generator().manual_seed(arguments.seed)
    ids = torch.randint(size, (1, arguments.tokens), generator=generator)
    found = compare_models(source, port, ids)
    if found.first is None:
        print(f"all {found.sites} norms compute the same, within rounding")
        return 0
    print(f"first norm that differs: {found.first}: {found.cause}")
    for site, cause in found.differences[1:]:
        print(f"  also {site}: {cause}")
    print(f"{len(found.differences)} of {found.sites} norms differ")
    return 1
