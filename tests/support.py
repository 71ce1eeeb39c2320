"""What tests of several rooms share."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from lngeom.empirical.observe import States

EXACT = (
    *("tokens", "nonfinite", "underflow", "zero", "angles", "norms"),
    *("sequences", "documents", "document_tokens", "document_null_tokens"),
)
CONDITION = 64


def assert_close(mine: States, theirs: States, tokens: int) -> None:
    """Counts exactly equal, and numbers up to the roundings of float64.

    The numbers of one token are made of sums of d ≤ 16 products, whose order depends on the batch, and are summed over
    the tokens, all with one sign: (tokens + d + 8)·2⁻⁵³, times the condition of an angle taken from its cosine. That is
    1/(θ sin θ), at most `CONDITION` from 7.2° to 172.8°, where all angles of these tests are. Squared deviations are
    those from means with that error: relative to the second moment about 0, not about the mean.
    """
    slack = CONDITION * (tokens + 16 + 8) * 2.0**-53
    assert mine.keys() == theirs.keys()
    for key in mine:
        a, b = mine[key], theirs[key]
        for name in EXACT:
            assert np.array_equal(getattr(a, name), getattr(b, name)), (key, name)
        for name in ("mean", "maximum", "cos2"):
            x, y = getattr(a, name), getattr(b, name)
            assert np.array_equal(np.isfinite(x), np.isfinite(y)), (key, name)
            there = np.isfinite(y)  # a maximum of nothing is -inf
            assert np.all(np.abs(x[there] - y[there]) <= slack * np.abs(y[there])), (key, name)
        assert np.all(np.abs(a.m2 - b.m2) <= slack * (b.m2 + b.tokens * b.mean**2)), key


def growing(norms: Sequence[float], **entries: Any) -> list[dict[str, Any]]:
    """The rows of a sequential model in which the stream has these norms."""
    row = {"side": "input", "bucket": "rest", "role": "pre_attn", "norm_std": 0.0, "tokens": 4, **entries}
    blocks = [row | {"layer": layer, "norm_mean": norm} for layer, norm in enumerate(norms[:-1])]
    return [*blocks, row | {"layer": None, "role": "final", "norm_mean": norms[-1]}]


def refused(outcome: tuple[str, str], line: str) -> None:
    """Whether a command ended with just this line, in which the next step follows what is wrong."""
    assert outcome[0] == "refused", outcome
    assert re.search(line, outcome[1]), outcome
    assert re.search(r"^lngeom \w+: .+[;:] \w", outcome[1])
