"""Orthogonal maps of the states of a residual stream."""

import numpy as np


def reflection(direction: np.ndarray) -> np.ndarray:
    """The Householder reflection that exchanges a unit vector and 𝟏/√d."""
    d = len(direction)
    normal = direction - d**-0.5
    square = normal @ normal
    return np.eye(d) - (2 / square) * np.outer(normal, normal) if square > 0 else np.eye(d)


def random_rotation(d: int, seed: int) -> np.ndarray:
    """An orthogonal matrix drawn uniformly: the Q of a Gaussian matrix, its R with a positive diagonal."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    return q * np.sign(np.diag(r))
