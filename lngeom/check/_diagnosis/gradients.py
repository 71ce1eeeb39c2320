"""Derivatives of a norm kernel against the exact transposed Jacobian."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from lngeom.cli import out_of_memory
from lngeom.errors import LngeomError
from lngeom.rounding import FORMATS, REAL, Gradients, Sample, instead, places, pulled, rounded, summed
from lngeom.sentences import Cause, Statement, Way, several
from lngeom.shrinking import smallest_input

from .._calls.binding import WITHOUT
from .._calls.derivatives import CIRCUMSTANCES, Circumstance, MissingGradient, NoGradient, derivatives
from .._calls.fused import Fused
from .._calls.kernel import Kernel
from .._tracing.roles import parameters, role
from .._tracing.trace import Refusal
from .._tracing.triton import Unread
from .._trials.bits import derivative_bits
from .._trials.claim import Claim
from .._trials.inputs import Inputs
from .._trials.layouts import GRID, NOT_CONTIGUOUS, TOKENS, counted
from .._trials.trial import Outputs, Shown, attempt
from .._trials.trials import ODD_GAINS
from .beside import BESIDE
from .names import Named

_ROWS, _ROWS_INTERPRETED, _MAIN = 4099, 601, 128
"""Rows over which derivatives by gain and bias are summed, and the most components that they have."""
_ORDINARY = Way("ordinary")
_HALVES = {
    Statement("zeros in", Statement("period", Statement("at", "component", 0), 2)): Statement("input lost"),
    Statement("zeros in", Statement("period", Statement("last", "component"), 2)): Statement("no residual gradient"),
}
"""Every other component of a fused kernel comes as the residual."""


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
        if (passed := Gradients.exactly(x.tolist(), self.base, self.arithmetic)) is None:
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


def differentiated(named: Named) -> Named:
    """With the derivatives of the definition or variant that the outputs show, on the same rows, if asked for."""
    claim = named.tried.inputs.claim
    if not claim.kernel.asked.backward or named.verdict not in ("rounding", "variant"):
        return named
    claim = replace(claim, variant=named.cause if named.verdict == "variant" else None)
    meant = claim.base(claim.kernel.d)
    altered = meant.placement == "outside" or meant.statistics or meant.denominator or meant.prepare
    examined = _numbers_alone if claim.meant.stated or altered else _held_to_bounds
    try:
        return examined(named, named.tried.inputs._replace(claim=claim))
    except NoGradient:
        if _by_strides(claim.kernel):
            return replace(named, verdict="bug", cause=Cause("detached contiguous"))
        return _wrong(named, Cause("detached"))


def _wrong(named: Named, cause: Cause, **evidence: Any) -> Named:
    """The verdict where a derivative is wrong, whatever the outputs are."""
    beside = several(named.cause, Cause("beyond", cause)) if named.cause else cause
    return replace(named, verdict="bug", cause=beside, **evidence)


def _by_strides(kernel: Kernel) -> bool:
    """Whether the output on a transposed array has a gradient, where that on contiguous rows has none."""
    x: Any = kernel.array(np.random.default_rng(1).normal(size=(kernel.d, 3)))
    return getattr(attempt("", lambda: kernel.call(x.T.requires_grad_())), "requires_grad", False)


def _numbers_alone(named: Named, inputs: Inputs) -> Named:
    """The verdict where no bounds are derived: only whether derivatives are numbers where the outputs are."""
    claim = inputs.claim
    if claim.kernel.form.filed:
        return replace(named, notes=(*named.notes, Statement("derivatives not examined")))
    notes = (*named.notes, Statement("derivatives are numbers"))
    for label, rows in inputs.groups[claim.kernel.d]:
        x = claim.stored(rows)
        held = np.isfinite(claim.kernel.run(x)).all(-1)
        for name, got in derivatives(claim.kernel, x[held], np.ones_like(x[held])).items():
            if np.isnan(got).any():
                return _wrong(named, Cause("NaN for", name, label), notes=notes)
    return replace(named, notes=notes)


def _held_to_bounds(named: Named, inputs: Inputs) -> Named:
    """The verdict where derivatives have bounds: at all groups, and through further outputs of PyTorch's autograd."""
    claim, trials, raised = inputs.claim, list[GradientTrial](), None
    try:
        trials.extend(gradient_trials(inputs))  # those before an error are kept: a wrong number says more
    except Exception as error:  # a backward pass raises what it likes, or is none
        told = "they use what an earlier call has kept" if isinstance(error, Refusal) else str(error)
        unread = [Statement("derivatives not read", told)] * isinstance(error, Unread | Refusal)
        if out_of_memory(error) or (isinstance(error, LngeomError) and not unread):
            raise
        said = str(error) if isinstance(error, MissingGradient) else f"{type(error).__name__}: {error}"
        told = "".join(getattr(error, "__notes__", ())[-1:])
        kind = "raises" if told and not isinstance(error, MissingGradient) else "backward"
        wrong = _wrong(named, Cause(kind, " ".join(said.split())[:140], told, "", ""))
        raised = replace(named, notes=(*named.notes, *unread)) if unread else wrong
    trials.sort(key=lambda trial: -trial.largest)
    cause, wrong = _judged(inputs, trials)
    if cause is None and raised is not None:
        return raised
    if cause is None and claim.kernel.framework.name == "torch":
        lost: list[Statement] = [note for note in claim.kernel.at(claim.kernel.d).still if note.kind == "unregistered"]
        ordinary = dict(inputs.groups[claim.kernel.d])[_ORDINARY]
        beside = (found for look in BESIDE for found in look(claim, ordinary))
        if lost := [*lost, *beside]:
            return _wrong(named, Cause("backward", lost[0], "", "", ""))
    kept = _kept_in_half(wrong or trials, claim.kernel.dtype)
    bits = [] if cause else derivative_bits(claim, dict(inputs.groups[claim.kernel.d])[_ORDINARY])
    notes = (*named.notes, Statement("bounds by hand"), *([kept] if kept else []), *bits)
    evidence = {"notes": notes, "ratio": max(trial.largest for trial in wrong or trials)}
    if cause is None:
        return replace(named, **evidence)
    return _wrong(named, cause, shown=_smallest(claim, wrong[0]).shown(), **evidence)


