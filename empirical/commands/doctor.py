"""Is this port the same model? Compare two forms of one model; one verdict, with the first layer that differs.

SOURCE is a Hugging Face model directory or a GGUF file. PORT is one of these, or weights by themselves (safetensors,
.pt, .npz) under the names of vLLM, Meta, MLX or nanoGPT. If no config.json is beside the weights, they get the
architecture of the source.

The first line has PASS or FAIL and one of four verdicts. "same function": in float64 both give the same outputs, within
the bound of rounding. "same up to the stored format": they do so once the weights of one are rounded to the format that
the verdict names. "different": the line names the first layer whose output differs although its input is the same, and
the change, if lngeom has a name for it. "not shown to be the same": the line says what was not compared. The last line
says what was not tested. The exit code is 0 if the verdict begins with "same", else 1.

Examples:
    lngeom doctor models/llama models/llama.gguf
    lngeom doctor gpt2 converted --json port.json
"""

from collections import ChainMap
from dataclasses import dataclass
from pathlib import Path

from lngeom.options import argument, json_alone, json_option, option, printable, seed


@dataclass(frozen=True)
class Options:
    """The two forms, and the tokens."""

    source: str = argument("SOURCE", "model directory or .gguf file: the reference")
    port: str = argument("PORT", "directory or file of weights that should be the same model")
    tokens: int = option(64, "length of the longest input, but longer ones where a difference shows in no shorter one")
    seed: int = option(0, "seed of the token ids", type=seed)
    allow_pickle: bool = option(False, "load pickled weights, which can run code")
    json: str | None = json_option("verdict, reason, evidence and what was not tested")


def run(options: Options) -> int:
    from .. import models
    from ..porting import Drawn, examine, gguf_types, renamed
    from ..support import ModelError

    source = models.load_network(models.find_model(options.source), allow_pickle=options.allow_pickle)
    configured = Path(options.port, "config.json").is_file()
    networks, notes, unread = {options.source: source}, (), ""
    try:
        networks[options.port] = models.load_network(models.find_model(options.port), allow_pickle=options.allow_pickle)
    except models.QuantizedError:
        raise
    except ModelError:
        like = models.empty_network(models.find_model(options.port)) if configured else source
        if (port := renamed(like, Path(options.port))) is None:
            raise
        networks[options.port], notes, unread = port
    models.refuse_nan_weights(source)
    for network in networks.values():
        if not models.reads_text_alone(network):
            msg = f"{type(network).__name__} reads more than a text; lngeom check examines its norms by themselves"
            raise ModelError(msg)
    size = min(network.config.get_text_config().vocab_size for network in networks.values())
    positions = (models.longest_sequence(network.config) for network in networks.values())
    longest = min(filter(None, positions), default=options.tokens)
    drawn = Drawn(size, longest, options.tokens, options.seed)
    files = [gguf_types(each, Path(name)) for name, each in networks.items() if Path(name).suffix == ".gguf"]
    examined = examine(source, networks[options.port], drawn, dict(ChainMap(*files)))
    told = {each: getattr(examined, each) for each in ("verdict", "reason", "evidence")}
    told["evidence"] = (*(f"read from {options.port}: {each}" for each in notes), *examined.evidence)
    left = (*([unread] if unread and not configured else []), *examined.left)
    if not json_alone(told | {"not_examined": left}, options.json):
        mark = "PASS" if examined.same else "FAIL"
        print(printable("\n".join((f"{mark} {examined.verdict}: {examined.reason}", *told["evidence"]))))
        print(f"not tested: {'; '.join(left)}")
    return 0 if examined.same else 1
