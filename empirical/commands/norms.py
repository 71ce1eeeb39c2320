"""Find the norm layers of a model by what they compute. List the layers that were rejected, with the reason.

MODEL is a hub id, a local directory, a .gguf file or MODULE:FUNCTION, a function that returns a model and its batches.
In the table, gain and bias name the parameters; "1 + weight" means that the norm multiplies by 1 plus the parameter
weight. calls is the number of calls in one forward pass.

Examples:
    lngeom norms gpt2
    lngeom norms models/llama --json norms.json
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lngeom.options import argument, json_alone, json_option

from ..support import Row

_FOUND = ("path", "module", "kind", "eps", "placement", "d", "gain", "bias", "calls", "ratio", "reason")


@dataclass(frozen=True)
class Options:
    """The model, and where the table goes."""

    model: str = argument("MODEL", "the model")
    json: str | None = json_option("the table")


def run(options: Options) -> int:
    from ..pages import print_rows

    rows = _rows(options.model)
    if not json_alone(rows, options.json):
        shown = [{**row, "gain": f"1 + {row['gain']}" if row["gain_offset"] else row["gain"]} for row in rows]
        columns = [name for name in _FOUND if any(row[name] not in (None, "") for row in shown)]
        if rows:
            print_rows([{name: row[name] for name in columns} for row in shown])
            print("placement: where eps is added, inside or outside the root")
            print("ratio: largest error of the outputs, divided by what rounding allows; at most 1 if a norm is right")
        else:
            print("no norm was found")
    return 0


def _rows(spec: str) -> Sequence[Row]:
    from ..models import find_model
    from ..sweep import is_live

    source = None if is_live(spec) else find_model(spec)  # which is refused before PyTorch is loaded
    import torch
    from rich.console import Console

    from ..models import load_model, longest_sequence, norms, text_inputs, unused_line
    from ..support import say
    from ..sweep import load_live

    if source is None:
        model, batches = load_live(spec)
        return norms(model, next(iter(batches), None)).rows()
    loaded = load_model(source)
    if loaded.unused:
        say(Console(stderr=True), unused_line(loaded.unused))
    length = min(16, longest_sequence(loaded.config) or 16)
    ids = (torch.arange(length, device=loaded.device)[None] + 3) % (getattr(loaded.config, "vocab_size", None) or 16)
    text = getattr(loaded.model, "main_input_name", "input_ids") == "input_ids"
    return norms(loaded.model, text_inputs(loaded.model, ids) if text else None).rows()
