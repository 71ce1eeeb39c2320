"""Find the norm layers of a model by what they compute: kind, ε, gain or 1 + gain, bias, and what was refused and why.

MODEL is a hub id, a local directory, a .gguf file or MODULE:FUNCTION, a function that returns a model and its batches.
With --types every model type of transformers is built small; the table has one row per type.

Example: lngeom norms gpt2 --csv norms.csv
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lngeom.options import argument, json_alone, json_option, option

from ..support import Row

_FOUND = ("path", "module", "kind", "eps", "placement", "d", "gain", "bias", "calls", "ratio", "reason")
_TYPES = ("type", "norms", "kinds", "missed", "reason")


@dataclass(frozen=True)
class Options:
    """The model, and where the table goes."""

    model: str | None = argument("MODEL", "where the model comes from", default=None)
    types: bool = option(False, "every model type of transformers instead of a model")
    csv: Path | None = option(None, "write the table", metavar="FILE")
    json: str | None = json_option("the table")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..pages import print_rows
    from ..support import ModelError, write_table

    if options.types == (options.model is not None):
        raise ModelError("give a MODEL or --types, one of the two")
    rows = _of_types() if options.model is None else _of_model(options.model)
    if options.csv is not None:
        write_table(options.csv, rows)
    if not json_alone(rows, options.json):
        columns = _TYPES if options.types else _FOUND
        shown = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
        print_rows([{name: row[name] for name in shown} for row in rows])
    return 0


def _of_types() -> Sequence[Row]:
    from ..models import survey_types

    return list(survey_types())


def _of_model(spec: str) -> Sequence[Row]:
    import torch
    from rich.console import Console

    from ..models import find_model, load_model, longest_sequence, norms, text_inputs, unused_line
    from ..support import say
    from ..sweep import is_live, load_live

    if is_live(spec):
        model, batches = load_live(spec)
        return norms(model, next(iter(batches), None)).rows()
    loaded = load_model(find_model(spec))
    if loaded.unused:
        say(Console(stderr=True), unused_line(loaded.unused))
    length = min(16, longest_sequence(loaded.config) or 16)
    ids = (torch.arange(length, device=loaded.device)[None] + 3) % (getattr(loaded.config, "vocab_size", None) or 16)
    text = getattr(loaded.model, "main_input_name", "input_ids") == "input_ids"
    return norms(loaded.model, text_inputs(loaded.model, ids) if text else None).rows()
