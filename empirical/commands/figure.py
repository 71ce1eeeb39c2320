"""Draw pictures of the geometry: what LayerNorm does to vectors of three components, computed by the library itself.

``lngeom figure --list`` shows their names; ``lngeom figure all`` draws every one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lngeom._errors import InputError

from ..illustrations import FIGURES, save
from ..illustrations._gallery import FORMATS

ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"figures to draw, or {ALL}")
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("figures"), help="directory (default: %(default)s)"
    )
    parser.add_argument("--format", choices=FORMATS, default="svg", help="file format (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    if arguments.list:
        width = max(map(len, FIGURES))
        for name, illustration in FIGURES.items():
            print(f"  {name:<{width}}  {illustration.shows}")
        return 0
    if not arguments.names:
        msg = f"no figure is named: give one of {', '.join(FIGURES)}, or {ALL}"
        raise InputError(msg)
    for name in FIGURES if ALL in arguments.names else arguments.names:
        print(save(name, arguments.out, format=arguments.format))
    return 0
