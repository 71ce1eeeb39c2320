"""Derivatives of a norm kernel against the exact transposed Jacobian."""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lngeom.cli import out_of_memory
from lngeom.errors import InputError, LngeomError
from lngeom.rounding import FORMATS, REAL, Gradients, Sample, rounded
from lngeom.sentences import Cause, Statement, Way, several

from .._calls.binding import UNREGISTERED
from .._calls.call_files import Filed
from .._calls.fused import Fused
from .._calls.kernel import Kernel
from .._calls.limits import limited
from .._tracing.frameworks import FrameworkArray
from .._trials.claim import Claim
from .._trials.inputs import Inputs
from .._trials.trial import Outputs, Shown
from .._trials.trials import ODD_GAINS
from .counterexample import smallest_input
from .input_gradients import further, instead, pulled
from .names import Named
from .pattern import places, summed

_ROWS, _ROWS_INTERPRETED, _MAIN = 4099, 601, 128
"""Rows over which derivatives by gain and bias are summed, and the most components that they have."""
_ORDINARY = Way("ordinary")
_HALVES = {
    Statement("zeros in", Statement("period", Statement("at", "component", 0), 2)): Statement("input lost"),
    Statement("zeros in", Statement("period", Statement("last", "component"), 2)): Statement("no residual gradient"),
}
"""Every other component of a fused kernel comes as the residual."""
_NO_BOUNDS = "no bounds are derived for those of this formula"
Leaves = dict[str, Any]
"""Arrays of the framework by what is differentiated: x, gain, bias."""


class _Missing(Exception):
    """A parameter gets no gradient."""


@dataclass
class GradientTrial(Outputs):
    """The derivative by ``x``, ``gain`` or ``bias`` at one group of rows, and the box that holds every correct one."""

    ratio: np.ndarray = field(init=False)
    name: str
    cotangent: np.ndarray
    passed: Gradients
    right: np.ndarray = field(init=False)
    bound: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            low, high = self._of(self.passed)(self.cotangent)
            self.right, self.bound = (low + high) / 2, (high - low) / 2
            within = self._finite(self.got)
            ratio = np.where(within == self.right, 0, abs(within - self.right) / self.bound)
            ratio = np.where(np.isnan(within), np.inf, ratio)
            self.ratio = np.where(np.isfinite(self.bound), ratio, 0).astype(float)

    def _finite(self, values: np.ndarray) -> np.ndarray:
        """Infinities as the largest number: they are right where the exact value may be larger."""
        top = float(self.arithmetic.storage.largest)
        return np.clip(values, -top, top)

    def _of(self, passed: Gradients) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        return {"x": passed.of_input, "gain": passed.of_gain, "bias": passed.of_bias}[self.name]

    def shown(self) -> Shown:
        """The worst component, at its row, or for derivatives by parameters at all rows."""
        row, component = self.worst
        numbers = float(self.got[self.worst]), float(self.right[self.worst]), float(self.bound[self.worst])
        x = self.x[row] if self.name == "x" else self.x
        return Shown(x.tolist(), component, numbers, self.label, np.asarray(self.cotangent)[row].tolist())

    def outside(self) -> bool:
        """Whether the worst component is outside the box in fractions too."""
        row, component = self.worst
        x = self.x if self.name == "gain" else self.x[row : row + 1]
        passed = Gradients.exactly(x.tolist(), self.base, self.arithmetic)
        if passed is None:
            return False
        if self.name == "x":
            low, high = passed.of_input(self.cotangent[row : row + 1])
        else:  # of many rows, which need no component but this one
            of = passed.of_gain if self.name == "gain" else passed.of_bias
            low, high = of(self.cotangent, slice(component, component + 1))
            component = 0
        return not low[0, component] <= self._finite(self.got[self.worst]) <= high[0, component]

    @property
    def stands(self) -> bool:
        """Whether a sum of terms of one sign is too small: what comes after it has come to a stand is lost."""
        return self.label.kind == _ONE_SIGN and abs(self.got[self.worst]) < abs(self.right[self.worst])

    def kept(self, dtype: str, *, whole: bool) -> bool:
        """Whether it is a derivative of `dtype` from the mean and root of the work, `whole` or rounded to it."""
        work = self.arithmetic.work
        passed = Gradients.of(self.passed.sample, self.base, replace(self.arithmetic, storage=work))
        if not whole:
            mean, unit = abs(self.base.exact(passed.sample)[0]), FORMATS[dtype].roundoff
            low, high = (rounded(end, dtype).astype(REAL) for end in (passed.low, passed.high))
            passed = replace(passed, low=low, high=high, alpha=passed.alpha + passed.sample.number(unit) * mean)
        low, high = self._of(passed)(self.cotangent)
        if not whole and self.name == "gain":  # its terms have one sum: what rounded statistics give is a number
            (m, v, _), error = self.base.exact(passed.sample), (high - low) / 2
            r = rounded(self.base.reciprocal(v, passed.sample), dtype)
            value = (self.cotangent * (self.x - self.base.centered * rounded(m, dtype)) * r).sum(0, keepdims=True)
            low, high = value - error, value + error
        low, high = (np.asarray(rounded(end, dtype), dtype=float) for end in (low, high))
        return bool(((low <= self.got) & (self.got <= high) | ~np.isfinite(self.bound)).all())

    def takes(self, values: np.ndarray) -> bool:
        """Whether values are within the bounds of this derivative."""
        return bool((abs(values - self.right) <= self.bound).all())


