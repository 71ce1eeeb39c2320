"""Draw pictures of the geometry: what LayerNorm does to vectors of three components, computed by the library itself.

``lngeom figure --list`` shows their names; ``lngeom figure all`` draws every one. Some show a measured model too: they
take ``--run`` and the output directory of ``lngeom sweep``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lngeom.errors import InputError

from ..pages import FORMATS

ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"figures to draw, or {ALL}")
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("figures"), help="directory (default: %(default)s)"
    )
    parser.add_argument("--run", metavar="RUN", type=Path, help="output directory of a sweep, for figures of a model")
    parser.add_argument("--format", choices=FORMATS, default="svg", help="file format (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from ..pages import FIGURES, save

    if arguments.list:
        width = max(map(len, FIGURES))
        for name, illustration in FIGURES.items():
            print(f"  {name:<{width}}  {illustration.shows}{_USE[illustration.run]}")
        return 0
    if not arguments.names:
        raise InputError(f"no figure is named: give one of {', '.join(FIGURES)}, or {ALL}")
    names = _chosen(arguments.names, drawn_from_run=arguments.run is not None)
    for name in names:
        print(save(name, arguments.out, format=arguments.format, run=arguments.run))
    return 0


_USE = {"unused": "", "optional": " (may take --run)", "required": " (needs --run)"}


def _chosen(named: Sequence[str], *, drawn_from_run: bool) -> Sequence[str]:
    """The figures to draw; a figure that cannot be drawn is an error if it was named, and said if it was not."""
    from ..pages import FIGURES

    if ALL not in named:
        if drawn_from_run and all(name in FIGURES and FIGURES[name].run == "unused" for name in named):
            raise InputError(f"--run is given, but {', '.join(named)} is not drawn from a run; leave --run out")
        return named
    if drawn_from_run:
        return list(FIGURES)
    left_out = [name for name, illustration in FIGURES.items() if illustration.run == "required"]
    print(f"left out, because --run is not given: {', '.join(left_out)}", file=sys.stderr)
    return [name for name in FIGURES if name not in left_out]
