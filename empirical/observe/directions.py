"""Random directions, the two nulls that the all-ones vector is compared with."""

import numpy as np

from lngeom.errors import InputError

_LARGEST = 1 << 30


def random_directions(d: int, count: int, seed: int) -> np.ndarray:
    r"""Isotropic random unit vectors of R^d: normalized Gaussian ones, the same on every machine.

    Args:
        d: Dimension.
        count: Number of directions, at least 2: the first two are the arbitrary vectors ã and b̃ that Gupta et al.
            compare with the all-ones vector.
        seed: Seed; for one d, fewer directions are the first of more.

    Returns:
        float64 array, shape (count, d)

    References:
        Gupta et al., arXiv:2409.12951, section 3.3.
    """
    if count < 2:
        raise InputError(f"{count} random directions: at least 2 are needed to compare the all-ones vector with")
    if seed < 0:
        raise InputError(f"seed {seed}: must be 0 or more")
    if 8 * d * count > _LARGEST:
        raise InputError(f"{count:,} random directions of dimension {d}: use at most {_LARGEST // 8 // d:,} (1 GiB)")
    gaussian = np.random.Generator(np.random.PCG64([seed, d])).standard_normal((count, d))
    return gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True)


def sign_directions(d: int, count: int, seed: int) -> np.ndarray:
    """Random unit vectors ±1/√d, the flat null: every coordinate counts as much as in 1.

    Of a vector with one coordinate, d·cos² is 1 along all of them, as along 1; along isotropic ones it is χ²₁, whose
    median is 0.455 (angles.one_coordinate). float64, shape (count, d), the same on every machine.
    """
    return (2.0 * np.random.Generator(np.random.PCG64([seed, d, 1])).integers(0, 2, (count, d)) - 1) / d**0.5