class _NoGradient(LngeomError):
    """The output does not depend on its inputs as far as autograd knows."""


def differentiated(named: Named) -> Named:
    """With the derivatives of the definition or variant that the outputs show, on the same rows, if asked for."""
    if not named.tried.inputs.claim.kernel.asked.backward or named.verdict not in ("rounding", "variant"):
        return named
    try:
        return _examined(named)
    except _NoGradient:
        kernel = named.tried.inputs.claim.kernel
        x: Any = kernel.array(np.random.default_rng(1).normal(size=(kernel.d, 3)))
        x = x.T.requires_grad_()
        with contextlib.suppress(Exception):  # the forward pass has noted what it refuses
            if getattr(kernel.call(x), "requires_grad", False):
                return replace(named, verdict="bug", cause=Cause("detached contiguous"))
        return replace(named, verdict="bug", cause=_beside(named, Cause("detached")))


def _beside(named: Named, cause: Cause) -> Cause:
    return several(named.cause, Cause("beyond", cause)) if named.cause else cause


def _examined(named: Named) -> Named:
    inputs = named.tried.inputs
    claim = inputs.claim
    inputs = inputs._replace(claim=replace(claim, variant=named.cause if named.verdict == "variant" else None))
    claim, meant = inputs.claim, inputs.claim.base(claim.kernel.d)
    if claim.meant.stated or meant.placement == "outside" or meant.statistics or meant.denominator or meant.prepare:
        return _unbounded(named, inputs)
    verdict, cause, trials = _judged(inputs)
    if verdict == "rounding" and claim.kernel.framework.name == "torch":
        never = (text for text in claim.kernel.at(claim.kernel.d).still if text.endswith(UNREGISTERED))
        if told := [*never, *further(claim, dict(inputs.groups[claim.kernel.d])[_ORDINARY])]:
            verdict, cause, trials = "bug", Cause("backward", told[0], "", "", ""), []
    if cause is None:
        verdict, cause, shown = named.verdict, named.cause, named.shown
    else:
        cause = _beside(named, cause)
        shown = _smallest(claim, trials[0]).shown() if trials else named.shown
    if not trials:
        return replace(named, verdict=verdict, cause=cause)
    kept = _kept_in_half(trials, claim.kernel.dtype)
    notes = *named.notes, "the bounds of the derivatives are derived by hand", *([kept] if kept else [])
    ratio = max(trial.largest for trial in trials)
    return replace(named, verdict=verdict, cause=cause, notes=notes, shown=shown, ratio=ratio)


def _unbounded(named: Named, inputs: Inputs) -> Named:
    """The verdict on derivatives for which no bounds are derived: only that they are numbers where the outputs are."""
    if inputs.claim.kernel.form.filed:
        return replace(named, notes=(*named.notes, f"the derivatives were not examined: {_NO_BOUNDS}"))
    claim, notes = inputs.claim, (*named.notes, f"the derivatives were only checked to be numbers: {_NO_BOUNDS}")
    for label, rows in inputs.groups[claim.kernel.d]:
        x = claim.stored(rows)
        held = np.isfinite(claim.kernel.run(x)).all(-1)
        for name, got in _computed(claim, x[held], np.ones_like(x[held]), (-1,), transposed=False, only=None).items():
            if np.isnan(got).any():
                return replace(named, verdict="bug", cause=_beside(named, Cause("NaN for", name, label)), notes=notes)
    return replace(named, notes=notes)


