"""How far a correct norm kernel may be off: the derived bound for each width and dtype, as a table, JSON or a C header.

Each number is about one row: the d quantiles of a normal distribution in ascending order, with deviation 1 and the
mean RATIO, rounded to the dtype, without gain. No backward-stable kernel, or none of the declared kind, misses a
component of the exact output by more, whatever its rounding errors; one that misses by less may still be wrong. It is
no constant for all inputs: another row of the same width may allow more, and lngeom.tolerance(x) says how much.
"""

import argparse
import itertools
import math
from typing import Any

from ._numbers import count

DTYPES = ("float64", "float32", "bfloat16", "float16")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    add = parser.add_argument
    add("--kind", choices=("layernorm", "rmsnorm"), default="layernorm", help="default: %(default)s")
    add("--eps", type=float, default=1e-5, help="ε (default: %(default)s)")
    add("--d", type=count, nargs="+", default=[64, 1024, 4096], metavar="D", help="default: 64 1024 4096")
    add("--dtype", choices=DTYPES, nargs="+", default=list(DTYPES[1:]), help="formats of input and output")
    add("--ratio", type=float, nargs="+", default=[1.0, 1e2, 1e4], metavar="R", help="|μ|/σ of the row")
    add("--algorithm", choices=("two-pass", "merged", "one-pass"), help="default: any of the first two")
    add("--accumulate", choices=DTYPES, help="of sums (default: float64 for float64, else float32)")
    add(
        "--order", default="any", metavar="ORDER",
        type=lambda text: text if text in ("any", "sequential", "pairwise") else count(text),
        help="of each sum: any, sequential, pairwise, or the longest chain of additions (default: any)",
    )  # fmt: skip
    add("--json", metavar="FILE", help="write the rows as JSON; error is null where there is no bound")
    add("--header", metavar="FILE", help="write a C header, one macro a row")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    from pathlib import Path

    from ..pages import print_rows
    from ..support import write_json, write_text

    cases = itertools.product(arguments.dtype, arguments.d, arguments.ratio)
    rows = [_row(arguments, *case) for case in cases]
    if arguments.json:
        write_json(Path(arguments.json), rows)
    if arguments.header:
        write_text(Path(arguments.header), _header(arguments, rows))
    print_rows(rows)
    return 0


def _row(arguments: argparse.Namespace, dtype: str, d: int, ratio: float) -> dict[str, Any]:
    import numpy
    from scipy.special import ndtri

    import lngeom
    from lngeom.rounding import rounded

    if not (math.isfinite(ratio) and ratio >= 0) or d < 2:
        msg = f"--d {d} --ratio {ratio:g}: a row of deviation 1 takes d >= 2 and a finite ratio |μ|/σ >= 0"
        raise lngeom.errors.InputError(msg)
    normal = ndtri((numpy.arange(d) + 0.5) / d)
    x = rounded(normal / normal.std() + ratio, dtype).astype(numpy.float64)
    told = {"kind": arguments.kind, "dtype": dtype, "d": d, "ratio": ratio}
    # Near a large mean the numbers of a format are farther apart than 1: no such row can be stored.
    spread = x.std() if numpy.isfinite(x).all() else 0.0
    if not 0.5 <= spread <= 2:
        return {**told, "error": None, "note": f"{dtype} has no such row"}
    names = ("eps", "kind", "algorithm", "accumulate", "order")
    low, high = lngeom.tolerance(x, dtype=dtype, **{name: getattr(arguments, name) for name in names}).box
    norms = {"layernorm": lngeom.layer_norm, "rmsnorm": lngeom.rms_norm}
    exact = norms[arguments.kind](x.astype(numpy.longdouble), eps=arguments.eps)
    # Not the half-width: where the error of the variance is large the interval is longer on one side.
    error = float(numpy.maximum(high - exact, exact - low).max())
    finite = math.isfinite(error)
    return {**told, "error": error if finite else None, "note": "" if finite else "no bound"}


def _header(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> str:
    from lngeom import __version__

    declared = (
        f"kind {arguments.kind}, eps {arguments.eps:g}, algorithm {arguments.algorithm or 'two-pass or merged'}, "
        f"sums in {arguments.accumulate or 'float64 for float64, else float32'}, order {arguments.order}"
    )
    lines = [
        f"/* lngeom {__version__} tolerance: {declared}.",
        " * Largest error of a component that such a kernel can make at the row of d normal quantiles with deviation 1",
        " * and mean RATIO, without gain. Another row of that width may allow more. */",
        "#ifndef LNGEOM_TOLERANCE_H\n#define LNGEOM_TOLERANCE_H\n",
    ]
    for row in rows:
        ratio = str(row["ratio"]).removesuffix(".0").replace(".", "_").replace("-", "M").replace("+", "")
        name = f"LNGEOM_{row['kind']}_{row['dtype']}_D{row['d']}_RATIO{ratio}".upper()
        lines.append(f"/* {name}: {row['note']} */" if row["note"] else f"#define {name} {row['error']!r}")
    return "\n".join([*lines, "\n#endif\n"])
