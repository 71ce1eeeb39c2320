r"""Tolerances of a norm kernel that declares how it computes, and the test that needs no declaration."""

from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy

from ..carriers import Array, check_eps, check_parameter, check_vectors, door, dtype_name, float64
from ..errors import InputError
from ..norms import Placement
from .definition import Definition
from .family import METHODS, REAL, Arithmetic, Family, Method, Order, Reals, Sample
from .formats import FORMATS

Kind = Literal["layernorm", "rmsnorm"]
KINDS: tuple[Kind, ...] = ("layernorm", "rmsnorm")


class Kernel(TypedDict, total=False):
    """Declared properties of a kernel; see :func:`tolerance`."""

    algorithm: Method | None
    accumulate: str | None
    order: Order


class Layer(TypedDict, total=False):
    """Whether a layer subtracts the mean, where its ε stands, and the longest chain of additions in its sums."""

    centered: bool
    placement: Placement
    additions: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Acceptance:
    """The answer of :meth:`lngeom.rounding.Tolerance.accepts`; true in a condition if every row is accepted.

    `ok` and `reason`, one sentence; `p` (...), the scale of the closest member of the family; `ratio` (..., d), the
    distance of each component from that member over its tolerance, at most 1 where accepted.
    """

    ok: bool
    p: numpy.ndarray
    ratio: numpy.ndarray
    reason: str

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"Acceptance({'accepted' if self.ok else 'rejected'}: {self.reason})"


@dataclass(frozen=True, eq=False, repr=False)
class Tolerance:
    """The outputs that a correct kernel may return; made by :func:`lngeom.tolerance`.

    Attributes:
        box: pair of float64 arrays, shape (..., d). Ends of the interval of each component by itself, rounded outward;
            infinite where no bound exists.
        alpha: float64 array, shape (...). Bound of the error of the mean.
    """

    box: tuple[numpy.ndarray, numpy.ndarray]
    alpha: numpy.ndarray
    _family: Family

    def __repr__(self) -> str:
        widths = self.box[1] - self.box[0]
        spread = f", intervals of width {widths.min():.3g} to {widths.max():.3g}" if widths.size else ""
        return f"Tolerance(shape {widths.shape}{spread})"

    @door
    def accepts(self, y: Array) -> Acceptance:
        """Whether some error of the mean and some error of the variance within the bounds explain every row of `y`."""
        values, shape = float64("y", y), self.box[0].shape
        if values.shape != shape:
            raise InputError(f"y has shape {values.shape}, but x has shape {shape}: pass outputs of the same vectors")
        fit = self._family.fit(values.reshape(-1, shape[-1]))
        ratio, ok = fit.ratio.reshape(shape), bool(fit.ok.all())
        worst = tuple(int(i) for i in numpy.unravel_index(numpy.argmax(ratio), shape))
        text = f"component {worst} lies {ratio[worst]:.3g} tolerances from the closest output of a correct kernel"
        reason = "every row is within the family of correct outputs" if ok else text
        return Acceptance(ok, fit.p.reshape(shape[:-1]), ratio, reason)


@door
def tolerance(
    x: Array,
    gain: Array | None = None,
    bias: Array | None = None,
    *,
    eps: float,
    kind: Kind = "layernorm",
    dtype: object = None,
    placement: Placement = "inside",
    **kernel: Unpack[Kernel],
) -> Tolerance:
    """The outputs that a correct kernel may return at `x`: ŷ_i = g_i(p c_i − q) + b_i ± E_i, with bounds of p and of q.

    Without `algorithm` and `order` the family holds the outputs of every backward-stable kernel: two passes or merged
    partial statistics, in every order. Declared ones make it smaller. The derivation is on the page "How far floats may
    be off".

    Args:
        x, gain, bias: Finite, taken as exact.
        kind: {"layernorm", "rmsnorm"}
        dtype: str or dtype. Format of `x` and of the output; default: the format of `x`.
        kernel: `algorithm`, `accumulate` and `order`, as declared.
        algorithm: {"two-pass", "merged", "one-pass"}. Two passes that subtract the mean first; merged (Welford); or
            mean x² − μ². Default: the first two, in any form.
        accumulate: {"float64", "float32", "bfloat16", "float16"}. Format of the sums. Default float64 for float64,
            else float32. A half format means all operations.
        order: "any" or int. Order of each sum; an integer is the largest number of additions of a term.

    Returns a Tolerance: `box`, `alpha`, and `accepts(y)`. Source: N. J. Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 4.2.

    >>> import numpy as np, lngeom as lg
    >>> x = np.array([1.0, 2.0, 6.0])
    >>> allowed = lg.tolerance(x, eps=1e-5)
    >>> bool(allowed.accepts(lg.layer_norm(x, eps=1e-5))), bool(allowed.accepts((x - 3) / x.std(ddof=1)))
    (True, False)
    >>> allowed
    Tolerance(shape (3,), intervals of width 2.3e-14 to 4.97e-14)
    >>> bool((allowed.box[1] - allowed.box[0] < 1e-13).all()), float(allowed.alpha) < 1e-13
    (True, True)
    """
    rows, base, name, _ = definition(x, gain, bias, eps, dtype, centered=kind == "layernorm", placement=placement)
    arithmetic = declared(name, **kernel)
    sample = Sample(rows.reshape(-1, rows.shape[-1]))
    family = base.family(sample, arithmetic)
    spread = sample.spread(arithmetic, centered=base.centered)
    low, high = family.box()
    return Tolerance(
        (outward(low, rows.shape, -1), outward(high, rows.shape)),
        spread.alpha.astype(numpy.float64).reshape(rows.shape[:-1]),
        family,
    )


