"""Random directions, the null that the uniform direction is compared with."""

import numpy as np

from lngeom.errors import InputError

_LARGEST = 1 << 30

SIGNS = 16
"""How many random sign vectors 1 is compared with."""


def random_directions(d: int, count: int, seed: int) -> np.ndarray:
    r"""Isotropic random unit vectors of R^d: normalized Gaussian ones, the same on every machine.

    Args:
        d: Dimension.
        count: Number of directions, at least 2: the first two are the arbitrary vectors ã and b̃ that Gupta et al.
            compare with the uniform one.
        seed: Seed; for one d, fewer directions are the first of more.

    Returns:
        float64 array, shape (count, d)

    References:
        Gupta et al., arXiv:2409.12951, section 3.3.
    """
    if count < 2:
        raise InputError(f"{count} random directions: at least 2 are needed to compare the uniform direction with")
    if seed < 0:
        raise InputError(f"seed {seed}: must be 0 or more")
    if 8 * d * count > _LARGEST:
        msg = f"{count:,} random directions of dimension {d}: use at most {_LARGEST // 8 // d:,}, which take 1 GiB"
        raise InputError(msg)
    gaussian = np.random.Generator(np.random.PCG64([seed, d])).standard_normal((count, d))
    return gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True)


def sign_directions(d: int, seed: int) -> np.ndarray:
    """Random unit vectors ±1/√d, a null that knows the coordinates: they are as flat as 1, as isotropic ones are not.

    float64, shape (`SIGNS`, d), the same on every machine.
    """
    return (2.0 * np.random.Generator(np.random.PCG64([seed, d, 1])).integers(0, 2, (SIGNS, d)) - 1) / d**0.5