def _judged(inputs: Inputs) -> tuple[str, Cause | None, list[GradientTrial]]:
    """Verdict, cause and trials, the evidence first."""
    try:
        trials = sorted(gradient_trials(inputs), key=lambda trial: -trial.largest)
    except Exception as error:  # a backward pass raises what it likes, or is none
        if isinstance(error, LngeomError) or out_of_memory(error):
            raise
        told = str(error) if isinstance(error, _Missing) else f"{type(error).__name__}: {error}"
        return "bug", Cause("backward", " ".join(told.split())[:140], "", "", ""), []
    doubtful = sorted((trial for trial in trials if trial.wrong.any()), key=lambda trial: trial.d)
    odd = _refuted([trial for trial in doubtful if trial.label == ODD_GAINS])
    usual = _refuted([trial for trial in doubtful if trial.label != ODD_GAINS])
    proved, names = usual or odd, [trial.name for trial in usual]
    if not proved:
        return "rounding", None, trials
    beyond = [trial for trial in odd if trial.name not in names] if usual else []
    names = [trial.name for trial in proved]
    wrong = [trial for trial in doubtful if trial.name in names]
    telling = [trial for trial in wrong if trial.name == "x" and trial.d > 3 and trial.label == _ORDINARY]
    wrong_of = tuple(Statement("by", name) for name in names)
    if FORMATS[inputs.claim.kernel.dtype].bits < 24 and all(trial.stands for trial in wrong):
        return (
            "bug",
            Cause("backward", wrong_of, Statement("known", Statement("in 16 bits")), "", ""),
            [*proved, *wrong],
        )
    with np.errstate(all="ignore"):
        fitted = {pulled(trial.x, trial.cotangent, trial.got, trial.bound, trial.base) for trial in telling}
        if all((np.isnan(trial.got) & np.isfinite(trial.right)).any() for trial in proved):
            fitted = {Statement("NaN at 0" if proved[0].label == ODD_GAINS else "NaN")}
        one = next(iter(fitted)) if len(fitted) == 1 else None
        known = one or _of_parameters(trials, proved)
        if known and isinstance(inputs.claim.kernel.form.target, Fused):
            known = _HALVES.get(known, known)
        if not known and "gain" in names and (used := _used(inputs, trials)):
            known = Statement("gain instead" if len(names) > 1 else "instead", used)
    ways = frozenset(trial.label for trial in wrong)
    where = Statement("in ways", ways) if len(ways) == 1 else _by_position(inputs.claim, wrong)
    if ways <= _STRIDED and len(ways) > 1:
        where = Statement("cotangent strides", ways)
    odd_too = ""
    if beyond:
        nan = all(np.isnan(trial.got).any() for trial in beyond)
        of = tuple(Statement("by", trial.name) for trial in beyond)
        odd_too = Statement("odd too", of, Statement("NaN at 0") if nan else Statement("for", ODD_GAINS))
    cause = Cause("backward", wrong_of, Statement("known", known) if known else "", where, odd_too)
    return "bug", cause, [*proved, *wrong]


def _by_position(claim: Claim, wrong: list[GradientTrial]) -> Statement | str:
    """In which rows of a batch d/dx is wrong, where that is a matter of their place and not of what they hold."""
    trial = max((trial for trial in wrong if trial.name == "x"), key=lambda trial: len(trial.x), default=None)
    if trial is None or trial.wrong.all() or claim.kernel.form.filed:
        return ""
    if (_gradient_at(claim, trial.x[::-1], trial.label)[0].wrong != trial.wrong).any():
        return ""
    kind = "only in" if trial.got[trial.wrong].any() else "zero only in"
    return Statement(kind, places(trial.wrong, "row"), len(trial.x))


def _refuted(doubtful: list[GradientTrial]) -> list[GradientTrial]:
    """Of each derivative the first that fractions refute, which is the evidence; where floats alone do, none."""
    of_each = ([trial for trial in doubtful if trial.name == name] for name in ("x", "gain", "bias"))
    return [trial for group in of_each if (trial := next((t for t in group if t.outside()), None))]


