"""What a claim says of symbols it says of arrays: the same numbers, by the code that users run."""

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy
import pytest

from lngeom.carriers import Interval, Rounded, UndecidedError
from lngeom.errors import LngeomError
from lngeom.kernel import Formula, evaluate
from proofs import Theorem, theorems

torch = pytest.importorskip("torch", reason="claims are computed by PyTorch as well")

LIBRARIES: dict[str, Callable[[Any], Any]] = {"numpy": lambda x: x, "torch": torch.from_numpy}


def formulas(theorem: Theorem) -> Iterator[Callable[..., Formula]]:
    """Claim, hypotheses and wrong variants: the wrong ones are differences that are not 0."""
    yield theorem.claim
    yield from theorem.hypotheses.values()
    for mutant in theorem.mutants:
        yield from [mutant.claim] if mutant.claim else []
        yield from (mutant.hypotheses or {}).values()


def drawn(theorem: Theorem, random: Random, d: int) -> dict[str, Any]:
    """Vectors and positive scalars of few bits, so that floats hold them exactly."""

    def number(sign: int = 1) -> Fraction:
        return Fraction(sign * random.randint(1, 12), 4)

    rows = {name: tuple(number(random.choice((-1, 1))) for _ in range(d)) for name in theorem.vectors.split()}
    return rows | {name: number() for name in theorem.scalars.split()}


def called(build: Callable[..., Formula], values: dict[str, Any]) -> Any:
    return build(**{name: values[name] for name in inspect.signature(build).parameters}).term


def on_arrays(build: Callable[..., Formula], made: Callable[[Any], Any], values: dict[str, Any]) -> Any:
    arrays = {name: made(numpy.atleast_1d(numpy.array(value, dtype=float))) for name, value in values.items()}
    return numpy.atleast_1d(numpy.asarray(called(build, arrays), dtype=float))


def compared(theorem: Theorem, build: Callable[..., Formula], values: dict[str, Any], d: int) -> int:
    """Components in which the number of each library was compared with the exact one."""
    try:
        exact = evaluate(called(build, theorem.atoms()) + theorem.atoms().popitem()[1] * 0, values, d)
    except UndecidedError:  # an inverse of 0: total on symbols, no number on arrays
        return 0
    try:
        bounded = called(build, {name: Rounded.of(value) for name, value in values.items()})
        found = {name: on_arrays(build, made, values) for name, made in LIBRARIES.items()}
    except LngeomError:  # the library refuses the point, as LayerNorm's inverse does outside the ball
        return 0
    bounded = bounded if isinstance(bounded, Rounded) else Rounded.of(bounded)
    ends = [(value.lower, value.upper) if isinstance(value, Interval) else (value, value) for value in exact]
    count = 0
    for name, numbers in found.items():
        for k, (low, high) in enumerate(ends):
            value, slack = numbers[k % len(numbers)], bounded.error[k % len(bounded.error)]
            if numpy.isfinite(value) and numpy.isfinite(slack):
                # The bound is for any order of summation, so it holds for both libraries; twice, because it is
                # computed from the numbers of one of them.
                slack = 2 * Fraction(float(slack))
                assert low - slack <= Fraction(float(value)) <= high + slack, (name, k, values)
                count += 1
    return count


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.id)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # divisions by 0 are not compared
def test_claims_on_arrays_are_claims_on_symbols(theorem: Theorem) -> None:
    random, met = Random(theorem.id), set()
    for attempt in range(20):
        d = 2 + attempt % 5
        # Where chance finds no point at which the library computes a number, the theorem's own models do.
        values = theorem.model(random, d) if theorem.model and attempt >= 3 else drawn(theorem, random, d)
        met |= {k for k, build in enumerate(formulas(theorem)) if compared(theorem, build, values, d)}
        if attempt >= 2 and (0 in met or theorem.model is None):
            break
    assert 0 in met, "the claim was never compared"
