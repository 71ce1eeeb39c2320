"""The null law of angles against quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from lngeom.angles import IsotropicAngle

DIMENSIONS = [2, 3, 4, 17, 768, 8192]
U = 2.0**-53


@pytest.mark.parametrize("d", DIMENSIONS)
def test_law_and_moments_are_those_of_the_density(d: int) -> None:
    null, size = IsotropicAngle(d), special.betaln(0.5, (d - 1) / 2)

    def density(angle: float) -> float:
        return math.exp(special.xlogy(d - 2, math.sin(angle)) - size)

    # Twelve standard deviations on each side hold all but e^-72 of the mass.
    reach = min(math.pi / 2, 12 * null.std())
    low, high = math.pi / 2 - reach, math.pi / 2 + reach
    for power, expected in ((0, 1.0), (1, 0.0), (2, null.var())):
        integral, error = integrate.quad(
            lambda t, power=power: (t - math.pi / 2) ** power * density(t), low, high, epsabs=1e-13
        )
        # The logarithm of the density is of size d, so that the density has a relative error of d units.
        assert abs(integral - expected) <= error + 4 * (d + 50) * U
    for angle in np.linspace(low, high, 7)[1:-1]:
        integral, error = integrate.quad(density, low, float(angle), epsabs=1e-13)
        assert abs(integral - null.cdf(angle)) <= error + 4 * (d + 50) * U
    assert null.mean() == math.pi / 2


def test_outside_there_is_nothing() -> None:
    null = IsotropicAngle(50)
    assert (null.cdf(-0.1), null.cdf(3.2)) == (0.0, 1.0)
