"""Backward passes: what a framework computes for the derivatives of a program is the derivative of its forward pass."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lngeom import prover
from lngeom.carriers import Carrier
from lngeom.prover import Formula, ProofCertificate, ProofError, Table
from lngeom.rounding import FORMATS
from lngeom.sources import effects

from .._tracing.arrays import Arr, given
from .._tracing.decisions import GRADIENTS
from .._tracing.grounds import DualGround, FloatGround, Ground, RecordedGround
from .._tracing.sizes import FEATURE, form
from .._tracing.trace import Refusal, Trace
from .execution import Point, exactly, small_numbers, tells
from .order import Order, order
from .path import ALONG, COTANGENT, Path, reason

_SIZES, _ROWS, _TRIES = (1, 2, 3), 6, 3
_OF_FORMATS = {"dtype", "itemsize", "nbytes", "element_size", "type", "finfo", "is_floating_point", "result_type"}
"""Names by which allowed code learns the format of an array."""


@dataclass(frozen=True)
class Derivative:
    """The verdict on one derivative of a kernel.

    Attributes:
        status: ``proved``, ``refuted`` or ``not traced``.
        text: Where it is proved if not everywhere, where it is wrong, or the reason.
        certificates: What has to hold for the backward pass to be defined, and S(dx·t) = S(v·Df(x)·t).
        run: The run on terms of a user-written backward pass.
    """

    name: str
    status: str
    text: str
    certificates: tuple[ProofCertificate, ...] = ()
    run: Trace | None = None
    unexamined: tuple[str, ...] = ()
    order: Order | None = None


def derivatives(path: Path) -> list[Derivative]:
    """The derivatives that the backward pass of a program gives, each against that of its forward pass.

    For all cotangents v and all t, S(dx·t) = S(v·Df(x)·t), which determines dx. A derivative by a parameter is a sum
    over rows: what is summed obeys the identity for one arbitrary row, and all axes that number rows are summed once.
    """
    try:
        trace, gradients = _gradients(path, Ground())
        wrong = _executed(path)
    except Exception as error:  # a backward pass may fail in any way
        rules = tuple(path.trace.kernels.rules)
        return [Derivative(name, "not traced", reason(error), unexamined=rules) for name in path.leaves]
    _, undefined = path.obligations(trace)
    why = f"it is not proved that {undefined[0]}" if undefined else wrong or _by_some(path, gradients)
    rows = frozenset(label for dim in path.axes for label in dim if label != FEATURE)
    verdicts = list[Derivative]()
    for name, gradient in gradients.items():
        by_row, wrong = path.trace.symbols.vectors[name], why
        if gradient is None and path.trace.kernels.launched:
            verdicts.append(Derivative(name, "not traced", "the backward pass gives none"))
        if gradient is None:
            continue
        if (gradient.summed, gradient.axes) != ((frozenset(), path.axes) if by_row else (rows, ((FEATURE,),))):
            summed = " and ".join(sorted(gradient.summed)) or "nothing"
            wrong = f"it has the shape {form(gradient.axes)}, summed over {summed}"
        told = any(verdict.certificates for verdict in verdicts)
        verdicts.append(Derivative(name, "not traced", wrong) if wrong else _decided(path, name, told))
    kernels, seen = path.trace.kernels, path.backward.watched
    if not (kernels.launched or why):
        seen.report.unexamined.update(_elsewhere(path, gradients), effects(seen.report.sources.values()))
    plain = None, seen, sorted(seen.report.unexamined), "", []
    _, run, left, limits, runs = path.written if kernels.launched else plain
    if kernels.exposed:  # PyTorch sees a change of what save_for_backward keeps
        limits = f"unless what {' and '.join(kernels.exposed)} keeps is changed in place before the backward pass"
    more = {"run": run, "unexamined": (*left, *kernels.rules)}
    rowed = path.trace.symbols.vectors
    ordered = {n: order(f"d/d{n}", runs, sums=not rowed[n]) for n in gradients} if runs else {}
    told = ((one, one.text or limits * (one.status == "proved")) for one in verdicts)
    return [replace(one, **more, text=text, order=ordered.get(one.name)) for one, text in told]


def _by_some(path: Path, gradients: dict[str, Arr | None]) -> str:
    """Where derivatives are others if the rest is not asked for; nothing if nowhere."""
    if path.trace.kernels.launched or not path.trace.kernels.functions:
        return ""
    for some in (names for n in range(1, len(gradients)) for names in itertools.combinations(gradients, n)):
        found = _gradients(path, Ground(), *some)[1]
        if any(_value(found[name]) != _value(gradients[name]) for name in some):
            return f"another one where {' and '.join(some)} alone need a gradient (ctx.needs_input_grad)"
    return ""


def _elsewhere(path: Path, gradients: dict[str, Arr | None]) -> Iterator[str]:
    """Formats and circumstances in which derivatives are not seen to be these, and why; the fewest."""
    first, formats = path.backward.watched, {*path.program.front.formats} - {path.dtype}
    codes = (path.trace.report.sources | first.report.sources).values()
    asks = any(_OF_FORMATS & {*code.co_names} for code in codes)
    waiting = [(path.dtype, plan) for plan in first.decisions.untried]
    waiting += [(dtype, list[bool]()) for dtype in sorted(formats) if asks]
    told = list[set[str]]()
    for dtype, plan in waiting:  # which grows
        trace, other = path.again(Ground())[0], path.autograd(dtype, plan)
        try:
            found = other.traced(trace, given(trace, COTANGENT, path.axes, dtype))
            same = all(_value(found[name]) == _value(one) for name, one in gradients.items())
            why = "" if same else "it computes something else"
        except Exception as error:  # a backward pass may fail in any way
            why = reason(error)
        waiting += ((dtype, more) for more in other.watched.decisions.untried)
        words = {case.text for case in other.watched.decisions.circumstances if case.of != GRADIENTS}
        words |= {f"in {dtype}"} - {f"in {path.dtype}"}
        if why and not any(known <= words for known in told):
            told.append(words)
            yield f"derivatives {' and '.join(sorted(words))} ({why})"


def _value(gradient: Arr | None) -> object:
    return gradient and (gradient.value, gradient.summed)


def _gradients(path: Path, ground: Ground, *some: str) -> tuple[Trace, dict[str, Arr | None]]:
    """The derivatives on a carrier, by variable: all of them, or of autograd those that are asked for."""
    if path.trace.kernels.launched:  # autograd cannot look into kernels: the user-written pass is traced
        passes, known, *_ = path.written
        trace = Trace(ground, path.program.literals, replayed=known, backward=True)
        return trace, dict(passes.traced(trace)[1])
    trace, _ = path.again(ground)
    gradients = path.backward.traced(trace, given(trace, COTANGENT, path.axes, path.dtype), *some)
    if trace.refusals:
        raise trace.refusals[0]
    return trace, gradients


def _sides(path: Path, name: str, ground: Ground) -> tuple[Trace, Any, Any]:
    """S(dx·t) and S(v·Df(x)·t), with the run that they are of."""
    trace, gradients = _gradients(path, ground)
    gradient = gradients[name]
    assert gradient is not None
    _, moved = path.again(DualGround(ground, name, ALONG))
    t, v = ground.vector(ALONG), ground.vector(COTANGENT)
    return trace, prover.dot(gradient.value, t), prover.dot(v, moved.value.tangent)


def _decided(path: Path, name: str, told: bool) -> Derivative:
    """The verdict on one derivative; what has to hold for all of them is certified unless it is `told`."""
    trace, left, right = _sides(path, name, Ground())
    try:
        theorem = prover.prove(prover.equal(left, right), *path.known(trace))
    except ProofError:
        bent = [f": it has a clamp or an absolute value{place}" for *_, place in trace.values.absolutes]
        point, why = _point(path, name, left - right), "".join(["no proof was found", *bent[-1:]])
        return Derivative(name, "refuted", point) if point else Derivative(name, "not traced", why)
    recorded, code, formal = _sides(path, name, RecordedGround(Table()))
    proved = [*([] if told else path.obligations(trace)[0]), theorem]
    id = f"{path.program.name}_by_{name}"
    return Derivative(name, "proved", "", tuple(path.certificates(id, proved, recorded, code - formal)))


def _point(path: Path, name: str, difference: Carrier) -> str:
    """Where the two sides differ, decided in fractions, which opaque functions do not have."""
    if any(known.opaque for known in path.backward.calls.values()):
        return ""
    for d in _SIZES if path.program.size is None else (path.program.size,):
        rng = np.random.default_rng(d)
        for _ in range(_TRIES):
            more: Point = {name: rng.integers(-3, 5, d) / 2 for name in (ALONG, COTANGENT)}
            values = small_numbers(path, d, rng) | more
            if prover.holds(Formula(difference, "="), exactly(values), d, total=False) is False:
                floats = {key: np.array(value, dtype=float) for key, value in values.items()}
                _, left, right = _sides(path, name, FloatGround(floats, d))
                shown = ", ".join(f"{key} = {floats[key].tolist()}" for key in [*path.trace.symbols.vectors, ALONG])
                return f"at d = {d}, {shown}: the code gives {float(left[0]):.6g}, the formula {float(right[0]):.6g}"
    return ""


def _executed(path: Path) -> str:
    """Where the backward pass that runs is further from the one that was traced than rounding; nothing if nowhere.

    A derivative by a parameter sums rows, with error n·u·Σ|terms| in any order. The factor 4 is for fused kernels.
    """
    unit, told = float(FORMATS[path.dtype].roundoff), 0
    for d in _SIZES if path.program.size is None else (path.program.size,):
        rng = np.random.default_rng(d)
        leaves = {**path.backward.leaves, COTANGENT: True}
        values: dict[str, np.ndarray] = {name: np.array(value) for name, value in path.program.literals.values.items()}
        values |= {name: np.array(rng.integers(1, 9) / 4) for name in path.backward.numbers}
        for name, by_row in leaves.items():
            drawn = rng.integers(-8, 9, (_ROWS, d) if by_row else d) / 4 + 0.125
            values[name] = abs(drawn) if "var" in name else drawn
        real = path.backward.real(values, COTANGENT)
        rows = [{name: v[k] if leaves.get(name) else v for name, v in values.items()} for k in range(_ROWS)]
        try:
            runs = [_gradients(path, FloatGround(row, d, error=True))[1] for row in rows]
        except Refusal:  # this dimension takes another branch
            continue
        if lacking := {name for name, one in runs[0].items() if one is not None} - real.keys():
            return f"autograd gives no derivative by {' and '.join(sorted(lacking))}"
        for name, got in real.items():
            pairs = [(dx.value.value, dx.value.error) for run in runs if (dx := run[name]) is not None]
            value, error = (np.stack([np.broadcast_to(row, d) for row in part]) for part in zip(*pairs, strict=True))
            if not leaves[name]:
                error = error.sum(0) + 2 * _ROWS * unit * (abs(value) + error).sum(0)
                value = value.sum(0)
            told += tells(value, error)
            if not (abs(got - value) <= 4 * error).all():
                return f"d/d{name} as it runs is not the one that was traced: at d = {d} it is {got.tolist()}"
    return "" if told else "no execution tells"
