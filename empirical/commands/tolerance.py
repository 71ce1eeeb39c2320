"""How far a correct norm kernel may be off: the derived bound for each width and dtype, as a table or JSON.

Each number is for one row: the d quantiles of a normal distribution in ascending order, with deviation 1 and mean
RATIO, rounded to the dtype, without gain. On this row, no component of a correct kernel's output (or of one with the
declared algorithm) is farther from the exact value. A kernel within the bound may still be wrong. Other rows of the
same width may allow more; lngeom.tolerance(x) gives the bound for a row x.

Examples:
    lngeom tolerance
    lngeom tolerance --kind rmsnorm --d 4096 --dtype bfloat16 --json tolerance.json
"""

import itertools
import math
from dataclasses import dataclass
from typing import Literal

from lngeom.options import json_alone, json_option, option

from ..support import Row

Format = Literal["float64", "float32", "bfloat16", "float16"]


@dataclass(frozen=True)
class Options:
    """The rows, the declared properties of the kernel, and where the bounds go."""

    kind: Literal["layernorm", "rmsnorm"] = option("layernorm", "the norm (default: layernorm)")
    eps: float = option(1e-5, "ε")
    d: tuple[int, ...] = option((64, 1024, 4096), "widths (default: 64 1024 4096)", metavar="D")
    dtype: tuple[Format, ...] = option(("float32", "bfloat16", "float16"), "formats (default: all but float64)")
    ratio: tuple[float, ...] = option((1.0, 1e2, 1e4), "|μ|/σ of the row (default: 1 100 10000)", metavar="R")
    algorithm: Literal["two-pass", "merged", "one-pass"] | None = option(None, "default: two-pass or merged")
    json: str | None = json_option("the rows, with error null where there is no bound,", any_name=True)


def run(options: Options) -> int:
    from ..pages import print_rows

    rows = [_row(options, *case) for case in itertools.product(options.dtype, options.d, options.ratio)]
    if not json_alone(rows, options.json):
        print_rows(rows)
        print(f"based on {_theorem(options)}")
    return 0


def _theorem(options: Options) -> str:
    """The theorem in Coq behind the bounds, and the part derived by hand."""
    if options.algorithm == "one-pass":
        return "a derivation by hand"
    if options.kind == "rmsnorm":
        return "Family.rms_norm_never_accused (Coq)"
    if options.algorithm == "two-pass":
        return "Family.subtracting_never_accused, Means.divided_mean_error (Coq); by hand: sums that no order rounds"
    merged = "Merging.merged_mean, Variances.merged_variance_error (Coq); by hand: parts merged into smaller ones"
    return merged if options.algorithm else f"Family.layer_norm_never_accused, {merged}"


def _row(options: Options, dtype: str, d: int, ratio: float) -> Row:
    from statistics import NormalDist

    import numpy

    import lngeom
    from lngeom.rounding import rounded

    if not (math.isfinite(ratio) and ratio >= 0) or not 2 <= d <= 2**24:
        msg = f"--d {d} --ratio {ratio:g}: a row of deviation 1 takes d from 2 to 2^24 and a finite ratio |μ|/σ >= 0"
        raise lngeom.errors.InputError(msg)
    normal = numpy.array([NormalDist().inv_cdf((i + 0.5) / d) for i in range(d)])
    x = rounded(normal / normal.std() + ratio, dtype).astype(numpy.float64)
    told = {"kind": options.kind, "dtype": dtype, "d": d, "ratio": ratio}
    # Near a large mean the numbers of a format are farther apart than 1: no such row can be stored.
    spread = x.std() if numpy.isfinite(x).all() else 0.0
    if not 0.5 <= spread <= 2:
        return {**told, "error": None, "note": f"{dtype} has no such row"}
    names = ("eps", "kind", "algorithm")
    low, high = lngeom.tolerance(x, dtype=dtype, **{name: getattr(options, name) for name in names}).box
    norms = {"layernorm": lngeom.layer_norm, "rmsnorm": lngeom.rms_norm}
    exact = norms[options.kind](x.astype(numpy.longdouble), eps=options.eps)
    # Not the half-width: where the error of the variance is large the interval is longer on one side.
    error = float(numpy.maximum(high - exact, exact - low).max())
    if not math.isfinite(error):
        return {**told, "error": None, "note": "no bound"}
    vacuous = error > float(abs(exact).max())
    return {**told, "error": error, "note": "larger than every output: no digit is certain" if vacuous else ""}