def _judged(inputs: Inputs, trials: list[GradientTrial]) -> tuple[Cause | None, list[GradientTrial]]:
    """The cause and the wrong trials, the evidence first; no cause where every derivative is right."""
    doubtful = sorted((trial for trial in trials if trial.wrong.any()), key=lambda trial: trial.d)
    if _STORED in {trial.label for trial in doubtful}:  # what one batch shows
        doubtful = [trial for trial in doubtful if trial.label.kind != "second batch"]
    odd = _refuted([trial for trial in doubtful if trial.label == ODD_GAINS])
    usual = _refuted([trial for trial in doubtful if trial.label != ODD_GAINS])
    proved = usual or odd
    if not proved:
        return None, []
    names = [trial.name for trial in proved]
    beyond = [trial for trial in odd if trial.name not in names]
    wrong = [trial for trial in doubtful if trial.name in names]
    wrong_of = tuple(Statement("by", name) for name in names)
    if FORMATS[inputs.claim.kernel.dtype].bits < 24 and all(trial.stands for trial in wrong):
        return Cause("backward", wrong_of, Statement("known", Statement("in 16 bits")), "", ""), [*proved, *wrong]
    with np.errstate(all="ignore"):
        doubt = Doubt(inputs, trials, proved, wrong)
        known = next((answer for hypothesis in HYPOTHESES if (answer := hypothesis(doubt)) is not None), None)
    odd_too = ""
    if beyond:
        nan = all(np.isnan(trial.got).any() for trial in beyond)
        of = tuple(Statement("by", trial.name) for trial in beyond)
        odd_too = Statement("odd too", of, Statement("NaN at 0") if nan else Statement("for", ODD_GAINS))
    told = Statement("known", known) if known else ""
    return Cause("backward", wrong_of, told, _where(inputs.claim, wrong, trials), odd_too), [*proved, *wrong]


class Doubt(NamedTuple):
    """All trials; of each wrong derivative the one that fractions refute; and all trials of these derivatives."""

    inputs: Inputs
    trials: list[GradientTrial]
    proved: list[GradientTrial]
    wrong: list[GradientTrial]


