"""The command line: ``lngeom COMMAND ...``, one shell that looks outward to the packages beside the core.

Each command is a module of its own: its docstring is the help and ends with examples, ``Options`` is a dataclass of
:mod:`lngeom.options`, and ``run(options)`` returns the exit code. Modules are imported when their command is asked
for, so that ``lngeom --help`` and the light commands never load PyTorch.
"""

import argparse
import contextlib
import difflib
import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from .errors import InputError, LngeomError
from .options import STDOUT, add_options, printable, read_options

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Command(NamedTuple):
    """A command: the extra that it needs installed, and one line of help."""

    extra: str
    help: str


GROUPS: dict[str, dict[str, Command]] = {
    "is a norm right": {
        "check": Command("check", "is my norm right? rounding, a variant, or a bug"),
        "doctor": Command("empirical", "is this port the same model? one verdict"),
    },
    "what norms do in a model": {
        "sweep": Command("empirical", "measure every norm layer of a model on a text"),
        "compare": Command("empirical", "compare finished runs"),
        "norms": Command("empirical", "find the norm layers of a model by what they compute"),
    },
    "the same network, other weights": {
        "fold": Command("empirical", "remove mean subtraction from a model"),
        "gauge": Command("empirical", "the same network with other hidden states, certified"),
        "ablate": Command("empirical", "the rise of the loss without mean subtraction"),
    },
    "what is proved": {
        "prove": Command("proofs", "prove the theorems and check everything about them"),
        "verify": Command("proofs", "replay every proof in Coq"),
        "claims": Command("proofs", "what the papers say, and what is true"),
    },
}
"""All commands by group and name, in the order of ``lngeom --help``."""

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}

_KEPT = "then run the same command again: what is finished is kept"
_ADVICE = {
    errno.ENOSPC: f"free space, {_KEPT}",
    errno.EFBIG: f"raise the limit of a file's size, {_KEPT}",
    errno.EBADF: "standard output is closed: redirect it, or run the same command with --quiet",
}
_FULL = re.compile(
    "can(no|')t allocate memory|out of memory|failed to map segment|bad_alloc|can't start new thread", re.I
)
"""What PyTorch, the loader of libraries, C++ and Python say when memory is full."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints take one line."""

    silent = False

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # a full disk is told here, not at the end of the process
        super().exit(status, message)

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"(?:unrecognized arguments: |invalid choice: ')([^\s'=]+)", message)
        choices = [str(each) for action in self._actions for each in action.choices or ()]
        close = difflib.get_close_matches(wrong[1], [*choices, *self._option_string_actions], 1) if wrong else []
        meant = f"; did you mean {close[0]}?" if close else ";"
        self.exit(2, f"{self.prog}: {message}{meant} see {self.prog} --help\n")


class _Stream(io.FileIO):
    """A standard stream whose reader, head for instance, may have seen enough: the command goes on to its exit code."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            _drop(self.fileno())
            return super().write(data)


class _Version(argparse.Action):
    """Print the version, which is read only then: that takes a tenth of the time of ``import numpy``."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, *_: object) -> None:
        from . import __version__

        print(f"lngeom {__version__}")
        parser.exit()


class _Quiet(argparse.Action):
    """Leave the exit code, the files and the errors; JSON on standard output was asked for and stays."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, *_: object) -> None:
        assert isinstance(parser, _Parser), "it is an option of this one"
        parser.silent = True


class _Completion(argparse.Action):
    """Print a script for a shell that completes commands and their options."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: object, *_: object) -> None:
        import shtab  # as slow as the rest of the start

        whole = argparse.ArgumentParser(prog="lngeom")
        commands = whole.add_subparsers()
        for name, command in COMMANDS.items():
            add_options(commands.add_parser(name, help=command.help), load(name).Options)
        print(shtab.complete(whole, str(values)))
        parser.exit()


def _main_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    outline = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {command.help}" for name, command in group.items())])
        for title, group in GROUPS.items()
    )
    parser = _Parser(
        prog="lngeom",
        description="The geometry of LayerNorm and RMSNorm: proved for every dimension, measured on real models.",
        epilog=f"{outline}\n\n`lngeom COMMAND --help` shows the options of a command, and examples.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    shells = ("bash", "zsh", "tcsh")
    parser.add_argument("--completion", action=_Completion, choices=shells, help="print the completion of a shell")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="what to do, see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its options")
    return parser


def load(name: str) -> ModuleType:
    """The module of a command, beside the others of its extra."""
    outer = "" if name == "check" else "proofs." if COMMANDS[name].extra == "proofs" else "empirical."
    return importlib.import_module(f"lngeom.{outer}commands.{name}")


