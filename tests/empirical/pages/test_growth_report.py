"""A report's sentences and figures about the growth of the stream."""

import numpy as np

from empirical.observe import growth, stream
from empirical.pages import growth_figure, growth_line
from tests.support import growing


def test_the_line_gives_both_laws_and_says_which_fits() -> None:
    doubling = growing([3.0 * 2**depth for depth in range(8)])
    power = growth(doubling)[-1]
    line = growth_line(doubling)
    assert "×2.000 [2.000, 2.000] per block" in line
    assert f"(depth + 1)^{power.estimate:.2f} [{power.low:.2f}, {power.high:.2f}]; the exponential law" in line
    assert "(depth + 1)^1.00 (no interval)" in growth_line(growing([2.0, 4.0]))
    assert "no fit, the mean norm at depth 1 is 0" in growth_line(growing([2.0, 0.0]))


def test_the_figure_shows_the_norms_and_every_fit() -> None:
    rows = growing([2.0, 5.0, 6.0, 9.0, 13.0])
    figure = growth_figure(rows, "title")
    assert figure is not None
    for axes, law in zip(figure.axes, ("exponential", "power"), strict=True):
        assert axes.get_title(loc="left") == f"{law} law"
        assert axes.get_yscale() == "log"
        fits = [fit for fit in growth(rows) if fit.law == law]
        lines = [np.asarray(line.get_ydata()) for line in axes.get_lines()]
        assert np.array_equal(lines[-1], stream(rows).norms)
        for fit, line in zip(fits, lines[:-1], strict=True):
            depths = np.arange(fit.first_depth, 5)
            assert np.array_equal(line, fit.norms(depths))
            low, high = fit.band(depths)
            assert (low <= line).all()
            assert (line <= high).all()
            # A band is two lines through one point, the centre of the fit: it has no width there only.
            assert (high - low).argmin() not in (0, len(depths) - 1)
        assert len(axes.collections) == 2
