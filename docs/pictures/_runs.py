"""A measured model as pictures show it, from the committed table of its run."""

from pathlib import Path

from empirical.observe import read_sites
from empirical.support import Rows

NAME = "smollm2"
ROWS = read_sites(Path(__file__).parents[1] / "results" / NAME / "sites.csv")


def entering() -> Rows:
    """The rows of all vectors that enter each norm."""
    return [row for row in ROWS if (row["side"], row["bucket"]) == ("input", "all")]


def entering_blocks(column: str) -> list[float]:
    """A column for the residual stream before each block and before the final norm, first positions left out.

    Each vector counts once: that of a block is the one its first norm reads.
    """
    rows = [row for row in ROWS if (row["side"], row["bucket"]) == ("input", "rest")]
    blocks = {row["layer"]: row[column] for row in reversed(rows) if row["layer"] is not None}
    last = [row[column] for row in rows if row["role"] == "final"]
    return [*(blocks[layer] for layer in sorted(blocks)), *last]
