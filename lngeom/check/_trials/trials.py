"""The trials of a kernel: rows of many sizes, dimensions, shapes and layouts, and repeated calls."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from lngeom.behaviours import probes
from lngeom.cli import out_of_memory
from lngeom.limits import forks
from lngeom.rounding import FORMATS, SMALL, Sample, rounded
from lngeom.sentences import Cause, Way, several

from .._calls.binding import Manner
from .._calls.fused import Fused
from .._tracing.decisions import AUTOCAST, PRETENDED
from .._tracing.roles import parameters, role
from .._tracing.triton import Unread
from .claim import Claim
from .inputs import HUGE, Inputs
from .layouts import TOKENS, alone, either_cast, shaped, tokens
from .state import BATCH, leak, overwritten, state
from .trial import Aside, Note, Outcome, Trial, attempt, refusal
from .unexamined import ALL, Untested, unexamined

ODD_GAINS = Way("odd gains")
_MODES = {"no gradients": "no_grad", "inference": "inference_mode"}
OTHER_EPS = "other eps"
ASKED = {OTHER_EPS, "gains of one", "biases of zero", "autocast", "of dtype", "vectors", *_MODES, *PRETENDED}
MANNERS = {"odd gains", "training", *ASKED}
"""Kinds of ways: the same kernel with other gains, in another mode, and, in `ASKED`, what programs ask about."""
_ORDINARY = Way("ordinary")
_BATCH = "a batch that it took"
_SHIFT = 16.0
"""A mean that a variance of one pass in bfloat16 does not survive."""
_ERRORS = "refused", "beyond end"
"""Kinds of notes that are faults where a call is one that the kernel took before."""


@dataclass(frozen=True)
class Tried:
    """The outcomes of all trials.

    Attributes:
        trials: Outputs of all groups, those of ordinary rows at the main dimension first.
        notes: Refusals, and observations that a correct kernel may show.
        faults: Behaviour of no correct kernel; the first one is reported.
        alone: Outputs of the first rows, each a batch of its own, where they are wrong in their batch.
        sums: Which sum a fused kernel normalizes, and the fault of that sum.
        wrong, refuted: The smallest trial that exact arithmetic confirms wrong, None if there is none; and the claim
            that it refutes, with gain 1 and bias 0 where these are wrong as well.
    """

    inputs: Inputs
    trials: list[Trial]
    notes: list[Note]
    faults: list[Cause]
    left: Untested = ALL
    alone: np.ndarray | None = None
    sums: tuple[str | None, Cause | None] = None, None
    wrong: Trial | None = None
    refuted: Claim | None = None


class _Log:
    """Outcomes in the order in which they came."""

    def __init__(self) -> None:
        self.trials, self.notes, self.faults, self.asides = list[Trial](), list[Note](), list[Cause](), list[Trial]()
        self._kinds: Any = {Trial: self.trials, Note: self.notes, Cause: self.faults, Aside: self.asides}

    def take(self, outcome: Outcome) -> None:
        """Adds it to its kind."""
        self._kinds[type(outcome)].append(outcome)

    def add(self, what: object, outcomes: Iterable[Outcome], *faults: str) -> bool:
        """Whether the trials end without an error, which is a note, or a fault if it is of one of these kinds."""
        try:
            for outcome in outcomes:
                self.take(outcome)
        except Exception as error:  # a kernel may refuse in any way its framework has
            note = refusal(what, error)
            # Neither lack of memory nor an operation of Triton that this package does not run is a fault of the kernel.
            if (note.kind in faults and out_of_memory(error)) or (faults == _ERRORS and isinstance(error, Unread)):
                raise
            self.take(note.fault if note.kind in faults else note)
            return False
        return True


def tried(inputs: Inputs) -> Tried:
    """All trials; outputs of calls that were made to see something else count where no others are wrong."""
    log = _Log()
    found = _run(inputs, log)
    if not any(trial.wrong.any() for trial in log.trials):
        log.trials += (aside for aside in log.asides if aside.wrong.any())
    return Tried(inputs, log.trials, log.notes, log.faults, *found)


def _run(inputs: Inputs, log: _Log) -> tuple[Any, ...]:
    """Rows of every dimension, then shapes and layouts, other parameters, and memory; and what else is found."""
    claim, before = inputs.claim, forks()
    form, (main, *elsewhere) = claim.kernel.form, inputs.groups.items()
    ordinary = main[1][0][1]
    log.add(_ORDINARY, _of_main(claim, main[1]), *_ERRORS)
    for d, groups in elsewhere:
        log.add(f"d = {d}", _of_other(claim, groups, d), "beyond end")  # a dimension may be refused
    if not log.trials:  # it takes no rows at all
        return ()
    left = attempt("a second look at its outputs", lambda: unexamined(claim, ordinary, log.take))
    if isinstance(left, Note):
        log.take(left)
        left = Tried.left
    if claim.kernel.d > HUGE:  # each call takes seconds
        log.take(Note("too large", HUGE))
        return (left,)
    # Other gains and modes only where nothing is wrong yet: a mistake is named by the usual ones.
    if (
        log.add(_BATCH, shaped(claim, inputs.few(_ORDINARY, Way("massive")), inputs.few(_ORDINARY, SMALL)), *_ERRORS)
        and not any(trial.wrong.any() for trial in log.trials)
        and log.add(_BATCH, _in_other_manners(claim, np.concatenate([ordinary, dict(main[1])[SMALL]])), *_ERRORS)
    ):
        log.add(TOKENS, tokens(claim, [rows for _, rows in main[1]]))
        optional = claim.kernel.optional
        log.add("gain or bias that is None", (claim.like(each).trial(Way(each), ordinary) for each in optional))
    if not log.faults:  # the verdict is a bug whatever the dtype is
        log.add("the dtype of its outputs", _of_other_dtype(claim, ordinary))
    log.add("a large batch", leak(claim, ordinary))
    in_place, after = getattr(form.given, "in_place", False), getattr(form.target, "after", False)
    held = {"works in place": in_place, "residual after": after, "interpreted": form.interpreted, "filed": form.filed}
    held["forks"] = forks() > before
    log.notes += [Note(kind) for kind, holds in held.items() if holds]
    if log.faults:
        return (left,)
    first = log.trials[0]  # where it is wrong, the diagnosis asks whether rows depend on each other
    rows = attempt("", lambda: alone(claim, first.x[:3])) if first.wrong[:3].any() else None
    return left, None if isinstance(rows, Note) else rows, _sums(claim)


def _of_main(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]]) -> Iterator[Outcome]:
    """The main dimension: ordinary rows, what repeated calls show, and all groups."""
    ordinary = groups[0][1]
    yield claim.trial(_ORDINARY, ordinary)
    for look, x in ((_missing, ordinary), (state, ordinary), (_other_eps, dict(groups).get(SMALL, ordinary))):
        seen = list(look(claim, x))
        yield from seen
        if any(isinstance(each, Cause) for each in seen):
            break
    if claim.kernel.form.filed:  # the rows that show kind and ε are a file too
        yield claim.trial(Way("probes"), probes(claim.kernel.d, claim.kernel.dtype))
    yield from _of_dimension(claim, groups)


def _of_other(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]], d: int) -> Iterator[Outcome]:
    outcomes = [Cause("in d", one, d) if isinstance(one, Cause) else one for one in _of_dimension(claim, groups)]
    yield from outcomes
    if not any(isinstance(outcome, Cause) for outcome in outcomes):
        seen = overwritten(claim, groups[0][1])
        yield from (Cause("at d", one, d) if isinstance(one, Cause) else one for one in seen)


def _of_dimension(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]]) -> Iterator[Outcome]:
    """All groups of one dimension in one call; a fault if the kernel raises at some of them and takes others."""
    rows = np.concatenate([x for _, x in groups])
    try:
        whole = claim.trial(_ORDINARY, rows).steady(lambda: claim.kernel.run(claim.stored(rows)))
    except Exception as error:
        if not out_of_memory(error) and not isinstance(error, Unread):
            each = [attempt(label, lambda label=label, x=x: claim.trial(label, x)) for label, x in groups]
            refused = [note for note in each if isinstance(note, Note)]
            if 0 < len(refused) < len(groups):
                yield refused[0].fault
                return
        raise  # it refuses the dimension, or the size of the batch
    if isinstance(whole, Cause):
        yield whole
        return
    begin = 0
    for label, x in groups:
        yield whole.part(label, begin, begin := begin + len(x))


def _in_other_manners(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """Gains that are zero or large, gains or biases alone that are plain, and modes, of a module or of PyTorch."""
    kernel, base = claim.kernel, claim.base(x.shape[-1])
    gain, several = base.gain is not None, base.gain is not None and base.bias is not None
    manners: dict[Manner, bool] = {"odd gains": gain, "gains of one": several, "biases of zero": several}
    manners["training"] = bool(kernel.at(x.shape[-1]).leaves)
    yield from (claim.like(manner).trial(Way(manner), x) for manner, has in manners.items() if has)
    if kernel.framework.name == "torch":
        yield from _in_modes(claim, x)


def _in_modes(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """Modes of PyTorch, and what the program asks about."""
    torch, asked = importlib.import_module("torch"), claim.proof.circumstances
    modes = {kind: getattr(torch, name)() for kind, name in _MODES.items()}
    modes |= {kind: mock.patch(path, return_value=True) for kind, path in PRETENDED.items() if kind in asked}
    for kind, mode in modes.items():
        with mode:
            trial, (*changed, _) = claim.trial(Way(kind), x), overwritten(claim, x)
        yield trial
        yield from (several(one, Cause("only for", Way(kind))) for one in changed if isinstance(one, Cause))
    # The usual ε of a norm that states none depends on the format.
    held = getattr(claim.kernel.at(x.shape[-1]).function, "buffers", tuple)()  # numbers that half formats may not hold
    halves = ("bfloat16", "float16") if any(one.numel() == 1 and one.is_floating_point() for one in held) else ()
    for dtype in dict.fromkeys((*claim.proof.own_paths, *halves)) if claim.kernel.eps is not None else ():
        other = claim.like(dtype=dtype)
        rows = other.stored(np.concatenate([x, 0 * x[:1]]))
        yield either_cast(other, Way("of dtype", dtype), rows, other.kernel.run(rows))
        # In a half format a missing ε looks like a small one.
        if any(isinstance(one, Cause) for one in (_other_eps(other, x) if FORMATS[dtype].bits < 24 else ())):
            yield Cause("another eps", Way("of dtype", dtype))
    if AUTOCAST in asked or not claim.kernel.form.interpreted:
        narrow, run = claim.like(dtype="bfloat16"), claim.kernel.run
        rows = narrow.stored(np.concatenate([x, x + _SHIFT]))
        with torch.autocast((claim.kernel.asked.device or "cpu").partition(":")[0], torch.bfloat16):
            got = attempt(Way("autocast"), lambda: run(rows))
        if isinstance(got, Note):
            yield got.fault if AUTOCAST in asked else got
        elif AUTOCAST in asked or not np.array_equal(got, run(rows), equal_nan=True):  # as products of matrices do
            trial = either_cast(narrow, Way("autocast"), rows, got)
            yield trial if AUTOCAST in asked or not trial.wrong.any() else Note("products in autocast", trial.largest)


def _missing(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """Whether a kernel that works in place leaves its rows as they are."""
    in_place, x = getattr(claim.kernel.form.given, "in_place", False), claim.stored(x)
    if in_place and np.array_equal(claim.kernel.run(x), x):
        yield Cause("no output")


def _other_eps(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """Rows of small variance at other ε; a fault if outputs are the same, so that the one that is given is ignored."""
    other, x = 64 * float(claim.eps) or 1e-3, claim.stored(x)
    fixed = claim.meant.kernel is not None and claim.meant.eps is None  # what specifies it has one ε alone
    if fixed or "eps" not in map(role, parameters(claim.kernel.form.target)):
        return
    others = [replace(claim, kernel=claim.kernel.like(eps=eps), eps=eps) for eps in (other, max(1.0, other))]
    outputs = [each.kernel.run(x) for each in (*others, claim)]  # a lower limit may hide one
    own = outputs[-1]
    # NaN would stay in any case.
    if np.isfinite(own).any() and all(np.array_equal(own, output, equal_nan=True) for output in outputs):
        yield Cause("eps ignored", float(claim.eps), other)
        return
    yield claim.judged(Way(BATCH, len(x)), x, own, Aside)
    for one, got in zip(others, outputs, strict=False):
        yield one.judged(Way(OTHER_EPS, one.eps), x, got, Aside).steady(lambda one=one: one.kernel.run(x))


def _of_other_dtype(claim: Claim, x: np.ndarray) -> Iterator[Outcome]:
    """A note if outputs are of another dtype than rows."""
    output = claim.kernel.call(claim.kernel.array(x))
    yield claim.judged(Way(BATCH, len(x)), claim.stored(x), claim.kernel.framework.read(output), Aside)
    dtype = str(getattr(output, "dtype", "")).rpartition(".")[2]
    if dtype not in ("", claim.kernel.dtype) and not claim.kernel.form.filed:
        yield Note("output dtype", dtype, claim.kernel.dtype)


def _sums(claim: Claim) -> tuple[str | None, Cause | None]:
    """Which sum a fused kernel normalizes, "rounded" or "unrounded", None if both explain it; and what is wrong."""
    kernel, rng = claim.kernel, np.random.default_rng(claim.kernel.d)
    fused = kernel.form.target
    if not isinstance(fused, Fused):  # it adds nothing
        return None, None
    x, residual = (claim.stored(size * rng.normal(size=(32, kernel.d))) for size in (1.0, 0.37))
    exact, read = x + residual, kernel.framework.read
    fused.residual = kernel.array(residual)
    try:
        got = kernel.run(x)
    finally:
        fused.residual = None
    once = rounded(exact, kernel.dtype).astype(float)
    if fused.after:
        plain, unit = (kernel.run(x), float(FORMATS[kernel.dtype].roundoff))  # norm, residual, sum
        off = abs(got - plain - residual) > 4 * unit * (abs(plain) + abs(got))
        return None, Cause("residual not in output") if off.any() else None
    if fused.total is not None and not np.array_equal(read(fused.total), once):
        return None, Cause("other sum returned")
    base, sums = claim.base(kernel.d), {"rounded": once, "unrounded": exact}
    holds = [key for key, rows in sums.items() if base.family(Sample(rows), claim.arithmetic).fit(got).ok.all()]
    if not holds:
        return None, Cause("no sum")
    # In float32 and wider the sum is rounded at the precision of the work: the two are one definition.
    return (holds[0] if len(holds) == 1 and FORMATS[kernel.dtype].bits < 24 else None), None
