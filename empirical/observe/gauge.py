"""Orthogonal maps of the states of a residual stream."""

import numpy as np


def reflection(direction: np.ndarray) -> np.ndarray:
    """The Householder reflection that exchanges a unit vector and 𝟏/√d."""
    d = len(direction)
    normal = direction - d**-0.5
    square = normal @ normal
    return np.eye(d) - (2 / square) * np.outer(normal, normal) if square > 0 else np.eye(d)


def random_rotation(d: int, seed: int | np.random.Generator, *, fix_one: bool = False) -> np.ndarray:
    """An orthogonal matrix drawn uniformly, of all or of those that fix 𝟏.

    It is the Q of a Gaussian matrix, its R with a positive diagonal; a reflection brings its fixed axis to 𝟏.
    """
    free = d - fix_one
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((free, free)))
    rotation = np.eye(d)
    rotation[d - free :, d - free :] = q * np.sign(np.diag(r))
    mirror = reflection(np.eye(d)[0]) if fix_one else np.eye(d)
    return mirror @ rotation @ mirror