def _used(inputs: Inputs, trials: list[GradientTrial]) -> Statement | None:
    """What is summed with the cotangent for the derivative by the gain: cotangents of one row show it row by row."""
    trial = next(trial for trial in trials if trial.name == "gain" and trial.label == _ORDINARY)
    if trial.d > _MAIN or inputs.claim.kernel.form.filed:
        return None
    rows = (np.eye(len(trial.x))[:, k : k + 1] + 0 * trial.x for k in range(len(trial.x)))
    gains = [_computed(inputs.claim, trial.x, row, (-1,), transposed=False, only=None)["gain"] for row in rows]
    return instead(np.reshape(gains, trial.x.shape), trial.x, trial.base, 2.0**-trial.arithmetic.storage.bits)


def _of_parameters(trials: list[GradientTrial], proved: list[GradientTrial]) -> Statement | None:
    """What came out instead of a derivative by gain or bias: the other one, or other rows and components."""
    told = []
    for trial in (trial for trial in proved if trial.name != "x"):
        others = (t for t in trials if t.label == trial.label and t.d == trial.d and t.name not in ("x", trial.name))
        other = next((t for t in others if t.x.shape == trial.x.shape and t.takes(trial.got)), None)
        if other is not None and other.wrong.any() and trial.takes(other.got):
            return Statement("two exchanged")
        n = replace(trial.base, gain=None, bias=None).output(Sample(trial.x)).astype(float)
        terms = trial.cotangent * (n if trial.name == "gain" else 1)
        how = Statement("that by", other.name) if other else summed(terms, trial.got[0], trial.bound[0].astype(float))
        told += [Statement("by so", trial.name, how)] if how else []
    return Statement("list", tuple(told)) if told else None


def _kept_in_half(trials: list[GradientTrial], dtype: str) -> str | None:
    """A note if derivatives show a mean and a root that a half format held, which the bounds excuse."""
    wheres = ("x", "the backward pass: one error for the whole row"), ("gain", "d/dgain")
    for name, where in wheres if FORMATS[dtype].bits < 24 else ():
        told = [trial for trial in trials if trial.name == name and trial.label == _ORDINARY]
        rounded, plain = (all(trial.kept(dtype, whole=whole) for trial in told) for whole in (False, True))
        if rounded and not plain:
            return f"statistics kept in {dtype} for {where}"
    return None


def _smallest(claim: Claim, worst: GradientTrial) -> GradientTrial:
    """A trial of one row as short and as simple as can be on which the derivative by x is wrong, or `worst`."""
    if worst.name != "x":
        return worst
    row, fixed = worst.x[worst.worst[0]], claim.kernel.fixed is not None
    small = smallest_input(lambda x: _gradient_at(claim, x, worst.label)[0], row, fixed=fixed)
    return small if small is not None and small.outside() else worst


_TRANSPOSED, _EXPANDED, _ONE_SIGN = Way("cotangent transposed"), Way("cotangent expanded"), "one sign"
_STRIDED = {_TRANSPOSED, _EXPANDED}


def _gradient_at(
    claim: Claim, x: np.ndarray, label: Way, lead: tuple[int, ...] = (-1,), only: str | None = None
) -> list[GradientTrial]:
    """The derivatives at the rows `x`, with cotangents of order 1, of batches with the leading axes `lead`.

    Without axes the cotangent is one number, expanded. `only` one of them is asked for if it is named.
    """
    x = claim.stored(x)
    random = claim.stored(np.random.default_rng(7).normal(size=x.shape))
    cotangent = random if lead else np.ones_like(x)
    if label.kind == _ONE_SIGN:
        cotangent = abs(random) * (
            np.sign(x - claim.centered * x.mean(-1, keepdims=True)) if "gain" in label.values else 1
        )
    base = claim.base(x.shape[-1])
    passed = Gradients.of(x, base, claim.arithmetic)
    return [
        GradientTrial(label, x, np.reshape(got, (-1, x.shape[-1])), base, claim.arithmetic, name, cotangent, passed)
        for name, got in _computed(claim, x, cotangent, lead, transposed=label == _TRANSPOSED, only=only).items()
    ]