def _not_numbers(doubt: Doubt) -> Statement | None:
    """Derivatives that are NaN where the right ones are numbers."""
    nan = all((np.isnan(trial.got) & np.isfinite(trial.right)).any() for trial in doubt.proved)
    return Statement("NaN at 0" if doubt.proved[0].label == ODD_GAINS else "NaN") if nan else None


def _closed_form(doubt: Doubt) -> Statement | None:
    """The one closed form that gives d/dx in every dimension."""
    telling = (trial for trial in doubt.wrong if trial.name == "x" and trial.d > 3 and trial.label == _ORDINARY)
    fitted = {pulled(trial.x, trial.cotangent, trial.got, trial.bound, trial.base) for trial in telling}
    form = next(iter(fitted)) if len(fitted) == 1 else None
    return _HALVES.get(form, form) if form and isinstance(doubt.inputs.claim.kernel.form.target, Fused) else form


def _where(claim: Claim, wrong: list[GradientTrial], trials: list[GradientTrial]) -> Statement | str:
    """The ways or the rows in which alone derivatives are wrong."""
    ways = frozenset(trial.label for trial in wrong)
    if len(ways) > 1 and ways <= _STRIDED:
        return Statement("cotangent strides", ways)
    if len(ways) == 1 or (len(ways) <= _FEW and {way.kind for way in ways} <= {*CIRCUMSTANCES, *_SPECIAL}):
        return Statement("in ways", ways)
    if _ORDINARY in ways and _TRAINING in {trial.label for trial in trials} - ways:  # the same rows
        return Statement("except in ways", _TRAINING)
    return _by_position(claim, wrong)


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


def _instead(doubt: Doubt) -> Statement | None:
    """What is summed with the cotangent for the derivative by the gain: cotangents of one row show it row by row."""
    trial = next((trial for trial in doubt.trials if trial.name == "gain" and trial.label == _ORDINARY), None)
    names, kernel = [trial.name for trial in doubt.proved], doubt.inputs.claim.kernel
    if "gain" not in names or trial is None or trial.d > _MAIN or kernel.form.filed:
        return None
    rows = (np.eye(len(trial.x))[:, k : k + 1] + 0 * trial.x for k in range(len(trial.x)))
    gains = [derivatives(kernel, trial.x, row)["gain"] for row in rows]
    used = instead(np.reshape(gains, trial.x.shape), trial.x, trial.base, 2.0**-trial.arithmetic.storage.bits)
    return Statement("gain instead" if len(names) > 1 else "instead", used) if used else None


def _of_parameters(doubt: Doubt) -> Statement | None:
    """What came out instead of a derivative by gain or bias: the other one, or other rows and components."""
    told = []
    for trial in (trial for trial in doubt.proved if trial.name != "x" and trial.label.kind != "grid"):
        alike = (t for t in doubt.trials if (t.label, t.d) == (trial.label, trial.d))
        others = (t for t in alike if t.name not in ("x", trial.name))
        other = next((t for t in others if t.x.shape == trial.x.shape and t.takes(trial.got)), None)
        if other is not None and other.wrong.any() and trial.takes(other.got):
            return Statement("two exchanged")
        n = replace(trial.base, gain=None, bias=None).output(Sample(trial.x)).astype(float)
        terms = trial.cotangent * (n if trial.name == "gain" else 1)
        how = Statement("that by", other.name) if other else summed(terms, trial.got[0], trial.bound[0].astype(float))
        told += [Statement("by so", trial.name, how)] if how else []
    return Statement("list", tuple(told)) if told else None


def _of_earlier(doubt: Doubt) -> Statement | None:
    """Derivatives of the call before, which had another cotangent."""
    claim, names = doubt.inputs.claim, [trial.name for trial in doubt.proved]
    rows = dict(doubt.inputs.groups[claim.kernel.d])[_ORDINARY]
    ways = () if claim.kernel.form.filed else ((_EXPANDED, ()), (_ORDINARY, (-1,)))
    calls = zip(*(_gradient_at(claim, rows, *way) for way in ways), strict=True)
    told = [(before, now) for before, now in calls if now.name in names]
    same = told and all(before.takes(now.got) for before, now in told) and any(now.wrong.any() for _, now in told)
    return Statement("earlier") if same else None


