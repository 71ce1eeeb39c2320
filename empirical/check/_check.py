"""The check itself: a kernel on many inputs, each output held against the family of correct ones."""

import contextlib
import math
from dataclasses import replace
from typing import Any

import numpy as np

from lngeom.errors import InputError
from lngeom.rounding import FORMATS, indistinct, rounded

from ..models import behaviour, probes
from ..proving import Proof, prove_target
from ._attempts import attempts
from ._casts import Told, held_to_cast
from ._cause import BEGINNINGS, STRIDES, explained
from ._contract import contract
from ._finding import Finding, Point
from ._fused import Fused, as_norm, sum_of
from ._gradient import check_gradient, kept_in_half, smallest_gradient
from ._inputs import layout
from ._interpreted import INTERPRETED
from ._judge import Judge, Trial
from ._kernel import Kernel, settle
from ._limits import Endless, limited
from ._options import CheckOptions
from ._reproducer import reproducer
from ._shrink import smallest_input
from ._target import resolve


def check(target: object, **options: Any) -> Finding:
    """Compare a norm with its exact definition on adversarial inputs, and name what it computes.

    Args:
        target: ``f(x)``, ``f(x, gain)``, ``f(x, gain, bias)``, ``f(x, gain, bias, eps)`` on arrays of shape (..., d) of
            NumPy, PyTorch, JAX, Keras or TensorFlow, found by trying; a module, its class, or a factory ``f(d)``; or
            ``"module:name"``. Parameters are recognised by their usual names, else by this order.
        **options: See :class:`CheckOptions`.

    Raises:
        InputError: It cannot be called, or `kind` or `eps` cannot be inferred.

    >>> from empirical.check import check
    >>> import lngeom as lg
    >>> check(lambda x, gain: lg.rms_norm(x, gain, eps=1e-6), kind="rmsnorm", eps=1e-6, d=8).verdict
    'rounding'
    """
    given = CheckOptions(**options)
    try:
        return _checked(target, given).refusing(given.refuse)
    except Endless as error:
        return _bare(given, str(error))


def _bare(given: CheckOptions, cause: str) -> Finding:
    """The finding on a kernel that computed nothing."""
    none = math.nan, math.nan, math.nan
    return Finding("bug", cause, given.kind or "norm", given.eps or math.nan, "none", given.dtype, math.inf, [], *none)


def _settled(target: object, given: CheckOptions) -> tuple[Judge, str, Proof, tuple[float, ...]]:
    """The kernel with the definition that it is held against, its kind, its proof, and values of ε that it shows."""
    spec = target if isinstance(target, str) else None
    target = target if spec is None else resolve(spec)
    name = given.name or spec or getattr(target, "__name__", type(target).__name__)
    kernel = settle(as_norm(target), replace(given, name=name))
    meant = contract(given.spec)
    exact = _proof(target, kernel)
    if exact.affine is not None:
        named = {exact.affine.gain: "gain", exact.affine.bias: "bias"}
        kernel = replace(kernel, purposes={name: what for name, what in named.items() if name}, _bound={})
    wanted = given.kind or meant.kind
    kind, eps, measured = _known(kernel, wanted, exact) or _inferred(kernel, wanted, _dimension(kernel, given))
    eps = meant.default_eps(kind, given.dtype) if given.spec and kernel.eps is None else eps
    return Judge(kernel, kind == "layernorm", eps, meant), kind, exact, measured


def _dimension(kernel: Kernel, given: CheckOptions) -> int:
    return given.d or kernel.fixed or 64