def gradient_trials(inputs: Inputs) -> Iterator[GradientTrial]:
    """The derivatives of all groups at the main dimension, and of shapes, sums over many rows, and other dimensions."""
    claim, kernel = inputs.claim, inputs.claim.kernel
    (main, listed), *elsewhere = inputs.groups.items()
    groups = dict(listed)
    for label, rows in groups.items():
        yield from _gradient_at(claim, rows, label)
    ordinary = groups[_ORDINARY]
    yield from _gradient_at(claim, ordinary, _EXPANDED, ())
    others = [(Way("three axes"), ordinary, (2, -1)), (_TRANSPOSED, ordinary, (-1,))]
    others += [(Way("batch of one"), ordinary[:1], (-1,))]
    summed = 4 if kernel.several else main
    if summed <= _MAIN:
        # Terms of one sign: in 16 bits such a sum comes to a stand, where one of both signs is off by little.
        rows = _ROWS_INTERPRETED if kernel.form.interpreted else _ROWS
        many = np.random.default_rng(main).normal(size=(rows, summed))
        others += [(Way(_ONE_SIGN, name, rows), many, (-1,)) for name in ("gain", "bias")]
    if claim.base(main).gain is not None:
        with contextlib.suppress(Exception):  # the forward pass has noted what it refuses
            yield from _gradient_at(claim.like("odd gains"), ordinary, ODD_GAINS)
    for name in ("x", "gain", "bias"):
        with contextlib.suppress(KeyError):
            yield from _gradient_at(claim, ordinary, Way("alone", name), only=name)
    others += [(label, rows, (-1,)) for _, few in elsewhere for label, rows in few[:2]]
    for label, rows, lead in others:
        # A kernel may refuse a shape in any way its framework has; the forward pass has noted which.
        with contextlib.suppress(Exception):
            yield from _gradient_at(claim, rows, label, lead)


def _computed(
    claim: Claim, x: np.ndarray, cotangent: np.ndarray, lead: tuple[int, ...], *, transposed: bool, only: str | None
) -> dict[str, np.ndarray]:
    """The derivatives by x and by gain and bias, as the framework of the kernel computes them; or `only` one."""
    kernel = claim.kernel
    if isinstance(filed := kernel.form.target, Filed):
        values = np.broadcast_to(cotangent, x.shape)
        return {} if only else filed.derivatives(x, kernel.arrays(x.shape[-1]), values)
    if kernel.framework.name not in ("torch", "jax"):
        msg = f"{kernel.name} is a {kernel.framework.name} kernel: --backward needs PyTorch or JAX to differentiate it"
        raise InputError(msg)
    shape = (*(lead or (-1,)), x.shape[-1])
    parameters = kernel.at(x.shape[-1]).leaves or kernel.arrays(x.shape[-1])
    leaves: Leaves = {"x": kernel.array(x.reshape(shape)), **parameters}

    def forward(x: FrameworkArray, *values: FrameworkArray) -> Any:
        return kernel.call(x, dict(zip(parameters, values, strict=True)))

    seed: Any = kernel.array(cotangent.reshape(shape) if lead else np.ones(()))
    if kernel.framework.name == "torch":
        asked = leaves if only is None else {only: leaves[only]}
        gradients = _by_torch(kernel, forward, leaves, asked, seed, transposed=transposed)
        return {name: kernel.framework.read(gradient) for name, gradient in zip(asked, gradients, strict=True)}
    if only is not None:
        return {}
    jax = importlib.import_module("jax")
    output, pull = jax.vjp(forward, *leaves.values())
    gradients = pull(jax.numpy.broadcast_to(seed.astype(output.dtype), output.shape))
    return {name: kernel.framework.read(gradient) for name, gradient in zip(leaves, gradients, strict=True)}


def _by_torch(
    kernel: Kernel, forward: Callable[..., Any], leaves: Leaves, asked: Leaves, seed: Any, *, transposed: bool
) -> tuple[FrameworkArray, ...]:
    """Derivatives by `asked` of the `leaves` that autograd computes from a cotangent, which it must leave as it is."""
    torch = importlib.import_module("torch")
    output = forward(*(leaf.requires_grad_(name in asked) for name, leaf in leaves.items()))
    if not output.requires_grad and len(asked) == len(leaves):
        raise _NoGradient
    seed = seed.to(output.dtype).expand(output.shape)
    seed = seed.T.contiguous().T if transposed else seed
    before = seed.clone()
    with limited("the backward pass", kernel.asked.seconds):
        gradients = torch.autograd.grad(output, list(asked.values()), seed, allow_unused=True)
    if not torch.equal(seed, before):
        raise ValueError("the cotangent is overwritten in place")
    # The forward pass is within rounding of one that reads all of them.
    if missing := [name for name, gradient in zip(asked, gradients, strict=True) if gradient is None]:
        raise _Missing(f"{', '.join(f'd/d{name}' for name in missing)}: no gradient")
    return gradients
