import pytest
import torch

from lngeom.empirical.observe import SIDES, Sketches, features, reduce

D, U, TINY = 4, 2.0**-24, 2.0**-126
COUNTS = ("tokens", "nonfinite", "underflow", "zero")
CASES: list[tuple[tuple[float, float], tuple[float, float], tuple[str, str]]] = [
    ((1, 1), (1, 1), ("tokens", "tokens")),
    ((0, TINY), (0, TINY), ("tokens", "tokens")),
    ((0, 0.75 * TINY), (1, 1), ("underflow", "underflow")),
    ((0, TINY / 4), (0, 0), ("underflow", "underflow")),
    ((0, torch.inf), (0, TINY / 4), ("nonfinite", "nonfinite")),
    # The mean of a constant is right to (d + 1)u of it: deviations up to that may be rounding alone.
    ((1, ((D + 1) * U) ** 2), (1, 1), ("tokens", "zero")),
    ((1, ((D + 1.5) * U) ** 2), (1, 1), ("tokens", "tokens")),
]
"""Mean and variance of a vector that enters a LayerNorm and of one that leaves it, and as what either is counted."""


def states(entering: tuple[float, float], leaving: tuple[float, float]) -> list:
    numbers = torch.tensor([*entering, *leaving, 0.0], dtype=torch.float64)[:, None]
    kept, buckets = Sketches(D, numbers, torch.zeros(2, 1, 2)), torch.tensor([[[True]], [[False]]])
    values = features(kept, kind="layernorm", eps=1e-5)
    sides = zip(SIDES, (kept.before, kept.after), (None, kept.before), strict=True)
    return [reduce(side, vectors, values[side], buckets, before) for side, vectors, before in sides]


@pytest.mark.parametrize(("entering", "leaving", "told"), CASES)
def test_each_vector_is_counted_once_and_as_what_it_is(entering, leaving, told) -> None:
    for state, expected in zip(states(entering, leaving), told, strict=True):
        assert {name: int(getattr(state, name)[0]) for name in COUNTS} == {name: name == expected for name in COUNTS}


def test_180_degrees_are_in_the_last_bin_of_their_bucket() -> None:
    state, _ = states((-1, 0), (1, 1))
    assert torch.nonzero(state.angles).tolist() == [[0, state.angles.shape[-1] - 1]]