def _checked(target: object, given: CheckOptions) -> Finding:
    judge, kind, exact, measured = _settled(target, given)
    kernel, eps, meant, d = judge.kernel, judge.eps, judge.meant, _dimension(judge.kernel, given)
    several = given.d is None and kernel.fixed is None
    trials, notes, state = attempts(judge, d, several=several)
    notes += [INTERPRETED] if kernel.interpreted else []
    if not trials:
        return _bare(replace(given, kind=kind, eps=eps), str(state))
    proved = None if state else _proved(judge, trials)
    verdict, cause = ("bug", state) if state else explained(judge, trials, measured) if proved else ("rounding", None)
    verdict, cause, told = _held(judge, (verdict, cause, None), trials, notes)
    cast, proved = proved is not None and verdict == "rounding", None if verdict == "rounding" else proved
    shifted = meant.offset == 1 or (cause is not None and "1 + gain" in cause)
    gain = "none" if judge.base(d).gain is None else "1 + weight" if shifted else "weight"
    if verdict == "rounding":
        names = ", ".join(indistinct([trial.case() for trial in trials], given.dtype))
        notes += [f"undetectable by these inputs, within rounding: {names}"] if names else []
    elif (infinite := {trial.d for trial in trials if math.isinf(trial.largest)}) and d not in infinite:
        notes.append(f"NaN or infinite at d = {', '.join(map(str, sorted(infinite)))}")
    if verdict != "rounding" and given.backward:
        notes.append("the derivatives were not checked: those of the definition are not those of this forward pass")
    worst = max(trials, key=lambda trial: trial.largest)
    judge, shown = _plainest(judge, proved) if proved else (judge, worst)
    against = (kind, float(eps), gain, given.dtype)
    row, evidence = shown.x[shown.worst[0]].tolist(), judge.evidence(shown)
    point = _point(judge, shown, evidence[2] if proved else None)
    if told is not None:
        row, evidence, point = told.row, told.evidence, point._replace(component=told.component)
    decided = {"notes": tuple(notes), "exact": proved is not None, "proof": exact, "point": point}
    finding = Finding(verdict, cause, *against, worst.largest, row, *evidence, **decided)
    derivatives = given.backward and verdict == "rounding" and not cast
    return _with_gradient(finding, judge, d, several=several) if derivatives else finding


def _held(judge: Judge, told: Told, trials: list[Trial], notes: list[str]) -> Told:
    """A verdict under the contract that is meant: order of casts, and the sum of a fused kernel."""
    dtype = judge.kernel.dtype
    if judge.meant.cast and FORMATS[dtype].bits < 24:
        told = held_to_cast(*told[:2], trials, dtype)
    if told[0] != "rounding" or not isinstance(judge.kernel.target, Fused):
        return told
    way, wrong = sum_of(judge, trials[0].d)
    if wrong:
        return "bug", wrong, None
    if way is None:
        return told
    name = f"sum of input and residual {way} before it is normalized"
    if judge.meant.sum not in (None, way):
        return "variant", name, None
    notes.append(name)
    return told


def _plainest(judge: Judge, trial: Trial) -> tuple[Judge, Trial]:
    """The same row with gain 1 and bias 0 where fractions say that it is wrong with these as well."""
    plain = judge.like("plain")
    try:
        shown = plain.trial(trial.label, trial.x[[trial.worst[0]]])
    except Exception:  # a kernel may refuse a row alone in any way its framework has
        return judge, trial
    return (plain, shown) if shown.wrong.any() and plain.certain(shown) else (judge, trial)


def _point(judge: Judge, trial: Trial, bound: float | None) -> Point:
    """The evidence beside the worst row; with a script if a kernel is off by more than `bound`."""
    (row, component), base, given = trial.worst, judge.base(trial.d), judge.kernel.at(trial.d)
    gain, bias = (None if p is None else p.tolist() for p in (given.gain, given.bias))
    plain = trial.label not in (*STRIDES, *BEGINNINGS)
    script = reproducer(judge.kernel, trial.x[row].tolist(), base, bound) if plain and bound is not None else ""
    return Point(layout(trial.label), component, gain, bias, reproducer=script)


def _proof(target: object, kernel: Kernel) -> Proof:
    """The proof of what the target computes in exact arithmetic, if tracing it ends."""
    asked = kernel.asked
    try:
        with limited("its trace", asked.seconds):
            options = {"kind": asked.kind, "dtype": asked.dtype, "backward": asked.backward}
            return prove_target(target, kernel.name, kernel.framework.name, **options)
    except (Endless, RuntimeError) as error:
        return Proof("not traced", str(error))


