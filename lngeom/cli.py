"""The command line: ``lngeom COMMAND ...``, one shell that looks outward to the packages beside the core.

Each command lives in a module of its own with two functions, ``add_arguments(parser)`` and ``run(arguments)``
(which returns the exit code). Modules are imported only when their command is asked for, so that ``lngeom --help``
and the light commands never load PyTorch.
"""

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from .errors import LngeomError


class Command(NamedTuple):
    """A command: the module that implements it, one line of help, and the extra it needs installed."""

    module: str
    help: str
    extra: str


COMMANDS: dict[str, Command] = {
    "prove": Command("proofs.commands.prove", "prove the theorems and check everything about them", "proofs"),
    "verify": Command("proofs.commands.verify", "replay every proof in Coq", "proofs"),
    "sweep": Command("empirical.commands.sweep", "measure every norm layer of a model on a text", "empirical"),
    "merge": Command("empirical.commands.merge", "merge runs of one model on parts of a text", "empirical"),
    "report": Command("empirical.commands.report", "make figures and page of a run again", "empirical"),
    "fold": Command("empirical.commands.fold", "remove mean subtraction from a model, exactly", "empirical"),
    "ablate": Command("empirical.commands.ablate", "what mean subtraction is worth to a model, in nats", "empirical"),
    "train": Command(
        "empirical.commands.train", "train GPT-2 with LayerNorm or RMSNorm, measured on the way", "empirical"
    ),
    "study": Command("empirical.commands.study", "the controlled study: many small networks, one table", "empirical"),
    "norms": Command("empirical.commands.norms", "find the norm layers of a model by what they compute", "empirical"),
    "compare": Command("empirical.commands.compare", "set finished runs side by side", "empirical"),
    "check": Command("empirical.commands.check", "is my norm right? rounding, a variant, or a bug", "empirical"),
    "doctor": Command("empirical.commands.doctor", "is this port of a model the same model? its norms", "empirical"),
    "tolerance": Command(
        "empirical.commands.tolerance", "how far a correct norm kernel may be off, by width and dtype", "empirical"
    ),
    "claims": Command("proofs.commands.claims", "what the papers say, and what is true", "proofs"),
    "figure": Command("empirical.commands.figure", "draw pictures of the geometry", "empirical"),
}
"""All commands by name, in the order of ``lngeom --help``."""


_KEPT = "then run the same command again: what is finished is kept"
_ADVICE = {errno.ENOSPC: f"free space, {_KEPT}", errno.EFBIG: f"raise the limit of a file's size, {_KEPT}"}


class _Version(argparse.Action):
    """Says the version, which is read only then: that takes a tenth of the time of ``import numpy``."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, values: object, option_string: str | None = None
    ) -> None:
        from . import __version__

        print(f"lngeom {__version__}")
        parser.exit()


def _outline() -> str:
    width = max(map(len, COMMANDS), default=0)
    return "\n".join(f"  {name:<{width}}  {command.help}" for name, command in COMMANDS.items())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 fine, 1 checks failed, 2 bad input)."""
    parser = argparse.ArgumentParser(
        prog="lngeom",
        description="The geometry of LayerNorm and RMSNorm: proved for every dimension, measured on real models.",
        epilog=f"commands:\n{_outline()}\n\n`lngeom COMMAND --help` shows the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="what to do, see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its options")
    chosen = parser.parse_args(argv)
    command = COMMANDS[chosen.command]
    try:
        module = importlib.import_module(command.module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("lngeom", "proofs", "empirical"):
            raise
        print(
            f"lngeom {chosen.command}: needs the package {error.name!r}; "
            f"install it with: pip install 'lngeom[{command.extra}]'",
            file=sys.stderr,
        )
        return 2
    subparser = argparse.ArgumentParser(
        prog=f"lngeom {chosen.command}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(subparser)
    arguments = subparser.parse_args(chosen.arguments)
    try:
        return module.run(arguments)
    except LngeomError as error:
        print(f"lngeom {chosen.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader, head for instance, has seen enough. What is left in the buffer must go somewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        advice = _ADVICE.get(error.errno or 0, "choose a place that can be read and written")
        print(f"lngeom {chosen.command}: {where}{error.strerror or error}; {advice}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):  # which is PyTorch's
            raise
        print(f"lngeom {chosen.command}: the memory is full; free some or ask for less, {_KEPT}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nlngeom {chosen.command}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
