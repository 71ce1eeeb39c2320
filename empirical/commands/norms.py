"""Find the norm layers of a model by what they compute: kind, ε, gain or 1 + gain, bias, and what was refused and why.

MODEL is a hub id, a local directory, a .gguf file or MODULE:FUNCTION, a function that returns a model and its batches.
With --types every model type of transformers is built small, and one row a type says what is found.
"""

import argparse
import json
from typing import Any

_FOUND = ("path", "module", "kind", "eps", "placement", "d", "gain", "bias", "calls", "ratio", "reason")
_TYPES = ("type", "norms", "kinds", "missed", "reason")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="where the model comes from")
    parser.add_argument("--types", action="store_true", help="every model type of transformers instead of a model")
    parser.add_argument("--csv", metavar="FILE", help="write the table")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from pathlib import Path

    from ..support import ModelError, write_table

    if arguments.types == (arguments.model is not None):
        raise ModelError("give a MODEL or --types, one of the two")
    rows = _of_types() if arguments.types else _of_model(arguments.model)
    if arguments.csv:
        write_table(Path(arguments.csv), rows)
    if arguments.json:
        print(json.dumps(rows))
    else:
        _print(rows, _TYPES if arguments.types else _FOUND)
    return 0


def _of_types() -> list[dict[str, Any]]:
    from ..models import model_types, survey_types

    return list(survey_types(model_types()))


def _of_model(spec: str) -> list[dict[str, Any]]:
    import torch

    from ..models import find_model, load_model, norms, text_inputs
    from ..sweep import is_live, load_live

    if is_live(spec):
        model, batches = load_live(spec)
        return norms(model, next(iter(batches), None)).rows()
    loaded = load_model(find_model(spec))
    ids = torch.arange(16, device=loaded.device).reshape(1, 16) + 3
    text = getattr(loaded.model, "main_input_name", "input_ids") == "input_ids"
    return norms(loaded.model, text_inputs(loaded.model, ids) if text else None).rows()


def _print(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    from ..pages import print_rows

    shown = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
    print_rows([{name: row[name] for name in shown} for row in rows])