def _with_gradient(finding: Finding, judge: Judge, d: int, *, several: bool) -> Finding:
    """The finding of a forward pass within rounding, with what the derivatives show."""
    verdict, cause, trials = check_gradient(judge, d, several=several)
    if not trials:
        return replace(finding, verdict=verdict, cause=cause)
    ratio = max(trial.largest for trial in trials)
    kept = kept_in_half(trials, judge.kernel.dtype)
    notes = (*finding.notes, "the bounds of the derivatives are derived by hand", *([kept] if kept else []))
    finding = replace(finding, verdict=verdict, cause=cause, gradient_ratio=ratio, notes=notes)
    if cause is None:
        return finding
    first = smallest_gradient(judge, trials[0])
    wrong, right, bound = first.evidence
    (row, component), given = first.worst, judge.kernel.at(first.d)
    gain, bias = (None if p is None else p.tolist() for p in (given.gain, given.bias))
    point = Point(layout(first.label), component, gain, bias, np.asarray(first.cotangent)[row].tolist())
    shown = {"input": first.input, "wrong": wrong, "right": right, "bound": bound, "exact": True, "point": point}
    return replace(finding, worst_ratio=max(finding.worst_ratio, ratio), **shown)


def _known(kernel: Kernel, kind: str | None, exact: Proof) -> tuple[str, float, tuple[float, ...]] | None:
    """Kind and ε as a proof has them, None where it tells of no norm."""
    eps = kernel.eps if kernel.eps is not None else exact.eps
    if exact.kind not in ("layernorm", "rmsnorm") or eps is None:
        return None
    return kind or exact.kind, eps, (exact.eps,) if exact.eps else ()


def _inferred(kernel: Kernel, kind: str | None, d: int) -> tuple[str, float, tuple[float, ...]]:
    """Kind and ε of what cannot be traced, where not given, and the ε that the kernel's behaviour shows."""
    x = rounded(probes(d, kernel.dtype), kernel.dtype).astype(np.float64)
    seen = None
    if d > 2:
        with contextlib.suppress(Exception):  # what it raises is told by the attempts
            got = kernel.run(x)
            seen = behaviour(x, got, float(FORMATS[kernel.dtype].roundoff)) if got.shape == x.shape else None
    if kind is None:
        named = kernel.name.lower()
        kind = seen.kind if seen else "rmsnorm" if "rms" in named else "layernorm" if "layer" in named else None
        if kind is None:
            msg = f"{kernel.name} computes neither norm, and its name does not say which it should: give --kind"
            raise InputError(msg)
    measured = (float(seen.eps),) if seen and seen.eps is not None and seen.eps > 0 else ()
    if kernel.eps is not None:
        return kind, kernel.eps, measured
    if seen is None or seen.eps is None:
        raise InputError(f"{kernel.name} does not state its eps, and its outputs do not reveal it: give --eps")
    return kind, float(f"{seen.eps:.2g}"), measured


def _proved(judge: Judge, trials: list[Trial]) -> Trial | None:
    """The trial of smallest dimension, first a shrunk one, of which fractions too say that it is wrong.

    Where floats alone accuse a kernel, they were too near to tell.
    """
    failing = [trial for trial in trials if trial.wrong.any()]
    if not failing:
        return None
    # One component less its mean is 0, and a divisor d − 1 is 0 there: more components show what is wrong.
    least = 2 if judge.centered and any(trial.d > 1 for trial in failing) else 1
    failing = sorted((trial for trial in failing if trial.d >= least), key=lambda trial: (trial.d, -trial.largest))
    first = failing[0]
    row, fixed = first.x[first.worst[0]], judge.kernel.fixed is not None
    small = smallest_input(lambda x: judge.trial(first.label, x), row, fixed=fixed, least=least)
    return next((trial for trial in filter(None, (small, *failing)) if judge.certain(trial)), None)
