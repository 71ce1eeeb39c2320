"""Draw pictures of the geometry: what LayerNorm does to vectors of three components, computed by the library itself.

``lngeom figure --list`` shows their names; ``lngeom figure all`` draws every one. Some show a measured model too: they
take ``--run`` and the output directory of ``lngeom sweep``.

Example: lngeom figure all --run runs/SmolLM2-135M --format png
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lngeom.errors import InputError
from lngeom.options import argument, option

ALL = "all"


@dataclass(frozen=True)
class Options:
    """The figures, and where they go."""

    names: tuple[str, ...] = argument("NAME", f"figures to draw, or {ALL}", default=(), nargs="*")
    list: bool = option(False, "list the figures")
    output: Path = option(Path("figures"), "directory (default: figures)", metavar="DIR")
    run: Path | None = option(None, "output directory of a sweep, for figures of a model", metavar="RUN")
    format: str = option("svg", "svg or png")


def run(options: Options) -> int:
    """Run the command; returns the exit code."""
    from ..pages import FIGURES, save

    if options.list:
        width = max(map(len, FIGURES))
        for name, illustration in FIGURES.items():
            print(f"  {name:<{width}}  {illustration.shows}{_USE[illustration.run]}")
        return 0
    if not options.names:
        raise InputError(f"no figure is named: give one of {', '.join(FIGURES)}, or {ALL}")
    for name in _chosen(options.names, drawn_from_run=options.run is not None):
        print(save(name, options.output, format=options.format, run=options.run))
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
