"""Growth of the stream over depth: the series, the laws, and intervals that cover as often as they say."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from empirical.models import sites_of
from empirical.observe import LAWS, Observer, growth, rows, stream
from empirical.observe._growth import Law, regressor
from empirical.observe._inference import trend
from tests.support import growing

from ..conftest import ARCHITECTURES, BLOCKS, VOCABULARY, WIDTH, tiny_model

CHANCE = 1e-6
"""How often a test of a rate may fail although the rate is what it should be, were its seed drawn anew."""

UNIT = 2.0**-53


def rounding(law: Law, logs: np.ndarray, first: int) -> float:
    """The largest effect of rounding on the slope.

    A logarithm, of a number rounded before, is right to 2(1 + |log|) roundings, and of the sums of n products on the
    way none is off by more than n + 16 roundings of its terms: a slope is a sum of n errors over the length of the
    regressor, which is least where correlation 1 takes its differences.
    """
    steps = np.diff(regressor(law, np.arange(first, first + len(logs))))
    return (len(logs) + 16) * UNIT * (1 + np.abs(logs).max()) * math.sqrt(len(logs)) / float(np.linalg.norm(steps))


@pytest.mark.parametrize("blocks", [2, 3, 12, 48])
@pytest.mark.parametrize(("law", "slope"), [("exponential", 0.045), ("exponential", -0.3), ("power", 0.85)])
def test_a_law_is_recovered(law: Law, slope: float, blocks: int) -> None:
    depths = np.arange(blocks + 1)
    norms = 2.5 * np.exp(slope * regressor(law, depths))
    for fit in growth(growing(norms.tolist())):
        if fit.law != law:
            continue
        points = blocks + 1 - fit.first_depth
        assert (fit.last_depth, fit.first_depth + points - 1) == (blocks, blocks)
        assert fit.estimate is not None
        assert fit.low is not None
        assert fit.high is not None
        assert fit.scale is not None
        found = (lambda end: math.log(end)) if law == "exponential" else (lambda end: end)
        slack = rounding(law, np.log(norms[fit.first_depth :]), fit.first_depth)
        assert abs(found(fit.estimate) - slope) <= slack
        assert abs(fit.scale / 2.5 - 1) <= slack * (1 + regressor(law, depths).max())
        if points == 2:
            continue
        # The residuals are of the size of the slack times the regressor; Student's factor is that of n - 2.
        reach = slack * (1 + scipy.stats.t.ppf(0.975, points - 2)) * 2
        assert slope - reach <= found(fit.low) <= found(fit.estimate) <= found(fit.high) <= slope + reach
        assert fit.better == law


def correlated(generator: np.random.Generator, count: int, points: int, correlation: float) -> np.ndarray:
    """Gaussian series, autoregressive of first order; for correlation 1 random walks. Shape (count, points)."""
    noise = generator.standard_normal((count, points))
    if correlation < 1:
        noise[:, 1:] *= math.sqrt(1 - correlation**2)
    for index in range(1, points):
        noise[:, index] += correlation * noise[:, index - 1]
    return noise


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 1.0])
def test_trend_is_generalized_least_squares(correlation: float) -> None:
    """Against (XᵀV⁻¹X)⁻¹XᵀV⁻¹y with the covariance V of the errors, and at 1 against the regression of differences."""
    points = 9
    x, y = np.log1p(np.arange(points)), np.random.default_rng(3).standard_normal(points)
    if correlation < 1:
        steps = np.abs(np.subtract.outer(np.arange(points), np.arange(points)))
        covariance = correlation**steps / (1 - correlation**2)
        design, target = np.column_stack([x, np.ones(points)]), y
    else:
        covariance, design, target = np.eye(points - 1), np.diff(x)[:, None], np.diff(y)
    inverse = np.linalg.inv(covariance)
    normal = design.T @ inverse @ design
    coefficients = np.linalg.solve(normal, design.T @ inverse @ target)
    residual = target - design @ coefficients
    squares = float(residual @ inverse @ residual)
    reach = scipy.stats.t.ppf(0.975, points - 2) * math.sqrt(squares / (points - 2) * np.linalg.inv(normal)[0, 0])
    found = trend(x, y, np.array([correlation]))
    low, high = trend(x, y).interval  # of all correlations together
    assert low <= found.slope[0] - found.reach[0] < found.slope[0] + found.reach[0] <= high
    # Solving with a matrix loses its condition number in roundings, n for each of its products (Higham, section 9.3).
    slack = points * 8 * np.linalg.cond(covariance) * np.linalg.cond(normal) * UNIT
    assert abs(found.slope[0] - coefficients[0]) <= slack * np.linalg.norm(coefficients)
    assert abs(found.squares[0] - squares) <= slack * squares
    assert abs(found.reach[0] - reach) <= slack * reach


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("correlation", [0.0, 0.9, 1.0])
def test_the_wrong_law_is_seldom_called_better(law: Law, correlation: float) -> None:
    count, points = 200, 25
    x = regressor(law, np.arange(points))
    slope = 3 / float(np.ptp(x))
    series = slope * x + 0.1 * correlated(np.random.default_rng(5), count, points, correlation)
    found = [growth(growing(np.exp(y).tolist()))[0].better for y in series]
    wrong = sum(better not in (law, "undecided") for better in found)
    assert wrong <= scipy.stats.binom(count, 0.05).isf(CHANCE)
    assert law in found


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_stream_is_what_enters_the_blocks_and_leaves_the_last(architecture: str) -> None:
    model = tiny_model(architecture).double()
    sites = sites_of(model)
    ids = torch.from_numpy(np.random.default_rng(0).integers(3, VOCABULARY, (3, 8)))
    kept: list[torch.Tensor] = []
    final = dict(model.named_modules())[sites[-1].path]
    with Observer(model, sites, directions=2) as observer, torch.inference_mode():
        hook = final.register_forward_hook(lambda _, args, __: kept.append(args[0]))
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
        hook.remove()
    found = stream(rows(observer.states, sites))
    if architecture in ("bert", "olmo2"):
        assert len(found.norms) == 0
        assert ("Post-LN" if architecture == "bert" else "what the branches add") in found.reason
        fits = growth(rows(observer.states, sites))
        assert {(fit.estimate, fit.better, fit.reason) for fit in fits} == {(None, "undecided", found.reason)}
        return
    # The last of these hidden states has been normalized already.
    expected = np.array([float(x.reshape(3, 8, WIDTH)[:, 1:].norm(dim=-1).mean()) for x in (*states[:BLOCKS], kept[0])])
    assert found.reason == ""
    # Lengths of float64 vectors to 3(d + 8) roundings, a mean of 21 of them on either path.
    assert np.all(np.abs(found.norms - expected) <= (3 * (WIDTH + 8) + 2 * 21) * UNIT * expected)


def test_one_block_has_a_fit_and_no_interval() -> None:
    whole, power, *later = growth(growing([2.0, 6.0]))
    assert whole.estimate == pytest.approx(3, rel=rounding("exponential", np.log([2.0, 6.0]), 0) * 2)
    assert (whole.low, whole.high, whole.better) == (0, math.inf, "undecided")
    assert (power.low, power.high) == (-math.inf, math.inf)
    assert {fit.reason for fit in later} == {"a law takes two depths, and from depth 1 on there is 1"}
    assert {fit.estimate for fit in later} == {None}


def test_a_constant_stream_decides_nothing() -> None:
    for fit in growth(growing([7.0] * 9)):
        assert fit.estimate == (1 if fit.law == "exponential" else 0)
        assert (fit.low, fit.high) == (fit.estimate, fit.estimate)
        assert (fit.better, fit.r2) == ("undecided", None)


@pytest.mark.parametrize(
    ("norm", "text"), [(0.0, "0"), (math.nan, "nan"), (math.inf, "inf")], ids=["zero", "none", "infinite"]
)
def test_norms_without_a_logarithm_have_no_fit(norm: float, text: str) -> None:
    for fit in growth(growing([1.0, 2.0, norm, 4.0])):
        assert fit.reason == f"the mean norm at depth 2 is {text}"
        assert (fit.estimate, fit.low, fit.high, fit.scale) == (None,) * 4


def test_a_model_without_norms_in_its_blocks_has_no_stream() -> None:
    (fit, *_) = growth(growing([1.0]))
    assert fit.reason == "no norm layer reads the stream that enters a block"


def test_the_sampling_error_is_that_of_the_least_certain_mean() -> None:
    (fit, *_) = growth(growing([2.0, 4.0, 8.0], norm_std=1.0, tokens=16))
    assert fit.sampling_error == 1 / 2 / 4