HYPOTHESES: tuple[Callable[[Doubt], Statement | None], ...] = (
    _not_numbers, _of_earlier, _closed_form, _of_parameters, _instead
)  # fmt: skip
"""What came out instead of a derivative; the last one calls the backward pass once for each row."""


def _kept_in_half(trials: list[GradientTrial], dtype: str) -> Statement | None:
    """A note if derivatives show a mean and a root that a half format held, which the bounds excuse."""
    kinds = {"x": "statistics kept", "gain": "statistics kept for gain"} if FORMATS[dtype].bits < 24 else {}
    for name, kind in kinds.items():
        told = [trial for trial in trials if trial.name == name and trial.label == _ORDINARY]
        rounded, plain = (all(trial.kept(dtype, whole=whole) for trial in told) for whole in (False, True))
        if rounded and not plain:
            return Statement(kind, dtype)
    return None


def _smallest(claim: Claim, worst: GradientTrial) -> GradientTrial:
    """A trial of one row as short and as simple as can be on which the derivative by x is wrong, or `worst`."""
    if worst.name != "x" or worst.d >= _WIDE:  # it takes seconds
        return worst
    row, fixed = worst.x[worst.worst[0]], claim.kernel.fixed is not None
    small = smallest_input(lambda x: _gradient_at(claim, x, worst.label)[0], row, fixed=fixed)
    return small if small is not None and small.outside() else worst


_TRANSPOSED, _EXPANDED, _ONE_SIGN = Way("cotangent transposed"), Way("cotangent expanded"), "one sign"
_ONE_ROW, _TRAINING, _OTHER = Way("cotangent of one row"), Way("training"), Way("other eps", 1.0)
_STORED, _SQUARE = Way("accumulated"), Way("square")
_SCALED, _SCALES = "cotangent scaled", (2.0**16, 2.0**-40)
"""Cotangents as a scaled loss gives them, which limits and thresholds change; powers of 2 leave their digits."""
_WIDE = 40_000
"""More components than 15 bits count, in one row."""
_STRIDED = {_TRANSPOSED, _EXPANDED, _ONE_ROW}
_BARE = "gains of one", "biases of zero", "training", *WITHOUT
_MANNERS = *_BARE, "shared", "two axes"
_SPECIAL, _FEW = {"alone", "batch of one", "three axes", "tokens", "square", _SCALED, *_MANNERS}, 6
"""Ways that are named where derivatives are wrong in a few of them alone."""
_COVERED = {"one later", "cotangent later", "strided", "shared", "wide"}
"""What a proof of all derivatives covers or names: sizes, and places in memory."""
_SOME = [names for n in (1, 2) for names in itertools.combinations(("x", "gain", "bias"), n)]
"""What may be asked for where not all derivatives are."""


