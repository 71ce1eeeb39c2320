"""The checks of a theorem: its proof, its examples, its wrong variants, its and its hypotheses."""

import contextlib
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from hypothesis import errors, given, reject, strategies as st

from .. import prover
from ..carriers import Enclosure, Interval, Rounded, UndecidedError
from ._errors import BodyError, CheckError
from ._models import ACCEPTED, ANY_DIMENSION, examples, satisfied, searching
from ._run import Exact, Floats, Values, Wrong, numbers_of as numbers_of, stated_term
from ._search import (
    Refutation as Refutation,
    Search,
    check_without as check_without,
    refute_wrong,
    small_models,
    smallest_model,
    undefined_at as undefined_at,
)
from ._small import SMALL
from ._statement import row
from ._theorem import Theorem

EXAMPLES, MORE = 25, 200
"""Examples of a theorem, the same in every run; and of one without a proof."""

TERMS, BRIEF, HINT = 2_000_000, 40, 30_000
"""Terms that the long search for the proofs of one theorem makes, a minute's work, unless seconds are asked for; what
part of them comes before the search for a counterexample; and terms to find that a hint follows."""

_COMPARED = 5
"""Models at which what the library computes is compared with the prover's term."""


@dataclass
class Counts:
    """Exact models at which a claim was true, their dimensions, and how often it was measured in floats.

    The failed run, which runs again, compares terms with the library again, or does not again.
    """

    models: int = 0
    measured: int = 0
    undefined: int = 0
    compared: bool | None = None
    dimensions: set[int] = field(default_factory=set)


@contextlib.contextmanager
def _limited(terms: int) -> Iterator[None]:
    """A search that ends after so many terms."""
    try:
        with prover.Effort.limited(terms):
            yield
    except prover.ExhaustedError as error:
        said = f"the search ended at its limit of {terms} terms"
        raise prover.ProofError(said).with_traceback(error.__traceback__) from error