@door
def error_bound(
    x: Array,
    gain: Array | None = None,
    bias: Array | None = None,
    *,
    eps: float,
    dtype: object = None,
    method: Method = "two-pass",
    **layer: Unpack[Layer],
) -> numpy.ndarray:
    """Bound of the error of each component of ``layer_norm(x, gain, bias, eps=eps)`` or of ``rms_norm``.

    The largest distance of the box of :func:`tolerance`, which explains `dtype`, from the exact value. For sums in any
    order the leading term is below (d + 2)uκ, u the unit roundoff and κ the :func:`condition_number`.

    Args:
        method: {"two-pass", "merged", "one-pass"}. How the variance is computed: from the centred vector (this
            library); by merging partial means and sums of squares (PyTorch); or as mean x² − μ² (Flax). The last two
            may multiply before they subtract the mean.
        layer: `centered`, `placement` and `additions`.
        additions: The largest number of additions a term passes through. Default: any order. A pairwise sum such as
            NumPy's over the last axis of a contiguous array has at most 24 + log₂ d.

    Returns float64, shape (..., d): inf where a square may overflow or σ² + ε may be computed as 0. Source: N. J.
    Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 2.2, 3.1 and 4.2; T. F. Chan, G. H. Golub
    and R. J. LeVeque, The American Statistician 37 (1983), 242-247.

    >>> import numpy as np, lngeom as lg
    >>> bool((lg.rounding.error_bound(np.array([1.0, 2.0, 6.0]), eps=0.0) < 1e-14).all())
    True
    >>> float(lg.rounding.error_bound(np.array([1.0, 2.0]), eps=0.0, dtype="bfloat16").max()) < 1.001 * 2.0**-8
    True
    """
    rows, base, name, order = definition(x, gain, bias, eps, dtype, **layer)
    sample = Sample(rows.reshape(-1, rows.shape[-1]))
    return outward(base.bound(sample, base.family(sample, declared(name, method, order=order))), rows.shape)


def outward(values: Reals, shape: tuple[int, ...], direction: int = 1) -> numpy.ndarray:
    """Float64 numbers not below (1) or not above (−1) `values`."""
    return numpy.nextafter(values.astype(numpy.float64), direction * numpy.inf).reshape(shape)


def definition(
    x: Array, gain: Array | None, bias: Array | None, eps: float, dtype: object, **layer: Unpack[Layer]
) -> tuple[numpy.ndarray, Definition, str, Order]:
    """Checked rows of `x` as float64, the layer in extended precision, the name of the format, the order of sums."""
    centered, placement, order = _layer(**layer)
    check_vectors("x", x)
    check_parameter("gain", gain, x)
    check_parameter("bias", bias, x)
    check_eps(eps, x)
    if shape := getattr(eps, "shape", ()):
        raise InputError(f"eps has shape {tuple(shape)}: bounds are those of one layer, with one number")
    name = dtype_name(x) if dtype is None else dtype if isinstance(dtype, str) else _name(dtype)
    if name not in FORMATS:
        raise InputError(f"dtype is {name!r}: error bounds are known for {', '.join(FORMATS)}")
    wide = "float64" if name == "float64" else "float32"
    g, b = (
        None if p is None else numpy.broadcast_to(_numbers(n, p, wide).astype(REAL), x.shape[-1:])
        for n, p in (("gain", gain), ("bias", bias))
    )
    base = Definition(centered, g, b, float(eps), placement)
    return _numbers("x", x, name).reshape(tuple(x.shape)), base, name, order


def _numbers(name: str, values: Array, format_name: str) -> numpy.ndarray:
    """`values` as float64, each checked to be a finite number of the format."""
    numbers = float64(name, values)
    foreign = numbers[~(numpy.isfinite(numbers) & FORMATS[format_name].holds(numbers))]
    if foreign.size:
        raise InputError(
            f"{name} holds {float(foreign[0])!r}: not a finite {format_name} number; the bound is about the "
            f"computation, so round {name} to {format_name} first"
        )
    return numbers


def _layer(
    centered: bool = True, placement: Placement = "inside", additions: int | None = None
) -> tuple[bool, Placement, Order]:
    """A layer as it is declared; the order is that in which a term passes through so many additions, or any."""
    if additions is None:
        return centered, placement, "any"
    if isinstance(additions, bool) or not isinstance(additions, int) or additions < 1:
        raise InputError(f"additions is {additions!r}: a sum's longest chain of additions has an integer length >= 1")
    return centered, placement, additions


def _name(dtype: object) -> str:
    """Name of a dtype of NumPy or PyTorch."""
    text = str(dtype).rpartition(".")[2]
    return text if text in FORMATS else str(getattr(dtype, "__name__", text)).rpartition(".")[2]


def declared(
    dtype: str, algorithm: Method | None = None, accumulate: str | None = None, order: Order = "any"
) -> Arithmetic:
    """The arithmetic of a kernel from its description."""
    if algorithm is not None and algorithm not in METHODS:
        msg = f"algorithm is {algorithm!r}: the variance is computed by one of {', '.join(METHODS)}, or None for any"
        raise InputError(msg)
    if not (order == "any" or (isinstance(order, int) and not isinstance(order, bool) and order >= 1)):
        raise InputError(f'order is {order!r}: give "any" or the longest chain of additions >= 1')
    if accumulate is not None and accumulate not in FORMATS:
        raise InputError(f"accumulate is {accumulate!r}: sums are kept in one of {', '.join(FORMATS)}")
    plain = Arithmetic.of(dtype)
    sums = plain.sums if accumulate is None else FORMATS[accumulate]
    work = sums if sums.bits < plain.work.bits else plain.work
    return Arithmetic(work, sums, FORMATS[dtype], algorithm, order)