def _gradient_at(
    claim: Claim, x: np.ndarray, label: Way, lead: tuple[int, ...] = (-1,), only: tuple[str, ...] = ()
) -> list[GradientTrial]:
    """The derivatives at the rows `x`, with cotangents of order 1, of batches with the leading axes `lead`.

    Without axes the cotangent is one number, expanded. `only` some of them are asked for if they are named. In a grid
    the cotangents of rows that are not told are 0: what they add is exactly 0.
    """
    claim, x = claim.like(label.kind) if label.kind in _MANNERS else claim, claim.stored(x)
    values: Any = label.values
    if label == _OTHER:
        claim = replace(claim, kernel=claim.kernel.like(eps=values[0]), eps=values[0])
    told = counted(len(x)) if label.kind == "grid" else np.arange(len(x))
    random = claim.stored(np.random.default_rng(7).normal(size=x.shape)) * np.isin(np.arange(len(x)), told)[:, None]
    cotangent = random if lead else np.ones_like(x)
    if label.kind == _ONE_SIGN:
        signs = np.sign(x - claim.centered * x.mean(-1, keepdims=True)) if "gain" in values else 1
        cotangent = abs(random) * signs
    cotangent = cotangent * values[0] if label.kind == _SCALED else cotangent
    cotangent = 0 * cotangent + cotangent[:1] if label == _ONE_ROW else cotangent
    base = claim.base(x.shape[-1])
    computed = derivatives(claim.kernel, x, cotangent, lead, way=label.kind, only=only)
    x, cotangent = x[told], cotangent[told]
    passed = Gradients.of(x, base, claim.arithmetic)
    values = {k: np.reshape(v, (-1, x.shape[-1])) for k, v in computed.items()}
    return [
        GradientTrial(label, x, got[told] if name == "x" else got, base, claim.arithmetic, name, cotangent, passed)
        for name, got in values.items()
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
    others = [(Way("three axes"), ordinary, (2, -1)), (Way("batch of one"), ordinary[:1], (-1,))]
    others += [(TOKENS, ordinary, (-1, 1)), *[(_SQUARE, np.resize(ordinary, (main, main)), (-1,))] * (main <= _MAIN)]
    takes_eps = not kernel.form.filed and "eps" in map(role, parameters(kernel.form.target))
    ways = [*map(Way, CIRCUMSTANCES), *[_OTHER] * takes_eps]
    ways += [Way(_SCALED, factor) for factor in _SCALES] * (kernel.dtype != "float16")  # there they have no digits
    others += [(way, ordinary[: 1 if way.kind == "vectors" else None], (-1,)) for way in ways]
    summed = 4 if kernel.several else main
    if summed <= _MAIN:
        # Terms of one sign: in 16 bits such a sum comes to a stand, where one of both signs is off by little.
        rows = _ROWS_INTERPRETED if kernel.form.interpreted else _ROWS
        many = np.random.default_rng(main).normal(size=(rows, summed))
        others += [(Way(_ONE_SIGN, name, rows), many, (-1,)) for name in ("gain", "bias")]
    if not (kernel.form.interpreted or kernel.form.filed) and summed <= _MAIN:
        grid = np.resize(np.random.default_rng(summed).normal(size=(_ROWS, summed)), (GRID, summed))
        others.append((Way("grid", GRID), grid, (-1,)))
    if claim.base(main).gain is not None:
        with contextlib.suppress(Exception):  # the forward pass has noted what it refuses
            yield from _gradient_at(claim.like("odd gains"), ordinary, ODD_GAINS)
        others += [(Way(manner), ordinary, (-1,)) for manner in _BARE[:3] if kernel.framework.name == "torch"]
    others += [(Way(manner), ordinary, (-1,)) for manner in kernel.optional]
    for names in _SOME:
        with contextlib.suppress(KeyError):
            yield from _gradient_at(claim, ordinary, Way("alone", " and ".join(names)), only=names)
    others += [(label, rows, (-1,)) for _, few in elsewhere for label, rows in few[:2]]
    wide = kernel.several and not (claim.arithmetic.lost(_WIDE) or kernel.form.filed)
    others += [(Way("wide", _WIDE), np.random.default_rng(_WIDE).normal(size=(1, _WIDE)), (-1,))] * wide
    left = NOT_CONTIGUOUS if kernel.asked.contiguous else set[str]()
    left |= _COVERED if claim.proof.derivatives and claim.proof.proves_backward else set()
    for label, rows, lead in (each for each in others if each[0].kind not in left):
        try:
            yield from _gradient_at(claim, rows, label, lead)
        except Exception as error:  # a kernel may refuse a shape, and has to refuse what was changed
            if isinstance(error, Refusal) or label.kind == "wide":  # it takes a symbol, which a trace left behind
                continue
            if not CIRCUMSTANCES.get(label.kind, Circumstance()).optional and _is_taken(claim, rows, label, lead):
                error.add_note(str(Statement("in ways", frozenset([label]))) * (label.kind in (*CIRCUMSTANCES, *_BARE)))
                raise


def _is_taken(claim: Claim, rows: np.ndarray, label: Way, lead: tuple[int, ...]) -> bool:
    """Whether the forward pass takes rows of this shape and layout; it has noted which it refuses."""
    with contextlib.suppress(Exception):
        x = claim.kernel.array(claim.stored(rows).reshape(*lead, rows.shape[-1]))
        return claim.kernel.call(CIRCUMSTANCES.get(label.kind, Circumstance()).laid(x)) is not None
    return False
