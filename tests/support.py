"""What tests of several rooms share."""

import contextlib
import io
import re
import subprocess
import sys
import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from lngeom.cli import main
from lngeom.empirical.observe import States

CONDITION = 64


def assert_close(mine: States, theirs: States, tokens: int) -> None:
    """Counts exactly equal, and numbers up to the roundings of float64.

    The numbers of one token are made of sums of d ≤ 16 products, whose order depends on the batch, and are summed over
    the tokens, all with one sign: (tokens + d + 8)·2⁻⁵³, times the condition of an angle taken from its cosine. That is
    1/(θ sin θ), at most `CONDITION` from 7.2° to 172.8°, where all angles of these tests are. Squared deviations are
    those from means with that error: relative to the second moment about 0, not about the mean. Components of unit
    vectors, and cosines, have both signs and are at most 1: their sum errs relative to the number of vectors.
    """
    slack = CONDITION * (tokens + 16 + 8) * 2.0**-53
    assert mine.keys() == theirs.keys()
    for key in mine:
        a, b = mine[key], theirs[key]
        scales = {"m2": b.m2 + b.tokens * b.mean**2, "units": b.units[:, -1:], "cos": b.tokens.sum()}
        for field in fields(b):
            x, y = getattr(a, field.name), getattr(b, field.name)
            allowed = 0 if y.dtype.kind == "i" else slack * scales.get(field.name, np.abs(y))
            with np.errstate(invalid="ignore"):  # a maximum of nothing is -inf
                assert x.shape == y.shape, (key, field.name)
                assert np.all((x == y) | (np.abs(x - y) <= allowed)), (key, field.name)


def said(*words: object) -> tuple[str, str]:
    """The outcome of a command and its output: "refused" in one line, "done", or anything else, which is a fault."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            code = main([str(word) for word in words])
        except SystemExit as error:  # of the parser
            code = error.code
        except Exception as error:  # what is wrong is just this: an error that no one foresaw
            return f"{type(error).__name__}: {error}", ""
    lines = errors.getvalue().strip().splitlines()
    if code == 2 and len(lines) == 1:
        return "refused", lines[0]
    return "done" if code == 0 else f"exit code {code}: {lines}", output.getvalue()


def refused(outcome: tuple[str, str], line: str) -> None:
    """Whether a command ended with just this line, in which the next step follows what is wrong."""
    assert outcome[0] == "refused", outcome
    assert re.search(line, outcome[1]), outcome
    assert re.search(r"^lngeom \w+: .+[;:] [\w`]", outcome[1])


def failed(outcome: tuple[str, str], line: str) -> str:
    """All that a command printed that found what it tests to be wrong, which has this in it."""
    assert outcome[0].startswith("exit code 1"), outcome
    assert re.search(line, outcome[1]), outcome
    return outcome[1]


def python(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """What a process of its own prints and ends with."""
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, **options)
