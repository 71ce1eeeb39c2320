"""The null law of angles against quadrature, simulation, exact cases."""

import math

import numpy as np
import pytest
from scipy import integrate

from lngeom.angles import IsotropicAngle

DIMENSIONS = [2, 3, 4, 17, 768, 8192]
U = 2.0**-53


@pytest.mark.parametrize("d", DIMENSIONS)
def test_moments_are_those_of_the_density(d: int) -> None:
    null = IsotropicAngle(d)
    # Twelve standard deviations on each side hold all but e^-72 of the mass.
    reach = min(math.pi / 2, 12 * null.std())
    interval = math.pi / 2 - reach, math.pi / 2 + reach
    for power, expected in ((0, 1.0), (1, 0.0), (2, null.var())):
        integral, error = integrate.quad(
            lambda t, power=power: (t - math.pi / 2) ** power * float(null.pdf(t)), *interval, epsabs=1e-13
        )
        # The logarithm of the density is of size d, so that the density has a relative error of d units.
        assert abs(integral - expected) <= error + 4 * (d + 50) * U
    assert null.mean() == math.pi / 2


@pytest.mark.parametrize("d", DIMENSIONS)
def test_quantiles_invert_the_distribution_far_into_the_tail(d: int) -> None:
    null = IsotropicAngle(d)
    p = np.array([1e-100, 1e-12, 1e-3, 0.2, 0.5, 0.9])
    # p depends on the angle with relative condition θ·pdf/cdf. Both ways go through exponentials of logarithms of size
    # |ln p|, two units each; twenty more are left to the series of SciPy, which states no bound of its own.
    angles = null.ppf(p)
    condition = 1 + angles * null.pdf(angles) / p
    assert np.all(np.abs(null.cdf(angles) / p - 1) <= 4 * (20 - np.log(p)) * condition * U)
    assert np.all(np.diff(angles) > 0)
    assert null.ppf(0.5) == math.pi / 2
    np.testing.assert_array_equal(null.ppf([0.0, 1.0]), [0.0, math.pi])


def test_quantiles_near_the_median_keep_the_digits_of_the_cosine() -> None:
    null = IsotropicAngle(4096)
    step = 2.0**-40
    slope = 1 / float(null.pdf(math.pi / 2))
    # The gap of 2⁻⁴⁰·slope is 1.8e-14; angles near π/2 are spaced 2⁻⁵², so that it is known to about one percent.
    gap = float(null.ppf(0.5 + step) - null.ppf(0.5))
    assert gap == pytest.approx(step * slope, abs=2 * 2.0**-52)


def test_outside_there_is_nothing() -> None:
    null = IsotropicAngle(50)
    assert null.pdf(-0.1) == null.pdf(3.2) == 0
    assert (null.cdf(-0.1), null.cdf(3.2)) == (0.0, 1.0)
