"""Pictures drawn from the table that a run of ``lngeom sweep`` left."""

from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from lngeom.errors import InputError

from ...support import Rows

# The packages that know the table load PyTorch: they are imported here only where a run is drawn.


class Run(NamedTuple):
    """A run as pictures use it: the name of its directory, and the rows of its table."""

    name: str
    rows: Rows


def read_run(directory: Path) -> Run:
    """The run in a directory; refused unless its ``sites.csv`` is the table of one run."""
    from ...observe import read_sites

    path = directory / "sites.csv"
    advice = "give a directory that `lngeom sweep` wrote"
    try:
        rows = read_sites(path)
        if rows and "model" in rows[0]:
            raise ValueError("it has a column 'model', so it joins several")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; {advice}") from None
    except ValueError as error:
        raise InputError(f"{path}: is not the table of one run ({error}); {advice}") from None
    if not rows:
        raise InputError(f"{path}: holds no norm layer; {advice}")
    return Run(directory.resolve().name, rows)


def entering(run: Run) -> Rows:
    """The rows of all vectors that enter each norm."""
    return [row for row in run.rows if (row["side"], row["bucket"]) == ("input", "all")]


def entering_blocks(run: Run, column: str) -> list[float]:
    """A column for the residual stream before each block and before the final norm, first positions left out.

    Each vector counts once: that of a block is the one its first norm reads.
    """
    rows = [row for row in run.rows if (row["side"], row["bucket"]) == ("input", "rest")]
    blocks = {row["layer"]: row[column] for row in reversed(rows) if row["layer"] is not None}
    last = [row[column] for row in rows if row["role"] == "final"]
    return [*(blocks[layer] for layer in sorted(blocks)), *last]


def angles_by_layer(run: Run) -> Figure:
    """Angles before the norms by layer, and below them the energy along the same directions."""
    from .._sweep_figures import layer_figure

    return layer_figure(run.rows, f"Hidden states that enter the norms: {run.name}")