def check_proof(theorem: Theorem) -> list[prover.ProofCertificate]:
    """Each assert has a proof from exactly the hypotheses, found within the limit of terms, which the checker accepts.

    Raises:
        ProofError: If one has none: the rest of the goal, and where it is false or at how many points it holds.
        CheckError: If the proofs use other hypotheses.
    """
    try:
        return theorem.certificates(searched=False)
    except prover.ProofError as error:
        failed = error
    claim = Search(theorem.kinds, Wrong("", tuple(theorem.goals), theorem.conditions))
    model = claim.small(total=False)
    for terms in (TERMS // BRIEF, TERMS) if model is None else ():
        try:
            with _limited(terms):
                return theorem.certificates()
        except prover.ProofError as error:
            failed = error
        model = claim.tight() if terms < TERMS else None
        if model is not None or not isinstance(failed.__cause__, prover.ExhaustedError):
            break
    raise _unproved(theorem, failed, model)


def _unproved(theorem: Theorem, error: prover.ProofError, model: tuple[int, Values] | None) -> prover.ProofError:
    """What is said where no proof is found: a counterexample, or what was tried and what may be missing."""
    tried, limited = prover.Effort.told(), isinstance(error.__cause__, prover.ExhaustedError)
    try:
        if model is not None:
            d, values = model
            _at(theorem, values, d, partial(_true_exactly, theorem, values, d, Counts()))
        counts = check_examples(theorem, MORE)
    except (AssertionError, CheckError) as refutation:
        refuted = prover.ProofError("\n".join(told(refutation, fully=False)[:2]))
        refuted.add_note(f"{_DUMP}{error}")
        refuted.__cause__ = refutation
        return refuted.with_traceback(error.__traceback__)
    hint = next((f"; this may be missing: {prover.formula(f)}" for f in error.hints if _missing(theorem, f)), "")
    unproved = prover.ProofError(
        f"no proof found; it holds at {counts.models} exact sample points in {len(counts.dimensions)} dimensions, and "
        f"{error if limited else 'the search tried all that it knows'} ({tried}){hint}; assert an intermediate step "
        "before it, or help the prover by `lemmas`, a `remainder` or a `proof`"
    )
    unproved.add_note(f"{_DUMP}{error}")
    return unproved.with_traceback(error.__traceback__)


def line_of(theorem: Theorem, error: BaseException) -> int | None:
    """The line of the body at which a check failed, where that is known: of the assert that is false, or unproved."""
    if isinstance(error, BodyError) and error.line:
        return error.line
    for each in filter(None, (error.__cause__, error)):
        frames = traceback.extract_tb(each.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == theorem.body.__code__.co_filename
               and frame.name in (theorem.body.__name__, "<lambda>")]  # fmt: skip
        if own:
            return own[-1]
    return None


_DUMP = "as normal forms: "
"""The beginning of a note that is shown on request alone."""


def told(error: BaseException, *, fully: bool) -> list[str]:
    """The lines of a failed check: first where it is false."""
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    at = [note for note in reversed(notes) if note.startswith(("false at", "there "))]
    rest = [note for note in notes if note not in at and (fully or not note.startswith(_DUMP))]
    return [line for part in [*at, str(error), *rest] for line in part.splitlines()]


def _missing(theorem: Theorem, fact: prover.Formula) -> bool:
    """Whether a fact may be offered: no small model of the hypotheses refutes it, and it does not follow from them."""
    if Search(theorem.kinds, Wrong("", (fact,), theorem.conditions)).small(total=True) is not None:
        return False
    known = [*(condition.formula for condition in theorem.hypotheses.values()), *theorem.implied]
    return prover.Effort.brief(HINT, lambda: prover.search(fact, *map(prover.assume, known))) is None


def check_examples(theorem: Theorem, count: int = EXAMPLES) -> Counts:
    """The claim is true at exact models of its hypotheses, and in floats within the error bound.

    Raises:
        AssertionError: By the assert that is false, at the smallest model that Hypothesis finds.
        CheckError: If there are too few models, or if term and library differ.
    """
    try:
        return _examples(theorem, count)
    except (AssertionError, CheckError) as error:
        smallest = _smallest(theorem, error)
        if smallest is error:
            raise
        raise smallest from None


def _smallest(theorem: Theorem, error: Exception) -> Exception:
    """The failure at a small model, or in the smallest dimension: Hypothesis shrinks numbers, seldom how many."""
    if not hasattr(error, "__notes__"):
        return error
    tries: list[Callable[[], object]]
    tries = [partial(_examples, theorem, MORE, st.just(d)) for d in SMALL]
    if (small := smallest_model(theorem)) is not None:
        d, values = small
        tries.insert(0, partial(_at, theorem, values, d, partial(_true_exactly, theorem, values, d, Counts())))
    for attempt in tries:
        try:
            attempt()
        except (AssertionError, CheckError) as smaller:
            if hasattr(smaller, "__notes__"):
                return smaller
    return error


def _examples(theorem: Theorem, count: int, dimensions: st.SearchStrategy[int] = ANY_DIMENSION) -> Counts:
    counts, assumed = Counts(), list(theorem.conditions.values())

    def run(model: tuple[int, Values, Values]) -> None:
        d, exact, floats = model
        if not satisfied(assumed, exact, d):
            reject()
        counts.models += 1
        counts.dimensions.add(d)
        _at(theorem, exact, d, lambda: _true_exactly(theorem, exact, d, counts))
        measured = floats if satisfied(assumed, floats, d) else exact
        _at(theorem, measured, d, lambda: _true_in_floats(theorem, measured, counts))

    with contextlib.suppress(errors.Unsatisfiable):
        searching(count)(given(examples(theorem, dimensions))(run))()
    for d, values in small_models(theorem) if counts.models < ACCEPTED else ():
        run((d, values, values))
    if counts.models < ACCEPTED:
        raise CheckError(
            f"{theorem.id}: {counts.models} exact models of the hypotheses, {ACCEPTED} are needed: give `models`, "
            "unless the hypotheses contradict each other"
        )
    if not counts.measured:
        why = "no floats satisfy the hypotheses with a finite error bound: give `models`"
        if counts.undefined == counts.models:
            why = "the library divides by 0 at every example: the claim is about 1/0 = 0 alone"
        raise CheckError(f"{theorem.id}: {why}")
    return counts


def _at(theorem: Theorem, values: Values, d: int, check: Callable[[], None]) -> None:
    """Run a check; what it raises says at which model."""
    try:
        check()
    except (AssertionError, CheckError) as error:
        error.add_note(f"false at {numbers_of(values, d)}")
        raise


def _true_exactly(theorem: Theorem, values: Values, d: int, counts: Counts) -> None:
    atoms = {name: Enclosure(value if isinstance(value, tuple) else [value]) for name, value in values.items()}
    compared = counts.models <= _COMPARED if counts.compared is None else counts.compared
    run = Exact(values, d, theorem.goals if compared else None)
    try:
        run.execute(theorem.body, atoms)
    except (AssertionError, CheckError) as error:
        counts.compared = compared
        if isinstance(error, AssertionError):
            error.add_note(f"there {run.failed}")
        raise
    except UndecidedError:  # an inverse of 0: total for the prover, no number for the library
        counts.undefined += 1
    for claim in theorem.listing.claims:
        if prover.holds(claim.formula, values, d) is False:
            sides = map(stated_term, claim.statement.sides())
            left, right = (_decimals(prover.evaluate(prover.term(side), values, d)) for side in sides)
            raise CheckError(f"there {left} {claim.formula.relation} {right} is false, {_CONVENTION}")


_CONVENTION = "where 1/0 and the root of a negative number are read as 0"


def _decimals(numbers: Iterable[Fraction | Interval]) -> str:
    return row([f"{float(n.midpoint if isinstance(n, Interval) else n):.12g}" for n in numbers])


def _true_in_floats(theorem: Theorem, values: Values, counts: Counts) -> None:
    run = Floats()
    run.execute(theorem.body, {name: Rounded.of(value) for name, value in values.items()})
    counts.measured += run.measured


def check_wrong(theorem: Theorem, label: str) -> Refutation:
    """A wrong variant has no proof, but a counterexample.

    Raises:
        CheckError: If it has a proof, or if no counterexample is found.
    """
    variant: Wrong = theorem.wrongs[label]
    try:
        theorem.prove_wrong(variant)
    except (prover.ProofError, ValueError):  # a proof of one's own may miss the hypotheses that it unpacks
        return refute_wrong(theorem, label)
    raise CheckError(f"{theorem.id}: the wrong variant {label!r} has a proof")


def checks(theorem: Theorem) -> Iterator[tuple[str, Callable[[], object]]]:
    """The checks of a theorem by name, as ``pytest`` runs them.

    What the first one refuted stays so: to shrink it again takes minutes.
    """
    refuted: list[BaseException] = []

    def run(check: Callable[[Theorem], object]) -> object:
        if refuted:
            raise refuted[0]
        try:
            return check(theorem)
        except prover.ProofError as error:
            refuted.extend(filter(None, [error.__cause__]))
            raise

    try:
        _ = theorem.wrongs
    except Exception:
        yield "body", lambda: theorem.wrongs  # which raises again
        return
    for check in (check_proof, check_examples):
        yield check.__name__.removeprefix("check_"), partial(run, check)
    for label in theorem.wrongs:
        yield f"wrong: {label}", partial(check_wrong, theorem, label)
    for label in theorem.hypotheses:
        yield f"without: {label}", partial(check_without, theorem, label)
