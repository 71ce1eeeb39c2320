"""A measured model as pictures show it, from the committed table of its run."""

from pathlib import Path

from lngeom.empirical.observe import read_sites
from lngeom.empirical.support import Rows

NAME = "smollm2"
ROWS = read_sites(Path(__file__).parents[1] / "results" / NAME / "sites.csv")


def entering() -> Rows:
    """The rows of all vectors that enter each norm."""
    return [row for row in ROWS if (row["side"], row["bucket"]) == ("input", "all")]
