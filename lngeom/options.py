"""Options of a command, stated once: the fields of a dataclass, each with its help.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Greeting:
...     names: tuple[str, ...] = argument("NAME", "whom to greet", nargs="+")
...     times: int = option(1, "how often")
...     loud: bool = option(False, "in capitals")
>>> parser = argparse.ArgumentParser()
>>> add_options(parser, Greeting)
>>> read_options(parser, Greeting, ["Ada", "Alan", "--times", "1e2"])
Greeting(names=('Ada', 'Alan'), times=100, loud=False)
>>> command_line("greet", Greeting(("Ada Lovelace",), loud=True))
"lngeom greet 'Ada Lovelace' --loud"
"""

import argparse
import itertools
import json
import math
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import MISSING, Field, field, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

REQUIRED: Any = MISSING
"""The default of an option that must be given."""

STDOUT = "-"
"""The file name that stands for standard output."""

_JSON_FILE = "FILE.json"

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""What no terminal or XML should get: control characters, also of the direction of text, and bytes that are no text."""


def printable(text: str) -> str:
    """The text with ? for every code point that is no character and every control character but newline."""
    return _CONTROL.sub("?", text)


def count(text: str) -> int:
    """An integer of at least 1, also in the form 1e6."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; write 16384 or 1e6") from None
    if not (1 <= value < 2**63 and value.is_integer()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1, below 2^63; write 16384 or 1e6")
    return int(value)


def seed(text: str) -> int:
    """A whole number from 0, below 2^63, which every generator takes."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0, below 2^63")
    return int(text)


def written(text: str) -> Path:
    """The path of a file that is to be written, told before any work where that cannot be."""
    path = Path(text)
    if text != STDOUT and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: give a file in a folder that is there")
    return path


def folder(text: str) -> str:
    """The name of a folder that is to be written."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a folder: give one")
    return text


def option(default: object, help: str, *flags: str, **settings: object) -> Any:
    """A field that is given as ``--name``, or by other flags; the help tells its default.

    The type says how it is read: int is a :func:`count`, a Literal a choice, a tuple several words, and bool a switch
    away from the default. `settings` go to :meth:`argparse.ArgumentParser.add_argument`.
    """
    return field(default=default, metadata={"flags": flags, "settings": {"help": help, **settings}})


def argument(metavar: str, help: str, *, default: object = MISSING, **settings: object) -> Any:
    """A field that is given by its place, as `metavar` in the help."""
    return field(default=default, metadata={"flags": None, "settings": {"metavar": metavar, "help": help, **settings}})


def json_option(content: str, *, any_name: bool = False) -> Any:
    """A field for ``--json [FILE]``: None if it is not given, ``-`` for standard output.

    Behind a blank FILE ends in .json unless it may have `any_name`, for the next word may be an argument of the
    command; ``--json=FILE`` may be any file.
    """
    help = f"write {content} as JSON to FILE; without FILE, print the JSON and no other output"
    read, metavar = (lambda text: str(written(text))), "FILE" if any_name else _JSON_FILE
    return option(None, help, nargs="?", const=STDOUT, metavar=metavar, type=read)


def part(kind: type[T], options: "DataclassInstance") -> T:
    """Those of the options that another dataclass has too."""
    names = {each.name for each in fields(options)}.intersection(each.name for each in fields(kind))
    return kind(**{name: getattr(options, name) for name in names})


def add_options(parser: argparse.ArgumentParser, options: type) -> None:
    """Declare the options of a dataclass: its fields with a help."""
    hints = get_type_hints(options)
    for each in fields(options):
        if "settings" in each.metadata:
            _add(parser, each, hints[each.name])


def _add(parser: argparse.ArgumentParser, each: Field, hint: object) -> None:
    flags, told = each.metadata["flags"], each.metadata["settings"]
    required = each.default is MISSING
    default = None if required else list(each.default) if isinstance(each.default, tuple) else each.default
    settings = _read_as(hint, default) | told | {"default": default}
    if isinstance(default, int | float | str) and not isinstance(default, bool) and "default" not in told["help"]:
        settings["help"] += " (default: %(default)s)"
    if settings.get("action") == "append":
        del settings["nargs"]
    if flags is None:
        names = (each.name,)
        settings = settings if required else {"nargs": "?"} | settings
    else:
        names = flags or _usual_flags(each)
        settings |= {"dest": each.name, "required": required}
    parser.add_argument(*names, **settings)


def _usual_flags(each: Field) -> tuple[str, ...]:
    if each.name == "output":
        return ("--output", "--out", "-o")
    return (f"--{'no-' * (each.default is True)}{each.name.replace('_', '-')}",)


def _read_as(hint: object, default: object) -> dict[str, Any]:
    """How argparse reads a value of a type."""
    if NoneType in get_args(hint):
        (hint,) = (kind for kind in get_args(hint) if kind is not NoneType)
    if hint is bool:
        return {"action": "store_false" if default is True else "store_true"}
    if get_origin(hint) is tuple:
        return {"nargs": "+", **_read_as(get_args(hint)[0], None)}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    readers = {int: {"type": count, "metavar": "N"}, float: {"type": float, "metavar": "X"}, Path: {"type": Path}}
    return readers.get(hint, {})


def read_options(parser: argparse.ArgumentParser, options: type[T], words: Sequence[str]) -> T:
    """The dataclass with what a command line gives."""
    if any(each.metadata.get("settings", {}).get("metavar") == _JSON_FILE for each in fields(options)):
        words = [  # --json as --json=- where the next word is an argument of the command
            f"--json={STDOUT}" if word == "--json" and following != STDOUT and not following.endswith(".json") else word
            for word, following in itertools.pairwise([*words, ""])
        ]
    values = vars(parser.parse_args(words))
    ours = {each.name: values[each.name] for each in fields(options) if each.name in values}
    return options(**{name: tuple(value) if isinstance(value, list) else value for name, value in ours.items()})


def command_line(name: str, options: "DataclassInstance") -> str:
    """The command that gives these options."""
    words = ["lngeom", name]
    for each in fields(options):
        value = getattr(options, each.name)
        if value == each.default:
            continue
        flags = each.metadata["flags"]
        words += [] if flags is None else [(flags or _usual_flags(each))[0]]
        words += [] if isinstance(value, bool) else map(str, value if isinstance(value, tuple) else [value])
    return shlex.join(words)


def _finite(value: object) -> object:
    """The value with null for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    return [_finite(entry) for entry in value] if isinstance(value, list | tuple) else value


def json_alone(value: object, file: str | None) -> bool:
    """Write a value where ``--json`` says, if it is given; returns whether standard output is for it alone."""
    if file is not None:
        text = json.dumps(_finite(value), ensure_ascii=False, indent=1, allow_nan=False)
        if file == STDOUT:
            print(text)
        else:
            Path(file).write_text(text + "\n", encoding="utf-8")
    return file == STDOUT
