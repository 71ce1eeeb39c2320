"""The trials of a kernel: rows of many sizes, dimensions, shapes and layouts, and repeated calls."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lngeom.cli import out_of_memory
from lngeom.sentences import Cause, Way

from .._calls.call_files import Unwritten
from .._calls.triton_hook import INTERPRETED
from .claim import Claim
from .inputs import HUGE, SMALL, Inputs
from .layouts import TOKENS, shaped, tokens
from .memory import leak
from .state import overwritten, state
from .sums import sums
from .trial import Fault, Note, Outcome, Trial, attempt, refusal
from .unexamined import ALL, Untested, unexamined, without

ODD_GAINS, TRAINING = Way("odd gains"), Way("training")
MANNERS = {"odd gains", "training"}
"""Kinds of ways: the same kernel with other gains, and in another mode."""
_ORDINARY = Way("ordinary")
_BATCH = "a batch that it took"
_FILED = "outputs read from files: repeated calls, layouts in memory and mixed dtypes were not examined"


@dataclass(frozen=True)
class Tried:
    """The outcomes of all trials.

    Attributes:
        inputs: The rows, with the claim.
        trials: Outputs of all groups, those of ordinary rows at the main dimension first.
        notes: Refusals, and observations that a correct kernel may show.
        faults: Behaviour of no correct kernel; the first one is reported.
        left: The untested conditions.
        alone: Outputs of the first rows, each a batch of its own, where they are wrong in their batch.
        sums: Which sum a fused kernel normalizes, and the fault of that sum.
        wrong, refuted: The smallest trial that exact arithmetic confirms wrong, None if there is none; and the claim
            that it refutes, with gain 1 and bias 0 where these are wrong as well.
    """

    inputs: Inputs
    trials: list[Trial]
    notes: list[str]
    faults: list[Cause | str]
    left: Untested = ALL
    alone: np.ndarray | None = None
    sums: tuple[str | None, str | None] = None, None
    wrong: Trial | None = None
    refuted: Claim | None = None


class _Log:
    """Outcomes in the order in which they came."""

    def __init__(self) -> None:
        self.trials, self.notes, self.faults = list[Trial](), list[str](), list[Cause | str]()

    def take(self, outcome: Outcome) -> None:
        """Adds it to its kind."""
        if isinstance(outcome, Trial):
            self.trials.append(outcome)
        elif isinstance(outcome, Fault):
            self.faults.append(outcome.text)
        else:
            self.notes.append(outcome.text)

    def add(self, what: object, outcomes: Iterable[Outcome], kind: Callable[[str], Note | Fault] = Note) -> bool:
        """Whether the trials end without an error; an error of the kernel is a note, or of another `kind`."""
        try:
            for outcome in outcomes:
                self.take(outcome)
        except Exception as error:  # a kernel may refuse in any way its framework has
            if kind is Fault and out_of_memory(error):  # small memory is no fault of the kernel
                raise
            self.take((Note if isinstance(error, Unwritten) else kind)(refusal(what, error)))
            return False
        return True


def tried(inputs: Inputs) -> Tried:
    """Rows of every dimension, then shapes and layouts, other parameters, and memory."""
    claim, log = inputs.claim, _Log()
    form, (main, *elsewhere) = claim.kernel.form, inputs.groups.items()
    ordinary = main[1][0][1]
    log.add(_ORDINARY, _of_main(claim, main[1]), Fault)
    for d, groups in elsewhere:
        log.add(f"d = {d}", _of_other(claim, groups, d), _beyond_end)
    if not log.trials:
        return Tried(inputs, log.trials, log.notes, log.faults)
    left = attempt("a second look at its outputs", lambda: unexamined(claim, ordinary))
    if isinstance(left, Note):
        log.take(left)
        left = Tried.left
    if claim.kernel.d > HUGE:
        log.take(Note(f"shapes, memory and batches are not tried at more than {HUGE} components"))
        return Tried(inputs, log.trials, log.notes, log.faults, left)
    # Other gains and modes only where nothing is wrong yet: a mistake is named by the usual ones.
    if (
        log.add(_BATCH, shaped(claim, inputs.awkward()), Fault)
        and not any(trial.wrong.any() for trial in log.trials)
        and log.add(_BATCH, _in_other_manners(claim, ordinary), Fault)
    ):
        log.add(TOKENS, tokens(claim, [rows for _, rows in main[1]]))
        log.add("gain or bias that is None", () if form.filed else without(claim, ordinary))
    if not log.faults:
        log.add("the dtype of its outputs", _of_other_dtype(claim, ordinary))
    log.add("a large batch", leak(claim, ordinary))
    log.notes += ["works in place"] if getattr(form.given, "in_place", False) else []
    log.notes += ["the residual is added after the norm"] if getattr(form.target, "after", False) else []
    log.notes += [INTERPRETED] if form.interpreted else []
    log.notes += [_FILED] if form.filed else []
    first, alone = log.trials[0], None
    if log.faults:
        return Tried(inputs, log.trials, log.notes, log.faults, left)
    if first.wrong[:3].any():
        alone = _alone(claim, first.x[:3])
    return Tried(inputs, log.trials, log.notes, log.faults, left, alone, sums(claim))


def _of_main(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]]) -> Iterator[Outcome]:
    """The main dimension: ordinary rows, what repeated calls show, and all groups."""
    ordinary = groups[0][1]
    yield claim.trial(_ORDINARY, ordinary)
    if fault := state(claim, ordinary) or _ignored_eps(claim, dict(groups).get(SMALL, ordinary)):
        yield Fault(fault)
    yield from _of_dimension(claim, groups)


def _of_other(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]], d: int) -> Iterator[Outcome]:
    outcomes = list(_of_dimension(claim, groups, f", d = {d}"))
    yield from outcomes
    if not any(isinstance(outcome, Fault) for outcome in outcomes):
        yield from (Fault(f"{text}, at d = {d}") for text in overwritten(claim, groups[0][1]))


def _beyond_end(text: str) -> Note | Fault:
    """A dimension may be refused, but no contiguous array read beyond its end."""
    return Fault(text) if "beyond the end of" in text else Note(text)


def _of_dimension(claim: Claim, groups: Sequence[tuple[Way, np.ndarray]], where: str = "") -> Iterator[Outcome]:
    """All groups of one dimension in one call; a fault if the kernel raises at some of them and takes others."""
    try:
        whole = claim.trial(_ORDINARY, np.concatenate([x for _, x in groups]))
    except Exception:
        refused = [text for label, x in groups if (text := _refused(claim, label, x))]
        if refused and len(refused) < len(groups):
            yield Fault(refused[0] + where)
            return
        raise  # it refuses the dimension, or the size of the batch
    begin = 0
    for label, x in groups:
        yield whole.part(label, begin, begin := begin + len(x))


def _refused(claim: Claim, label: Way, x: np.ndarray) -> str:
    """The refusal of a group by itself, empty if the kernel takes it."""
    try:
        claim.trial(label, x)
    except Exception as error:
        if out_of_memory(error):
            raise
        return refusal(label, error)
    return ""


def _in_other_manners(claim: Claim, x: np.ndarray) -> Iterator[Trial]:
    """Gains that are zero or large, and the training mode of a module."""
    if claim.base(x.shape[-1]).gain is not None:
        yield claim.like("odd gains").trial(ODD_GAINS, x)
    if claim.kernel.at(x.shape[-1]).leaves:
        yield claim.like("training").trial(TRAINING, x)


def _ignored_eps(claim: Claim, x: np.ndarray) -> str | None:
    """Whether the ε that is given is ignored: rows of small variance give the same outputs at another."""
    other = 64 * float(claim.eps) or 1e-3
    if not claim.kernel.takes_eps:
        return None
    x = claim.stored(x)
    outputs = [claim.kernel.like(eps=eps).run(x) for eps in (other, max(1.0, other))]  # a lower limit may hide one
    if not all(np.array_equal(claim.kernel.run(x), output, equal_nan=True) for output in outputs):
        return None
    return f"the eps that is given is ignored: {float(claim.eps):g} and {other:g} give the same outputs"


def _of_other_dtype(claim: Claim, x: np.ndarray) -> Iterator[Note]:
    """A note if outputs are of another dtype than rows."""
    dtype = str(getattr(claim.kernel.call(claim.kernel.array(x)), "dtype", "")).rpartition(".")[2]
    if dtype not in ("", claim.kernel.dtype) and not claim.kernel.form.filed:
        yield Note(f"outputs are of {dtype} for rows of {claim.kernel.dtype}, where PyTorch keeps the dtype")


def _alone(claim: Claim, x: np.ndarray) -> np.ndarray | None:
    """Outputs of rows that are each a batch of its own; None if such a batch is refused."""
    outputs = attempt("", lambda: np.concatenate([claim.trial(_ORDINARY, row).got for row in x[:, None]]))
    return None if isinstance(outputs, Note) else outputs