def command_parser(name: str, module: ModuleType) -> _Parser:
    """The parser of a command: its options, and for the help the docstring of its module."""
    parser = _Parser(
        prog=f"lngeom {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, module.Options)
    asked = ", and JSON if asked for" if "--json" in parser.format_usage() else ""
    parser.add_argument("-q", "--quiet", action=_Quiet, nargs=0, help=f"print nothing but errors{asked}")
    return parser


def _refuse_bytes(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    if odd := next((word for word in words if re.search("[\ud800-\udfff]", word)), None):
        parser.error(f"{odd!a} has bytes that are no UTF-8, and names stand in files of text: give another name")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0 fine, 1 a check failed, 2 bad input."""
    words = sys.argv[1:] if argv is None else argv
    os.environ["MPLBACKEND"] = "agg"  # figures are files
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed; a result that is lost is an error
            stream = open(os.devnull, "r" if name == "stdout" else "w")  # noqa: SIM115 - until the process ends
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        if (stream := getattr(sys, name)) is getattr(sys, f"__{name}__"):
            with contextlib.suppress(OSError):  # told when the command prints
                stream.flush()
            raw, lines = io.BufferedWriter(_Stream(stream.fileno(), "w", closefd=False)), stream.line_buffering
            setattr(sys, name, io.TextIOWrapper(raw, stream.encoding, "replace", line_buffering=lines))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    name, extra = "", ""
    try:
        parser = _main_parser()
        if not words:
            parser.print_help()
            sys.stdout.flush()
            return 0
        _refuse_bytes(parser, words)
        chosen = parser.parse_args(words)
        name = chosen.command
        extra = COMMANDS[name].extra
        if sys.flags.optimize > 1 and extra == "empirical":
            raise InputError("python -OO drops docstrings, which transformers reads; run it with -O, or without")
        os.getcwd()  # without one some libraries end the process
        module = load(name)
        parser = command_parser(name, module)
        options = read_options(parser, module.Options, chosen.arguments)
        if not parser.silent or getattr(options, "json", None) == STDOUT:
            code = module.run(options)
            sys.stdout.flush()
            return code
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            return module.run(options)
    except KeyboardInterrupt:
        print(f"\n{f'lngeom {name}'.strip()}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        line = _explained(error, extra)
        if line is None:
            raise
        print(f"{f'lngeom {name}'.strip()}: {printable(line).replace(chr(10), '?')}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:
            _drop(sys.stdout.fileno())  # what is left in the buffer must go somewhere
        return 2


def _drop(number: int) -> None:
    """Let a stream of this number lead nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is full, and nothing about the code that ran."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(out_of_memory, error.exceptions))
    says_so = isinstance(error, RuntimeError | ImportError | OSError) and _FULL.search(str(error))
    return isinstance(error, MemoryError) or bool(says_so)


def _explained(error: Exception, extra: str) -> str | None:
    """One line about an error that the user can mend; None for a fault of the program."""
    match error:
        case LngeomError():
            return str(error)
        case ModuleNotFoundError(name=str(missing)):
            top = missing.partition(".")[0]
            return None if top == "lngeom" else _absent(top, extra)
        case FileNotFoundError(errno=errno.ENOENT, filename=None):
            return "the current folder is gone; go to another one, then run the same command again"
        case _ if out_of_memory(error):
            return f"out of memory; free some or ask for less, {_KEPT}"
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            advice = _ADVICE.get(error.errno or 0, "choose a place that can be read and written")
            return f"{where}{error.strerror or error}; {advice}"
        case RuntimeError() if type(error).__name__ == "BrokenProcessPool":
            return "the system ended a process of this command, as where memory is full; run it with --jobs 1"
    return None


def _absent(package: str, extra: str) -> str:
    """Every absent package of the extra, to install by name: the line then needs no index that has lngeom."""
    from importlib import metadata  # as slow as the rest of the start

    wanted = []
    for requirement in metadata.requires("lngeom") or ():
        named, _, marker = requirement.partition(";")
        if f"'{extra}'" in marker.replace('"', "'"):
            try:
                metadata.version(re.split(r"[\s<>=!~\[]", named.strip())[0])
            except metadata.PackageNotFoundError:
                wanted.append(f"'{named.strip()}'")
    of_extra = f", with the rest of the extra {extra!r}" if wanted else ""
    return f"needs the package {package!r}{of_extra}; run: pip install {' '.join(wanted) or package}"
